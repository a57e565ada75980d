"""Small changes of a Python module, one at a time, as somebody might make them by mistake.

Each is made in the text, so that a mutant differs from the module in one place and all lines keep their numbers.
mutmut and cosmic-ray know neither `.clone()` nor dimensions nor which class a change concerns, and run a test suite
of the module; what is needed here is a list of changed texts.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

LAST_DIMENSIONS = ("keys", "values")
"""Attributes that are taken for each other."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
TAKEN_AWAY = ("clone", "contiguous", "detach", "abs")
"""Calls without which what they are called on, or with, is used as it is."""
EXCHANGED = {"min": "max", "max": "min", "all": "any", "any": "all", "zeros_like": "ones_like", "zeros": "ones"}
ASKING = ("isinstance", "issubclass", "hasattr", "getattr")
"""Functions whose first two arguments cannot be taken for each other: Python itself would say so."""
TOLD_ONLY = ("logger", "warnings", "deprecate_kwarg")
"""What is called on these is said to people and changes nothing."""


@dataclass(frozen=True)
class Mutant:
    """One change: `old`, at `start` to `end` of the module's text, becomes `new`."""

    identifier: str
    """CLASS.METHOD/OPERATOR/N: the Nth place of that method where the operator applies."""
    place: str
    method: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, text: str) -> str:
        """The changed module."""
        return text[: self.start] + self.new + text[self.end :]

    def told(self) -> str:
        """The change in one line."""
        short = [" ".join(part.split()) for part in (self.old, self.new)]
        return " -> ".join(part if len(part) <= 90 else part[:87] + "..." for part in short)


class Text:
    """A module's text, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """`column` counts bytes, as `ast` does."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """First and behind the last character of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)


def negative(node: ast.AST) -> bool:
    """-n, with n a number."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and number(node.operand)


def number(node: ast.AST) -> bool:
    """A whole number; True is none."""
    return isinstance(node, ast.Constant) and type(node.value) is int


def whole(node: ast.AST) -> bool:
    """`:` in a subscript."""
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None


def is_exact(node: ast.expr) -> bool:
    """Whether its comparison is changed to its negation anyway."""
    kinds = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], kinds)


def negated(node: ast.expr) -> ast.expr:
    """`not node`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


