"""Names the misconception behind a wrong expression, by how it departs from the right one."""

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Self

from soliloquy.recipes.quantity_names import distinct_name
from soliloquy.runtime.files import table_beside
from soliloquy.truth.expressions import Expression
from soliloquy.truth.locales import locale
from soliloquy.truth.number_format import format_number
from soliloquy.v1.conversation_pb2 import Quantity

_ENGLISH: Mapping[str, Any] = table_beside(__file__, "causes.toml")
# The key of causes.toml for wrong use of an operation, how the operation is read out, and the act.
_OPERATIONS: dict[type[ast.operator], tuple[str, str, str]] = {
    ast.Mult: ("multiplied", "times", "multiplying"),
    ast.Div: ("divided", "divided by", "dividing"),
    ast.Add: ("added", "plus", "adding"),
    ast.Sub: ("subtracted", "minus", "taking away"),
}
_TURNED: dict[type[ast.operator], str] = {ast.Div: "turned_division", ast.Sub: "turned_subtraction"}
# Reasons for leaving out a function.
_LEFT_OUT = {"sqrt": "unrooted", "degrees": "radians", "radians": "radians"}
_FUNCTIONS = {"sin": "sine", "cos": "cosine", "tan": "tangent", "asin": "sine", "acos": "cosine", "atan": "tangent"}


class Departure(NamedTuple):
    """How a wrong expression departs from the right one: a key of causes.toml, with the parts concerned."""

    kind: str
    left: ast.expr | None = None
    right: ast.expr | None = None
    part: ast.expr | str | None = None


class Names(NamedTuple):
    """The names of a step's quantities by their symbols, its result and unit, and the language of the names."""

    quantities: Mapping[str, str]
    result: str
    unit: str
    language: str = ""

    @classmethod
    def of(cls, quantities: Collection[Quantity], result: Quantity, language: str = "") -> Self:
        all_of_them = [*quantities, result]
        named = {one.symbol: distinct_name(one, all_of_them) for one in quantities}
        return cls(named, distinct_name(result, all_of_them), result.unit, language)

    @property
    def wordings(self) -> Mapping[str, Any]:
        table: Mapping[str, Any] = locale(self.language).table["causes"] if self.language else _ENGLISH
        return table

    def called(self, name: str) -> str:
        is_called = name.startswith("the ") or len(name) < 3
        return name if is_called else str(self.wordings["called"].format(name=name))


def cause(right: Expression, wrong: Expression, names: Names, *, pick: int, converts: bool = False) -> str:
    """Returns the misconception as the student would say it; `pick` chooses the wording."""
    found = departure(right.tree, wrong.tree)
    if converts and found.kind == "dropped_factor":
        found = Departure("unconverted")
    factor = next((_number(part) for part in (found.part, found.right) if _number(part)), "")
    slots = {
        "left": _name(found.left, names),
        "right": _name(found.right, names),
        "part": found.part if isinstance(found.part, str) else _name(found.part, names),
        "factor": factor,
        "formula": wrong.formula,
    }
    if found.kind == "other" and (words := _in_words(wrong.tree, names)):
        return wording("other_words", names, {"words": words}, pick)
    return wording(found.kind, names, slots, pick)


def miscalculation(right: Expression, names: Names, *, pick: int) -> str:
    """Returns what a student says who has carried the right calculation out wrongly."""
    known = _OPERATIONS.get(type(right.tree.op)) if isinstance(right.tree, ast.BinOp) else None
    return wording("miscalculated", names, {"doing": known[2] if known else ""}, pick)


def _in_words(node: ast.expr, names: Names) -> str:
    """Says a calculation by the names of its parts, from left to right; empty where that would need brackets."""
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATIONS:
        return ""
    left = _in_words(node.left, names) or _name(node.left, names)
    right = _name(node.right, names)
    if not left or not right:
        return ""
    # "the shots minus the hits, divided by the shots": the comma says where the first part ends.
    comma = "," if isinstance(node.left, ast.BinOp) else ""
    return f"{left}{comma} {_OPERATIONS[type(node.op)][1]} {right}"


def wording(kind: str, names: Names, slots: Mapping[str, str], pick: int) -> str:
    known = {name: text for name, text in slots.items() if text}
    known |= {"result": names.called(names.result), "unit": names.unit} if names.result else {}
    wordings: Sequence[str] = names.wordings[kind]
    fitting = [text for text in wordings if _fills(text, known)] or [wordings[-1]]
    said = fitting[pick % len(fitting)].format_map(known)
    return said[:1].upper() + said[1:]


