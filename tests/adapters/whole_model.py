"""Toy models with caches, in plain Python: one whose layer is wrong, two that are wrong by themselves, and a right one.

It is run as `kvconform run exec:'python3 tests/adapters/whole_model.py'`. What a model predicts is a number for each
word that follows from the tokens before it, as its first layer holds them.
"""

from __future__ import annotations

import struct
from typing import Any

from full_attention import Adapter, Cache, Tensor

WORDS = 64
VIEW = {
    "name": "logits",
    "salt": 0,
    "law": "RETURN",
    "rule": "predicted",
    "dims": ["batch", "new", "channels"],
    "returned": "predicted",
}
MODEL = {
    "schema": "kvconform-spec/1",
    "subject": "toy",
    "title": "A toy",
    "kind": "model",
    "ops": ["append", "crop", "reset", "reorder"],
    "params": {"batch": [1, 2], "channels": [WORDS, WORDS]},
    "dtypes": ["float64"],
    "parts": ["eager+dynamic"],
    "length": False,
    "claim": True,
    "views": [VIEW],
}
CONTRACT = {
    "schema": "kvconform-contract/1",
    "id": "toy-1",
    "subject": "toy",
    "from": "1",
    "rules": [
        {
            "rule": "crop",
            "value": "either",
            "variants": ["by_*", "right"],
            "basis": "inferred",
            "source": "A toy.",
        },
        {"rule": "batch_ops", "value": ["reorder"], "variants": ["*"], "basis": "inferred", "source": "A toy."},
    ],
}


class StaleLayer(Cache):
    """A crop of more than one token leaves the oldest of them."""

    def crop(self, count: int) -> None:
        super().crop(count if count >= -1 else count + 1)


class RightLayer(Cache):
    """Nothing is wrong with it."""


LAYERS: dict[str, tuple[type[Cache], ...]] = {
    "by_layer": (StaleLayer, RightLayer),
    "by_itself": (RightLayer, RightLayer),
    "by_feeding": (RightLayer, RightLayer),
    "right": (RightLayer, RightLayer),
}


class Model:
    """One cache of a model while a sequence runs: its layers hold for each row the words that stand for tokens."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        self.name = name
        self.layers = [owner(dict(params, heads=1, key_dim=8, value_dim=8, watch=0)) for owner in LAYERS[name]]
        self.next = 0
        self.resets = 0
        self.spoilt = False

    def append(self, count: int, numbers: list[Any] | None) -> Tensor:
        """What is predicted behind each new token of each row."""
        rows = len(self.layers[0].rows)
        logits = b""
        pairs: list[tuple[int, list[int]]] = []
        for at in range(self.next, self.next + count):
            token = numbers[at] if numbers else at
            pairs.append((token[0], token[1]) if isinstance(token, list) else (token, list(range(rows))))
        self.next += count
        # What is wrong by how it is fed does not get over several tokens that come to others.
        self.spoilt |= self.name == "by_feeding" and count > 1 and bool(self.layers[0].rows[0])
        for row in range(rows):
            for token, origins in pairs:
                for layer in self.layers:
                    layer.rows[row] = [*layer.rows[row], (token, origins[row])]
                held = self.layers[0].rows[row]
                seen = sum((31 * number + 17 * of + 1) * (place + 1) for place, (number, of) in enumerate(held))
                # What is wrong by itself counts from another place once it was reset.
                seen += 5 * self.resets if self.name == "by_itself" else 0
                seen += 3 if self.spoilt else 0
                values = [1 + seen * (word + 1) % 97 / 97 for word in range(WORDS)]
                logits += struct.pack(f"<{WORDS}d", *values)
        return "returned.logits", [rows, count, WORDS], logits

    def perform(self, op: list[Any], numbers: list[Any] | None) -> list[Tensor]:
        """Perform one op."""
        if op[0] == "append":
            return [self.append(op[1], numbers)]
        for layer in self.layers:
            layer.perform(op, None)
        self.resets += op[0] == "reset"
        return []


class Toy(Adapter):
    """The subject `toy`."""

    variants = ("StaleLayer", "RightLayer", *LAYERS)

    def hello(self) -> dict[str, Any]:
        layer = {"like": "builtin:full", "ops": ["append", "crop", "reset", "reorder"], "dtypes": ["float32"]}
        specs = {"StaleLayer": layer, "RightLayer": layer, **{name: MODEL | {"variant": name} for name in LAYERS}}
        more = {"subject": "toy", "specs": specs, "contract": CONTRACT, "offers": ["layers"]}
        return super().hello() | more

    def model_step(self, model: Model, op: list[Any], numbers: list[Any] | None) -> list[Any]:
        """One op of a model and what shows after it."""
        outcome, error, indices = 0, -1, []
        try:
            for name, shape, data in model.perform(op, numbers):
                indices.append(len(self.tensors))
                self.tensors.append([name, "float64", shape])
                self.raw.append(data)
        except ValueError as reason:
            outcome, error = 1, len(self.errors)
            self.errors.append([type(reason).__name__, str(reason)])
        masks = [None] if op[0] == "append" else []
        return [outcome, [None], masks, [], 1 if op[0] == "crop" else None, indices, error]

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        self.variant = request["variant"]
        return super().run(request)

    def sequence(self, params: dict[str, Any], ops: list[list[Any]], numbers: list[int] | None) -> list[Any]:
        if self.variant in LAYERS:
            model = Model(self.variant, params)
            return [self.model_step(model, op, numbers) for op in ops]
        cache = {"StaleLayer": StaleLayer, "RightLayer": RightLayer}[self.variant](params)
        return [self.step(cache, op, numbers) for op in ops]

    def layers(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to `layers`."""
        names = [owner.__name__ for owner in LAYERS[request["variant"]]]
        return {"cache": "ToyCache", "layers": [{"class": name, "variant": name, "params": {}} for name in names]}

    def reply(self, request: dict[str, Any]) -> bytes:
        if request["request"] != "layers":
            return super().reply(request)
        self.raw = []
        return self.line(request, self.layers(request))


if __name__ == "__main__":
    Toy().serve()
