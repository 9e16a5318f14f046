"""Changes one place of a program such that it calculates something else."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random

_OTHER_SIGN: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
# Variables that the student's answer is compared by, and functions.
_NOT_CALCULATED = ("is_", "student")
# Numbers by which units are converted.
_FACTORS = (7, 12, 24, 52, 60, 100, 365, 1000, 3600, 3.6)
# Yields what may stand in the place of a part of a calculation, given the names that are assigned before it.
Change = Callable[[ast.expr, Sequence[str]], Iterator[ast.expr]]


def miscalculating(code: str, fault: str, rng: Random) -> str:
    """Returns the code with the fault in one place, or with another fault if there is no place for this one."""
    others = [other for other in FAULTS if other != fault]
    rng.shuffle(others)
    found = next(filter(None, ([*_changed(code, FAULTS[one])] for one in (fault, *others))), [code])
    return rng.choice(found)


def without_operand(code: str, rng: Random) -> str:
    """Returns the code with one operand of a calculation left out, if it has any."""
    return rng.choice([*_changed(code, _without_operand)] or [code])


def _changed(code: str, change: Change) -> Iterator[str]:
    """Yields the code with the change in each place that it fits."""
    tree, given = ast.parse(code), list[str]()
    for place, line in enumerate(tree.body):
        if not isinstance(line, ast.Assign) or ast.unparse(line.targets[0]).startswith(_NOT_CALCULATED):
            continue
        for at, part in enumerate(ast.walk(line)):
            if not isinstance(part, ast.expr) or part in line.targets:
                continue
            for other in change(part, given):
                whole = deepcopy(tree)
                replaced = [*ast.walk(whole.body[place])]
                yield ast.unparse(ast.fix_missing_locations(_Replaced(replaced[at], other).visit(whole)))
        given.append(ast.unparse(line.targets[0]))


class _Replaced(ast.NodeTransformer):
    def __init__(self, part: ast.AST, other: ast.expr) -> None:
        self._part, self._other = part, other

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._part:
            return self._other
        changed: ast.AST = super().visit(node)
        return changed


def _without_operand(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(part, ast.BinOp) and not isinstance(part.op, ast.Pow):
        yield from (part.left, part.right)


def _other_sign(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(part, ast.BinOp) and (other := _OTHER_SIGN.get(type(part.op))):
        yield ast.BinOp(part.left, other(), part.right)


def _inverted_ratio(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Div(), right):
            yield ast.BinOp(right, ast.Div(), left)


def _forgotten_power(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Pow(), _) | ast.Call(ast.Attribute(attr="sqrt"), [left]):
            yield left


def _not_converted(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Mult() | ast.Div(), ast.Constant(value=factor)) if factor in _FACTORS:
            yield left


def _converted_twice(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(_, ast.Mult() | ast.Div() as sign, ast.Constant(value=factor)) if factor in _FACTORS:
            yield ast.BinOp(part, sign, ast.Constant(factor))


def _other_value(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(part, ast.Name) and part.id in given:
        yield from (ast.Name(name) for name in given if name != part.id)


def _answer_before(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    """Keeps a number that went into the calculation in place of its result."""
    if isinstance(part, ast.BinOp):
        yield from (one for one in (part.left, part.right) if isinstance(one, ast.Name) and one.id in given)


def _misread_input(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    """Shifts the decimal point of a number."""
    if isinstance(part, ast.Constant) and isinstance(part.value, int | float) and part.value:
        yield from (ast.Constant(float(f"{part.value * factor:.12g}")) for factor in (10, 0.1))


FAULTS: Mapping[str, Change] = {
    "other_sign": _other_sign,
    "forgotten_factor": _without_operand,
    "forgotten_power": _forgotten_power,
    "inverted_ratio": _inverted_ratio,
    "not_converted": _not_converted,
    "converted_twice": _converted_twice,
    "other_value": _other_value,
    "answer_before": _answer_before,
    "misread_input": _misread_input,
}
