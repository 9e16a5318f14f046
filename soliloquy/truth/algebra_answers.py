"""Reads answers in letters, "it is 8 + 6*x" or "3x + 5 = 26", and compares them with the known one."""

import ast
import functools
import re
from collections.abc import Iterator, Sequence

from soliloquy.truth.algebra import are_equal, are_equivalent
from soliloquy.truth.expressions import BadExpression, Expression
from soliloquy.truth.laws import Law, expression, law

_PLAIN = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "²": "^2", "³": "^3"})
_SPELLED = {"plus": "+", "minus": "-", "times": "*", "equals": "=", "squared": "^2"}
_WORD = re.compile(rf"\s*\b({'|'.join(_SPELLED)})\b")
# "6x" is algebra, while "26 m" is a quantity and "3e8" a number.
_JUXTAPOSED = re.compile(r"\d(?!e[-+]?\d)[^\W\d_]|\d\(|\)\(", re.I)
_EQUALS = re.compile(r"[=≈]")
# No answer follows these words: "2x + 6, not 2x + 3", "I get 2x + 6 from 2(x + 3)".
_NEGATED = re.compile(r"\b(?:not|isn.?t|wasn.?t|never|rather than|instead of|than)\W*$", re.I)
_SOURCE = re.compile(
    r"\b(?:from|of|in|for|inside|expand\w*|simplif\w+|multipl\w+(?: out)?|factor\w*|open\w*(?: up)?)\W*$", re.I
)
_SIDES = 2


@functools.lru_cache(4096)
def algebra(formula: str) -> Law | None:
    """Returns the equation that a known answer is; None if it is a number, a law in words, or no equation."""
    if not _JUXTAPOSED.search(formula):
        return None
    try:
        known = law(formula.strip("$ ."))
    except BadExpression:
        return None
    letters = all(len(symbol) == 1 for symbol in known.symbols)
    return known if known.symbols and letters and len(known.sides) == _SIDES else None


@functools.lru_cache(4096)
def gives_algebra(text: str, formula: str) -> bool | None:
    """Whether a text answers with this equation in any equivalent form; None if it gives none.

    For "P = 6x + 8" the expression alone is enough.
    """
    wanted = algebra(formula)
    stated = stated_algebra(text, formula)
    if wanted is None or not stated:
        return None
    if _name(wanted):
        return are_equal(stated[-1].sides[1], wanted.sides[1])
    judged = [are_equivalent(one, wanted) for one in stated]
    return None if None in judged else all(judged)


def stated_algebra(text: str, formula: str) -> Sequence[Law]:
    """Returns the equations in the letters of the known one that a text states; of an expression also its name."""
    wanted = algebra(formula)
    if wanted is None:
        return []
    chains = list(_chains_in(text, wanted.symbols))
    if _name(wanted):
        ends = [chain[-1] for chain in chains if _answers(chain, wanted)]
        return [Law(text=text, sides=[wanted.sides[0], end]) for end in ends]
    equations = [Law(text=text, sides=chain) for chain in chains if len(chain) == _SIDES]
    return [one for one in equations if one.symbols == wanted.symbols]


def _answers(chain: Sequence[Expression], wanted: Law) -> bool:
    """Whether a chain of equal sides, "P = 2(x + 1) + 4x = 6x + 2", is about the expression asked for."""
    name, letters = _name(wanted), set(wanted.sides[1].symbols)
    last = set(chain[-1].symbols)
    named = chain[0].symbols == (name,) and len(chain) > 1
    # A number alone may be of anything, and a letter alone is mostly talked about.
    told = named or (bool(last) and not isinstance(chain[-1].tree, ast.Name))
    return name not in last and last <= letters and told


def _name(known: Law) -> str:
    """Returns the letter that stands for an expression in others: P in "P = 6x + 8"."""
    first, second = known.sides
    return first.tree.id if isinstance(first.tree, ast.Name) and first.tree.id not in second.symbols else ""


def _chains_in(text: str, letters: set[str]) -> Iterator[Sequence[Expression]]:
    """Yields the runs of terms in these letters, split at their equals signs."""
    text = _WORD.sub(lambda word: f" {_SPELLED[word[1]]}", text.replace("**", "^").translate(_PLAIN))
    names = "|".join(sorted(letters))
    run = re.compile(rf"(?:\d+(?:\.\d+)?|[-+*/^()=≈\s]|(?<![^\W\d_'’])(?:{names})+(?![^\W\d_'’]))+")
    source = list[Sequence[Expression]]()
    found = False
    for match in run.finditer(text):
        sides = [expression(side.strip(), tuple(sorted(letters))) for side in _EQUALS.split(match[0])]
        chain = [side for side in sides if side is not None]
        if len(chain) < len(sides) or not any(side.symbols for side in chain):
            continue
        before = text[: match.start()]
        if _NEGATED.search(before):
            continue
        if len(chain) == 1 and _SOURCE.search(before):
            source.append(chain)
            continue
        found = True
        yield chain
    if not found:
        yield from source
