"""Makes a program calculate something else, as models' programs do, by changing its syntax tree."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random

# Numbers by which units are converted.
_FACTORS = frozenset([7, 12, 24, 52, 60, 100, 365, 1000, 3600, 3.6, 1e6, 1e-2, 1e-3, 1e-6])
_SIGNS: Sequence[tuple[type[ast.operator], type[ast.operator]]] = ((ast.Add, ast.Sub), (ast.Mult, ast.Div))
_OTHER_SIGN = {sign: other for pair in _SIGNS for sign, other in (pair, pair[::-1])}
# What is said of the student's number, and what compares it.
_NOT_CALCULATED = ("student", "is_")

# Yields what may take the place of a part of a calculation, given the names that were assigned before it.
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
    given: list[str] = []
    for assigned in _calculations(ast.parse(code)):
        value = assigned.value
        powers = (part for part in ast.walk(value) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow))
        exponents = [power.right for power in powers]
        for at, part in enumerate(ast.walk(value)):
            if not isinstance(part, ast.expr) or part in exponents:
                continue
            for other in change(part, given):
                whole = deepcopy(value)
                changed = _Replaced([*ast.walk(whole)][at], other).visit(whole)
                yield _spliced(code, value, ast.unparse(ast.fix_missing_locations(changed)))
        given.append(ast.unparse(assigned.targets[0]))


def _calculations(tree: ast.AST) -> Iterator[ast.Assign]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and not ast.unparse(node.targets[0]).startswith(_NOT_CALCULATED):
            yield node


class _Replaced(ast.NodeTransformer):
    def __init__(self, part: ast.AST, other: ast.expr) -> None:
        self._part, self._other = part, other

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._part:
            return self._other
        changed: ast.AST = super().visit(node)
        return changed


def _spliced(code: str, part: ast.expr, text: str) -> str:
    """Puts the text in the place of a part of the code, so that comments stay."""
    written = code.encode()
    starts = [0]
    for line in written.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start = starts[part.lineno - 1] + part.col_offset
    end = starts[(part.end_lineno or part.lineno) - 1] + (part.end_col_offset or 0)
    return (written[:start] + text.encode() + written[end:]).decode()


def _number(part: ast.expr) -> float | None:
    is_number = isinstance(part, ast.Constant) and type(part.value) in (int, float)
    return float(ast.literal_eval(part)) if is_number else None


def _without_operand(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(part, ast.BinOp):
        yield from (part.left, part.right)


def _other_sign(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(part, ast.BinOp) and (other := _OTHER_SIGN.get(type(part.op))):
        yield ast.BinOp(part.left, other(), part.right)


def _forgotten_square(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Pow(), right) if (_number(right) or 0) > 1:
            yield left
        case ast.BinOp(left, ast.Mult(), right) if ast.dump(left) == ast.dump(right):
            yield left


def _forgotten_root(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Pow(), right) if 0 < (_number(right) or 0) < 1:
            yield left
        case ast.Call(ast.Attribute(attr="sqrt") | ast.Name(id="sqrt"), [inner]):
            yield inner


def _forgotten_factor(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Mult(), right):
            yield from (left, right)
        case ast.BinOp(left, ast.Div(), _):
            yield left


def _inverted_ratio(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Div(), right):
            yield ast.BinOp(right, ast.Div(), left)


def _not_converted(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(left, ast.Mult() | ast.Div(), right) if _number(right) in _FACTORS:
            yield left
        case ast.BinOp(left, ast.Mult(), right) if _number(left) in _FACTORS:
            yield right


def _converted_twice(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    match part:
        case ast.BinOp(_, ast.Mult() | ast.Div() as sign, right) if _number(right) in _FACTORS:
            yield ast.BinOp(part, sign, right)
        case ast.BinOp(left, ast.Mult(), _) if _number(left) in _FACTORS:
            yield ast.BinOp(part, ast.Mult(), left)


def _other_value(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(part, ast.Name) and part.id in given:
        yield from (ast.Name(name, ast.Load()) for name in given if name != part.id)


def _answer_before(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    """Keeps a number that went into the calculation in place of its result."""
    if isinstance(part, ast.BinOp):
        yield from (one for one in (part.left, part.right) if isinstance(one, ast.Name))


def _misread_input(part: ast.expr, given: Sequence[str]) -> Iterator[ast.expr]:
    """Swaps two digits of a number, or shifts its decimal point."""
    if not (number := _number(part)):
        return
    digits = ast.unparse(part)
    for at in range(len(digits) - 1):
        one, other = digits[at], digits[at + 1]
        if (one + other).isdigit() and one != other and (at or other != "0"):
            yield ast.Constant(ast.literal_eval(f"{digits[:at]}{other}{one}{digits[at + 2 :]}"))
    yield from (ast.Constant(float(f"{number * factor:.12g}")) for factor in (10, 0.1))


FAULTS: Mapping[str, Change] = {
    "other_sign": _other_sign,
    "forgotten_square": _forgotten_square,
    "forgotten_root": _forgotten_root,
    "forgotten_factor": _forgotten_factor,
    "inverted_ratio": _inverted_ratio,
    "not_converted": _not_converted,
    "converted_twice": _converted_twice,
    "other_value": _other_value,
    "answer_before": _answer_before,
    "misread_input": _misread_input,
}
