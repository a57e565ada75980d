"""Checks a JSON document by a JSON schema: json_schema.py SCHEMA DOCUMENT, - for standard input.

Only the keywords that the schemas of this project use; any other is an error, so that none is passed over.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int,),
}
IGNORED = {"$schema", "$id", "$defs", "title", "description", "then", "else"}


def is_type(value: Any, name: str) -> bool:
    """Whether a value has a type of JSON schema, in which true is no number and 3.0 is an integer."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


class Checker:
    """One schema."""

    def __init__(self, folder: Path, root: dict[str, Any]) -> None:
        self.folder = folder
        self.root = root

    def resolve(self, address: str) -> Any:
        """The part of the schema that a reference names."""
        part: Any = self.root
        for word in address.removeprefix("#/").split("/"):
            part = part[word]
        return part

    def holds(self, value: Any, schema: Any) -> bool:
        """Whether nothing is wrong."""
        return not self.check(value, schema, "")

    def check(self, value: Any, schema: Any, where: str) -> list[str]:
        """All that is wrong with a value, each with its place."""
        if isinstance(schema, bool):
            return [] if schema else [f"{where}: nothing is allowed here"]
        problems: list[str] = []
        for keyword, rule in schema.items():
            if keyword not in IGNORED:
                problems += getattr(self, "check_" + keyword.lstrip("$"))(value, rule, schema, where)
        return problems

    def check_ref(self, value: Any, rule: str, _: Any, where: str) -> list[str]:
        name, _, address = rule.partition("#")
        if name:  # another schema of the same folder
            file = self.folder / f"{name.rpartition(':')[2]}.schema.json"
            other = Checker(self.folder, json.loads(file.read_text(encoding="utf-8")))
            return other.check(value, other.resolve(f"#{address}"), where)
        return self.check(value, self.resolve(rule), where)

    def check_type(self, value: Any, rule: Any, _: Any, where: str) -> list[str]:
        names = rule if isinstance(rule, list) else [rule]
        return [] if any(is_type(value, name) for name in names) else [f"{where}: expected {rule}"]

    def check_required(self, value: Any, rule: list[str], _: Any, where: str) -> list[str]:
        return [f"{where}: lacks {name}" for name in rule if isinstance(value, dict) and name not in value]

    def check_properties(self, value: Any, rule: dict[str, Any], _: Any, where: str) -> list[str]:
        fields = value.items() if isinstance(value, dict) else ()
        return [
            problem
            for name, item in fields
            if name in rule
            for problem in self.check(item, rule[name], f"{where}.{name}")
        ]

    def check_additionalProperties(self, value: Any, rule: Any, schema: Any, where: str) -> list[str]:
        known = schema.get("properties", {})
        fields = value.items() if isinstance(value, dict) else ()
        return [
            problem
            for name, item in fields
            if name not in known
            for problem in self.check(item, rule, f"{where}.{name}")
        ]

    def check_propertyNames(self, value: Any, rule: Any, _: Any, where: str) -> list[str]:
        names = value if isinstance(value, dict) else ()
        return [problem for name in names for problem in self.check(name, rule, f"{where}.{name}")]

    def check_prefixItems(self, value: Any, rule: list[Any], _: Any, where: str) -> list[str]:
        pairs = enumerate(zip(value, rule, strict=False)) if isinstance(value, list) else ()
        return [problem for at, (item, part) in pairs for problem in self.check(item, part, f"{where}[{at}]")]

    def check_items(self, value: Any, rule: Any, schema: Any, where: str) -> list[str]:
        first = len(schema.get("prefixItems", []))
        rest = value[first:] if isinstance(value, list) else []
        return [problem for at, item in enumerate(rest) for problem in self.check(item, rule, f"{where}[{at + first}]")]

    def check_const(self, value: Any, rule: Any, _: Any, where: str) -> list[str]:
        return [] if json.dumps(value) == json.dumps(rule) else [f"{where}: expected {rule!r}"]

    def check_enum(self, value: Any, rule: list[Any], _: Any, where: str) -> list[str]:
        return [] if value in rule else [f"{where}: {value!r} is none of {rule}"]

    def check_pattern(self, value: Any, rule: str, _: Any, where: str) -> list[str]:
        return (
            [f"{where}: {value!r} is not like {rule}"] if isinstance(value, str) and not re.search(rule, value) else []
        )

    def check_minLength(self, value: Any, rule: int, _: Any, where: str) -> list[str]:
        return [f"{where}: too short"] if isinstance(value, str) and len(value) < rule else []

    def check_maxLength(self, value: Any, rule: int, _: Any, where: str) -> list[str]:
        return [f"{where}: too long"] if isinstance(value, str) and len(value) > rule else []

    def check_minItems(self, value: Any, rule: int, _: Any, where: str) -> list[str]:
        return [f"{where}: too few"] if isinstance(value, list) and len(value) < rule else []

    def check_maxItems(self, value: Any, rule: int, _: Any, where: str) -> list[str]:
        return [f"{where}: too many"] if isinstance(value, list) and len(value) > rule else []

    def check_uniqueItems(self, value: Any, rule: bool, _: Any, where: str) -> list[str]:
        texts = [json.dumps(item) for item in value] if rule and isinstance(value, list) else []
        return [f"{where}: an item stands twice"] if len(set(texts)) < len(texts) else []

    def check_minimum(self, value: Any, rule: float, _: Any, where: str) -> list[str]:
        return [f"{where}: {value} is below {rule}"] if is_type(value, "number") and value < rule else []

    def check_maximum(self, value: Any, rule: float, _: Any, where: str) -> list[str]:
        return [f"{where}: {value} is above {rule}"] if is_type(value, "number") and value > rule else []

    def check_allOf(self, value: Any, rule: list[Any], _: Any, where: str) -> list[str]:
        return [problem for part in rule for problem in self.check(value, part, where)]

    def check_anyOf(self, value: Any, rule: list[Any], _: Any, where: str) -> list[str]:
        return [] if any(self.holds(value, part) for part in rule) else [f"{where}: none of the choices holds"]

    def check_oneOf(self, value: Any, rule: list[Any], _: Any, where: str) -> list[str]:
        return [] if sum(self.holds(value, part) for part in rule) == 1 else [f"{where}: not exactly one choice holds"]

    def check_if(self, value: Any, rule: Any, schema: Any, where: str) -> list[str]:
        return self.check(value, schema.get("then" if self.holds(value, rule) else "else", True), where)


def main() -> int:
    """The command."""
    schema, document = sys.argv[1:]
    text = sys.stdin.read() if document == "-" else Path(document).read_text(encoding="utf-8")
    checker = Checker(Path(schema).parent, json.loads(Path(schema).read_text(encoding="utf-8")))
    problems = checker.check(json.loads(text), checker.root, document)
    print("\n".join(problems[:20]) or f"{document}: valid")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
