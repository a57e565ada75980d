"""Classes that derive from one of transformers or of mlx-lm: driven as that is, and judged by what it promises.

All rules become `inferred`: that a class keeps what its base promises is likely, and not said.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvconform_adapter.any_class import Arguments, Found, arguments_of, parameters_of, short
from kvconform_adapter.any_spec import KINDS, PREFIX, Told
from kvconform_adapter.protocol import Subject
from kvconform_adapter.request import Params, RequestError
from kvconform_adapter.script_text import FOLDERS

if TYPE_CHECKING:
    from kvconform_adapter.mlx_subject import MlxSubject
    from kvconform_adapter.transformers_subject import TransformersSubject

CONTRACTS = Path(__file__).resolve().parents[3] / "reference" / "contracts"
SOURCE_MAX = 880
LIBRARIES = {"transformers": "transformers", "mlx_lm": "mlx-lm"}
"""Subjects by the packages that their classes are in."""
UNSAVED = "save: mlx-lm loads only classes of its own"


def numbers_of(version: str) -> list[int]:
    """`5.24.0` as numbers; what is no number ends it."""
    found = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return found


def rules_of(subject: str, version: str, variant: str) -> tuple[str, list[dict[str, Any]]]:
    """The contract of a version, and its rules for a variant, the one that counts of each name."""
    contracts = {}
    for path in sorted(CONTRACTS.glob("*.json")):
        contract = json.loads(path.read_text(encoding="utf-8"))
        if contract["subject"] == subject:
            contracts[contract["id"]] = contract
    old = [one for one in contracts.values() if "from" in one and numbers_of(one["from"]) <= numbers_of(version)]
    if not old:
        raise RequestError(f"no contract covers {subject} {version}, from which the class derives")
    chosen = max(old, key=lambda one: numbers_of(one["from"]))
    chain = [chosen]
    while chain[0].get("extends"):
        chain.insert(0, contracts[chain[0]["extends"]])
    rules: dict[str, dict[str, Any]] = {}
    for contract in chain:
        for rule in contract["rules"]:
            if any(fnmatchcase(variant, pattern) for pattern in rule["variants"]):
                rules[rule["rule"]] = rule
    return chosen["id"], list(rules.values())


class Derived:
    """What both libraries have in common: the class, its base, and what is brought."""

    def __init__(self, found: Found, told: Told, subject: str, base: str) -> None:
        self.found = found
        self.told = told
        self.subject = subject
        self.base = base
        self.given = arguments_of(found, told.init) if not takes_base_arguments(found) else given_only(told)
        FOLDERS.update({found.module.__name__: found.folder} if found.folder else {})

    def arguments(self, base: Callable[[Params], dict[str, Any]]) -> Callable[[Params], dict[str, Any]]:
        """What the class is made with: what its base is, as far as it takes that, and what the user said."""
        parameters = parameters_of(self.found.owner) or {}
        template = self.given.template

        def make(params: Params) -> dict[str, Any]:
            wanted = base(params)
            if not takes_base_arguments(self.found):
                wanted = {name: value for name, value in wanted.items() if name in parameters}
            return wanted | {name: value for name, value in self.given.fill(params, {}).items() if name in template}

        for name, size in (("sliding_window", "window"), ("max_cache_len", "capacity"), ("max_size", "capacity")):
            lost = name in base(Params()) and name not in parameters and not takes_base_arguments(self.found)
            if lost and size not in self.given.sizes:
                raise RequestError(
                    f"{self.found.name}: which argument is the {name} of its base {self.base}? Say it with "
                    f'--init \'{{"NAME": "${size}"}}\', or fix it with a number and a spec file'
                )
        return make

    def check(self, make: Callable[[Params], dict[str, Any]]) -> None:
        """Raise RequestError when a cache cannot be made."""
        arguments = make(replace(Params(), window=2, capacity=4))
        try:
            self.found.owner(**arguments)
        except MemoryError:
            raise
        except Exception as error:
            spelled = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            raise RequestError(
                f"{self.found.name}({spelled}) raises {short(error)}; "
                "--init '{\"NAME\": VALUE}' gives other arguments"
            ) from error

    def brought(self, version: str, ops: list[str]) -> dict[str, Any]:
        """The fields of the hello. `ops`: those that the class has not, whatever its base has."""
        found, told = self.found, self.told
        contract, rules = rules_of(self.subject, version, self.base)
        promise = f"{found.name} does what {self.subject} promises of {self.base}"
        made = [
            rule
            | {
                "variants": [found.variant],
                "basis": "inferred",
                "source": f"{PREFIX}{promise}: {rule['source']}"[:SOURCE_MAX],
            }
            for rule in rules
        ]
        for rule in told.rules:
            said = {"basis": "documented", **rule} if "source" in rule else {**rule, "basis": "inferred"}
            made.append({"variants": [found.variant], "source": f"said in {told.file}", **said})
        spec: dict[str, Any] = {"like": f"{self.subject}:{self.base}"}
        if told.source:
            spec["source"] = told.source[:390]
        else:
            spec |= {"source": f"{PREFIX}it keeps what {self.base} of {self.subject} keeps", "basis": "inferred"}
        params = {name: [value, value] for name, value in self.given.values.items()} | told.params
        spec |= {"params": params} if params else {}
        spec |= {"dtypes": told.dtypes} if told.dtypes else {}
        if told.ops or ops:
            spec["ops"] = told.ops or ops
        digest = hashlib.sha256(json.dumps([repr(told), spec, made], sort_keys=True).encode()).hexdigest()[:8]
        assumed = [
            f"{promise}, by the contract {contract}; --like full or a spec file says otherwise",
            f"faults of {self.base} itself show here too: kvconform run {self.subject}:{self.base}",
            *self.given.notes,
        ]
        return {
            "subject": found.subject,
            "version": found.version(),
            "variants": [found.variant],
            "specs": {found.variant: spec},
            "contract": {
                "schema": "kvconform-contract/1",
                "id": f"class-{digest}",
                "subject": found.subject,
                "from": "0",
                "rules": made,
            },
            "assumptions": {found.variant: [text[:380] for text in assumed]},
            "untested": {found.variant: ["methods that the base does not have", "precision, speed and devices"]},
        }


def takes_base_arguments(found: Found) -> bool:
    """Whether the constructor is that of the base, or passes on what it is given."""
    owner = found.owner
    inherited = "__init__" not in vars(owner) and "__new__" not in vars(owner)
    kinds = {one.kind for one in inspect.signature(owner).parameters.values()}
    return inherited or inspect.Parameter.VAR_KEYWORD in kinds


def given_only(told: Told) -> Arguments:
    """What the user said, of a constructor whose other arguments are those of the base."""
    fake = Found(inspect.getmodule(given_only), "given", lambda **_: None, "")  # type: ignore[arg-type]
    return arguments_of(fake, told.init)


def find_base(found: Found, told: Told) -> tuple[str, str]:
    """Subject and class from which it derives, by its bases or by what the user said; two empty texts for none."""
    subject, _, name = told.like.partition(":")
    if name:
        return subject, name
    if told.like in KINDS or told.library or told.axes or told.calls or told.read or not inspect.isclass(found.owner):
        return "", ""
    for base in (
        found.owner.__mro__[1:] if found.module.__name__.partition(".")[0] not in LIBRARIES else found.owner.__mro__
    ):
        library = LIBRARIES.get(base.__module__.partition(".")[0], "")
        if library and is_known(library, base.__name__):
            return library, base.__name__
    return "", ""


def is_known(subject: str, name: str) -> bool:
    """Whether the table of the library has the class."""
    if subject == "transformers":
        from kvconform_adapter.transformers_caches import VARIANTS  # noqa: PLC0415

        return name in VARIANTS
    from kvconform_adapter import mlx_caches  # noqa: PLC0415

    return name in mlx_caches.VARIANTS


def derived_subject(found: Found, told: Told) -> Subject | None:
    """The subject, or None for a class that derives from none that is known."""
    subject, base = find_base(found, told)
    if not base:
        return None
    if subject not in LIBRARIES.values() or not is_known(subject, base):
        raise RequestError(
            f'"{told.like[:60]}": expected transformers:NAME or mlx-lm:NAME of one class (kvconform list variants)'
        )
    derived = Derived(found, told, subject, base)
    return of_transformers(derived) if subject == "transformers" else of_mlx(derived)


def of_transformers(derived: Derived) -> TransformersSubject:
    """A subject of transformers that has this class alone."""
    from kvconform_adapter import transformers_caches as caches  # noqa: PLC0415
    from kvconform_adapter.transformers_subject import TransformersSubject  # noqa: PLC0415

    found = derived.found
    base = caches.find_variant(derived.base)
    owner = caches.load_class(base.module, base.name)
    make = derived.arguments(lambda params: caches.constructor_arguments(base, params, owner))
    derived.check(make)

    class Subclass(TransformersSubject):
        """Says the class where its base would stand."""

        def load(self) -> None:
            super().load()
            self.module = found.module.__name__  # type: ignore[misc]
            caches.VARIANTS[found.variant] = replace(
                base, name=found.variant, module=found.module.__name__, arguments=make
            )
            self.variants = [] if self.problem else [found.variant]
            self.unavailable = {}
            self.locations = found.locations()

        def hello(self) -> dict[str, Any]:
            reply = super().hello() | {"offers": ["places", "prepare"]}
            reply["environment"]["transformers"] = self.version
            return reply | derived.brought(self.version, [])

    return Subclass()


def of_mlx(derived: Derived) -> MlxSubject:
    """A subject of mlx-lm that has this class alone."""
    from kvconform_adapter import mlx_caches as caches  # noqa: PLC0415
    from kvconform_adapter.mlx_subject import MlxSubject  # noqa: PLC0415

    found = derived.found
    base = caches.find_variant(derived.base)
    make = derived.arguments(lambda params: caches.settings_of(base, params, ()).arguments)
    derived.check(make)

    class Subclass(MlxSubject):
        """Says the class where its base would stand."""

        def load(self) -> None:
            super().load()
            self.module = found.module.__name__  # type: ignore[misc]
            caches.VARIANTS[found.variant] = replace(
                base, name=found.variant, owner=found.name, module=found.module.__name__, arguments=make
            )
            self.variants, self.batches = [found.variant], []
            self.locations = found.locations()

        def hello(self) -> dict[str, Any]:
            reply = super().hello() | {"offers": ["places"]}
            reply["environment"]["mlx-lm"] = self.version
            spec = json.loads(
                (CONTRACTS.parent / "specs" / "mlx-lm" / f"{derived.base}.json").read_text(encoding="utf-8")
            )
            reply |= derived.brought(self.version, [op for op in spec["ops"] if op != "save"])
            reply["untested"][found.variant].append(UNSAVED)
            return reply

    return Subclass()
