"""Composes a story about a topic from events, with the function that follows it: hardly two have the same steps."""

from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random

from soliloquy.standin.phrasebook import Phrasebook
from soliloquy.truth.expressions import parse_expression

_MOST_EVENTS = 4
_DRAWS = 500
_LEAST = 3
# The largest number of a story, however old the children are.
LARGEST = 1000
_OPERATIONS = {"+": "addition", "-": "subtraction", "*": "multiplication", "/": "division"}
_SYMBOLS = {"count": "c", "one": "a", "other": "b"}


@dataclass
class _Story:
    count: int
    sentences: list[str]
    code: list[str]
    names: list[str] = field(default_factory=lambda: ["count"])


def compose(
    topic: str, allowed: Collection[str], largest: int, book: Phrasebook, rng: Random
) -> tuple[str, str] | None:
    """Returns a question and its function; None if no event uses only the allowed operations."""
    tables = book.tables["events"]
    fitting = [name for name, formula in tables["formulas"].items() if _operations(formula) <= set(allowed)]
    events, finals = ([name for name in fitting if name in tables[kind]] for kind in ("events", "finals"))
    for _ in range(_DRAWS if events else 0):
        # Longer stories have more kinds.
        length = rng.choice([length for length in range(1, _MOST_EVENTS + 1) for _ in range(length**3)])
        # The same event twice would read as if one contradicted the other.
        drawn = [*rng.sample(events, min(length, len(events))), rng.choice(finals)]
        if story := _told(drawn, topic, largest, book, rng):
            return " ".join(story.sentences), "\n".join(
                ["def solution():", *story.code, f"    return {story.names[-1]}"]
            )
    return None


def _operations(formula: str) -> set[str]:
    return {_OPERATIONS[sign] for sign in formula if sign in _OPERATIONS}


def _told(drawn: list[str], topic: str, largest: int, book: Phrasebook, rng: Random) -> _Story | None:
    tables = book.tables["events"]
    slots = {"name": rng.choice(tables["names"]), "things": rng.choice(tables["things"]), "topic": topic}
    first = rng.randint(_LEAST, max(largest // 4, 2 * _LEAST))
    begin = book.one_of(rng, "events", "begin", count=str(first), **slots)
    story = _Story(first, [begin], [f"    # {begin}", f"    count = {first}"])
    for number, kind in enumerate(drawn, start=1):
        is_final, formula = kind in tables["finals"], tables["formulas"][kind]
        one, other = _numbers(kind, story.count, largest, rng)
        if min(one, other) < 2:
            return None
        value = parse_expression(formula.format(**_SYMBOLS)).value({"c": story.count, "a": one, "b": other})
        if value != int(value) or not _LEAST <= value <= largest:
            return None
        said = book.one_of(
            rng, "events", "finals" if is_final else "events", kind, one=str(one), other=str(other), **slots
        )
        if said in story.sentences:
            return None
        story.sentences.append(said)
        if kind == "left":
            break
        names = {"count": story.names[-1], "one": f"{kind}_{number}", "other": f"{kind}_{number}_each"}
        story.code += [f"    # {said}", f"    {names['one']} = {one}"]
        story.code += [f"    {names['other']} = {other}"] if "{other}" in formula else []
        result = "answer" if is_final else f"count_{number}"
        story.code.append(f"    {result} = {formula.format(**names)}")
        story.names.append(result)
        story.count = int(value)
    return story


def _numbers(kind: str, count: int, largest: int, rng: Random) -> tuple[int, int]:
    """Draws numbers that fit the count."""
    few = rng.randint(2, 9)
    match kind:
        case "boxes" | "pages" | "classes":
            fitting = [number for number in range(2, 25) if count % number == 0]
            return (rng.choice(fitting) if fitting else 0), few
        case "missing":
            return count + rng.randint(_LEAST, max(largest // 3, _LEAST)), few
        case "packs" | "gifts" | "grow" | "price" | "doubled":
            return few, rng.randint(2, 12)
        case _:
            most = max(largest // 5, _LEAST)
            return rng.randint(2, most), rng.randint(2, most)