def departure(right: ast.expr, wrong: ast.expr) -> Departure:
    """Compares two expressions from their roots down to the first place where they part."""
    match right, wrong:
        case ast.BinOp(), ast.BinOp() if type(right.op) is type(wrong.op):
            if _same(right.left, wrong.left):
                return departure(right.right, wrong.right)
            if _same(right.right, wrong.right):
                return departure(right.left, wrong.left)
            if _same(right.left, wrong.right) and _same(right.right, wrong.left) and type(right.op) in _TURNED:
                return Departure(_TURNED[type(right.op)], wrong.left, wrong.right)
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)), ast.BinOp(op=ast.Mult()) if _same(
            right.left, wrong.left
        ):
            return Departure("power_as_product")
        case ast.BinOp(), ast.BinOp() if _are_same_parts(right, wrong) and type(wrong.op) in _OPERATIONS:
            return Departure(_OPERATIONS[type(wrong.op)][0], wrong.left, wrong.right)
        case ast.Name(), ast.Name():
            return Departure("referent", part=wrong)
        case ast.Constant(), ast.Constant():
            return Departure("other_factor", part=wrong)
        case ast.Call(args=[one]), ast.Call(func=ast.Attribute(attr=name), args=[other]) if _same(one, other):
            return Departure("function", part=_FUNCTIONS.get(name, name))
        case ast.Call(args=[one]), ast.Call(args=[other]) if _same(right.func, wrong.func):
            return departure(one, other)
        case ast.Call(args=[one]), ast.BinOp(op=ast.Div(), right=ast.Constant(value=2)) if _same(one, wrong.left):
            return Departure("root_as_half")
    return _missing(right, wrong) or _added(right, wrong) or _regrouped(right, wrong) or Departure("other")


def _missing(right: ast.expr, wrong: ast.expr) -> Departure | None:
    """Finds what the right expression has around the wrong one."""
    match right:
        case ast.BinOp(left=base, op=ast.Pow()) if _same(base, wrong):
            return Departure("unsquared", part=base)
        case ast.BinOp() if _same(right.left, wrong) or _same(right.right, wrong):
            part = right.right if _same(right.left, wrong) else right.left
            return Departure("dropped_factor" if isinstance(part, ast.Constant) else "dropped", part=part)
        case ast.Call(func=ast.Attribute(attr=name), args=[argument]) if name in _LEFT_OUT and _same(argument, wrong):
            return Departure(_LEFT_OUT[name])
    return None


def _added(right: ast.expr, wrong: ast.expr) -> Departure | None:
    """Finds what the wrong expression has around the right one."""
    match wrong:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Div(), right=rest) if _same(rest, right):
            return Departure("inverted")
        case ast.BinOp(left=rest, op=ast.Mult() | ast.Div() as op, right=ast.Constant() as factor) if _same(
            rest, right
        ):
            return Departure("scaled" if isinstance(op, ast.Mult) else "scaled_down", part=factor)
    return None


def _regrouped(right: ast.expr, wrong: ast.expr) -> Departure | None:
    """Finds the same numbers and signs in the same places, but for brackets that were left out."""
    if ast.unparse(wrong).count("(") >= ast.unparse(right).count("("):
        return None
    one, other = (
        [ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Constant)]
        for tree in (right, wrong)
    )
    return Departure("without_brackets") if sorted(one) == sorted(other) and len(one) > 2 else None


def _are_same_parts(right: ast.BinOp, wrong: ast.BinOp) -> bool:
    straight = _same(right.left, wrong.left) and _same(right.right, wrong.right)
    return straight or (_same(right.left, wrong.right) and _same(right.right, wrong.left))


def _same(one: ast.expr, other: ast.expr) -> bool:
    # A dump takes much longer.
    kind, another = ((type(node), type(getattr(node, "op", None))) for node in (one, other))
    return kind == another and ast.dump(one) == ast.dump(other)


def _name(node: ast.expr | str | None, names: Names) -> str:
    """Returns what a part is called; empty for one that is composed of others."""
    if isinstance(node, ast.Name):
        return names.called(names.quantities.get(node.id, "") or node.id)
    return _number(node)


def _number(node: ast.expr | str | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return format_number(float(node.value))
    return ""


def _fills(text: str, known: Mapping[str, str]) -> bool:
    try:
        text.format_map(known)
    except KeyError:
        return False
    return True