def changed_expressions(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Operator and expression in its place. Conditions are negated where they stand, in `changes`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        yield "comparison", ast.Compare(node.left, [COMPARISONS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and-or", ast.BoolOp(other, node.values)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant", ast.Constant(node.value + 1)
    elif negative(node):
        assert isinstance(node, ast.UnaryOp)
        assert isinstance(node.operand, ast.Constant)
        yield "constant", ast.UnaryOp(ast.USub(), ast.Constant(int(str(node.operand.value)) + 1))
        yield "sign", node.operand
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    elif isinstance(node, ast.Call):
        yield from changed_calls(node)
    elif isinstance(node, ast.IfExp):
        yield "condition", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        yield from moved_slices(node)
    elif isinstance(node, ast.Attribute) and node.attr in LAST_DIMENSIONS and isinstance(node.ctx, ast.Load):
        other_name = LAST_DIMENSIONS[1 - LAST_DIMENSIONS.index(node.attr)]
        yield "tensor", ast.Attribute(node.value, other_name, node.ctx)


def called(function: ast.expr) -> str:
    """The name of what is called, empty where it has none."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def changed_calls(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Arguments in another order, a call that is left out, or another function."""
    name = called(node.func)
    starred = any(isinstance(argument, ast.Starred) for argument in node.args[:2])
    if len(node.args) >= 2 and name not in ASKING and not starred:
        swapped = copy.copy(node)
        swapped.args = [node.args[1], node.args[0], *node.args[2:]]
        yield "argument", swapped
    if name in TAKEN_AWAY and isinstance(node.func, ast.Attribute) and not node.args:
        yield "call-away", node.func.value
    elif name in TAKEN_AWAY and isinstance(node.func, ast.Name) and len(node.args) == 1:
        yield "call-away", node.args[0]
    elif name in EXCHANGED:
        other = copy.copy(node)
        if isinstance(node.func, ast.Attribute):
            other.func = ast.Attribute(node.func.value, EXCHANGED[name], ast.Load())
        else:
            other.func = ast.Name(EXCHANGED[name], ast.Load())
        yield "function", other


def moved_slices(node: ast.Subscript) -> Iterator[tuple[str, ast.expr]]:
    """The one part that selects something, moved to the dimension beside it."""
    assert isinstance(node.slice, ast.Tuple)
    parts = node.slice.elts
    selecting = [at for at, part in enumerate(parts) if not whole(part) and not isinstance(part, ast.Constant)]
    if len(selecting) != 1:
        return
    at = selecting[0]
    for beside in (at - 1, at + 1):
        if 0 <= beside < len(parts) and whole(parts[beside]):
            order = list(parts)
            order[at], order[beside] = order[beside], order[at]
            yield "dimension", ast.Subscript(node.value, ast.Tuple(order, ast.Load()), node.ctx)
            return


def is_told_only(statement: ast.stmt) -> bool:
    """A warning or a text of documentation."""
    if not isinstance(statement, ast.Expr):
        return False
    node: ast.expr = statement.value
    if isinstance(node, ast.Constant):
        return True
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in TOLD_ONLY


def can_be_left_out(statement: ast.stmt, bound: set[str]) -> bool:
    """Whether the method still means something without it: a name that would be missing tells nothing of the tests."""
    if isinstance(statement, ast.Raise | ast.AugAssign | ast.Delete):
        return True
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Return):
        return statement.value is None
    if isinstance(statement, ast.Assign):
        names = {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        stored = [node for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        plain = {node.id for node in stored if isinstance(node.ctx, ast.Store)}
        return not plain or (names <= bound)
    return False


class Method:
    """The changes of one method."""

    def __init__(self, text: Text, place: str, function: ast.FunctionDef) -> None:
        self.text = text
        self.place = place
        self.function = function
        self.count: dict[str, int] = {}

    def make(self, operator: str, node: ast.expr | ast.stmt, new: str) -> Mutant:
        """The change of a node's text."""
        self.count[operator] = self.count.get(operator, 0) + 1
        start, end = self.text.span(node)
        identifier = f"{self.place}.{self.function.name}/{operator}/{self.count[operator]}"
        old = self.text.text[start:end]
        return Mutant(identifier, self.place, self.function.name, node.lineno, start, end, old, new)

    def expressions(self, root: ast.AST) -> Iterator[Mutant]:
        """Changes below `root`, which is no statement's body."""
        for node in walk_expressions(root):
            for operator, new in changed_expressions(node):
                yield self.make(operator, node, "(" + ast.unparse(ast.fix_missing_locations(new)) + ")")

    def statements(self, body: list[ast.stmt], bound: set[str]) -> Iterator[Mutant]:
        """Changes of a body, in the order of its lines. `bound`: names that have a value before it."""
        for statement in body:
            if is_told_only(statement):
                continue
            if can_be_left_out(statement, bound):
                yield self.make("statement", statement, "pass")
            inner = [part for part in ("body", "orelse", "finalbody") if getattr(statement, part, None)]
            if isinstance(statement, ast.If | ast.While):
                if not is_exact(statement.test):
                    yield self.make("condition", statement.test, "(" + ast.unparse(negated(statement.test)) + ")")
                yield from self.expressions(statement.test)
            elif isinstance(statement, ast.For):
                yield from self.expressions(statement.iter)
            elif isinstance(statement, ast.With):
                for item in statement.items:
                    yield from self.expressions(item.context_expr)
            elif isinstance(statement, ast.AugAssign):
                if type(statement.op) in ARITHMETIC:
                    other = ast.AugAssign(statement.target, ARITHMETIC[type(statement.op)](), statement.value)
                    yield self.make("arithmetic", statement, ast.unparse(other))
                yield from self.expressions(statement.value)
            elif not inner and not isinstance(statement, ast.Raise):
                yield from self.expressions(statement)
            for part in inner:
                yield from self.statements(getattr(statement, part), bound)
            for handler in getattr(statement, "handlers", []):
                yield from self.statements(handler.body, bound)
            names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}


def walk_expressions(root: ast.AST) -> Iterator[ast.expr]:
    """Expressions in the order of the text; of `-1` the 1 is none of its own, nor are the parts of an f-string."""
    if isinstance(root, ast.JoinedStr):
        return
    if isinstance(root, ast.expr):
        yield root
    if negative(root):
        return
    for child in ast.iter_child_nodes(root):
        if not isinstance(child, ast.stmt):
            yield from walk_expressions(child)


def mutants(text: str) -> list[Mutant]:
    """All changes of all methods of a module's classes."""
    whole_text = Text(text)
    found: list[Mutant] = []
    for place in ast.parse(text).body:
        if not isinstance(place, ast.ClassDef):
            continue
        for function in place.body:
            if isinstance(function, ast.FunctionDef):
                arguments = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
                found += Method(whole_text, place.name, function).statements(function.body, arguments)
    return found


def bases(text: str) -> dict[str, list[str]]:
    """The classes of a module, and what each inherits from."""
    return {
        place.name: [ast.unparse(base) for base in place.bases]
        for place in ast.parse(text).body
        if isinstance(place, ast.ClassDef)
    }


def heirs(text: str, place: str) -> list[str]:
    """A class and all that inherit from it, nearest first."""
    known = bases(text)
    found = [place]
    for name in found:
        found += [other for other, above in known.items() if name in above and other not in found]
    return found
