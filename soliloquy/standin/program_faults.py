"""Changes one place of a program such that it calculates something else."""

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from random import Random

_OTHER_SIGN = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
# Variables that the student's answer is compared by, and functions.
_NOT_CALCULATED = ("is_", "student")
# Numbers by which units are converted.
_FACTORS = (7, 12, 24, 52, 60, 100, 365, 1000, 3600, 3.6)
FAULTS = (
    *("other_sign", "forgotten_factor", "forgotten_power", "inverted_ratio", "not_converted"),
    *("converted_twice", "other_value", "answer_before", "misread_input"),
)


def miscalculating(code: str, fault: str, rng: Random) -> str:
    """Returns the code with the fault in one place, or with another fault if there is no place for this one."""
    others = [other for other in FAULTS if other != fault]
    rng.shuffle(others)
    found = next(filter(None, ([*_changed(code, one)] for one in (fault, *others))), [code])
    return rng.choice(found)


def without_operand(code: str, rng: Random) -> str:
    """Returns the code with one operand of a calculation left out, if it has any."""
    return rng.choice([*_changed(code, "forgotten_factor")] or [code])


def _changed(code: str, fault: str) -> Iterator[str]:
    """Yields the code with the fault in each place that it fits."""
    tree, given = ast.parse(code), list[str]()
    for place, line in enumerate(tree.body):
        if not isinstance(line, ast.Assign) or ast.unparse(line.targets[0]).startswith(_NOT_CALCULATED):
            continue
        for at, part in enumerate(ast.walk(line)):
            if not isinstance(part, ast.expr) or part in line.targets:
                continue
            for other in (other for name, other in _faults(part, given) if name == fault):
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


def _faults(part: ast.expr, given: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """Yields what may stand in the place of a part of a calculation, given the names that are assigned before it."""
    match part:
        case ast.BinOp(left, ast.Pow(), _) | ast.Call(ast.Attribute(attr="sqrt"), [left]):
            yield "forgotten_power", left
        case ast.BinOp(left, sign, right):
            yield from (("forgotten_factor", one) for one in (left, right))
            if other := _OTHER_SIGN.get(type(sign)):
                yield "other_sign", ast.BinOp(left, other(), right)
            if isinstance(sign, ast.Div):
                yield "inverted_ratio", ast.BinOp(right, sign, left)
        case ast.Name(name) if name in given:
            yield from (("other_value", ast.Name(one)) for one in given if one != name)
        case ast.Constant(int() | float() as value) if value:
            # Shifts the decimal point of a number.
            yield from (("misread_input", ast.Constant(float(f"{value * factor:.12g}"))) for factor in (10, 0.1))
    match part:
        case ast.BinOp(left, ast.Mult() | ast.Div() as sign, ast.Constant(factor)) if factor in _FACTORS:
            yield "not_converted", left
            yield "converted_twice", ast.BinOp(part, sign, ast.Constant(factor))
    match part:
        case ast.BinOp(left, _, right):
            # Keeps a number that went into the calculation in place of its result.
            yield from (
                ("answer_before", one) for one in (left, right) if isinstance(one, ast.Name) and one.id in given
            )
