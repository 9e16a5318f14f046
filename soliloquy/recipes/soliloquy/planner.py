"""The planner explains and outlines a problem's solution before the conversation starts."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.answers import Enriched
from soliloquy.recipes.soliloquy.stated_numbers import StatedNumber, is_among, normalize, stated_numbers, values_of
from soliloquy.recipes.words import words
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.truth.locales import gloss, glossed
from soliloquy.v1.conversation_pb2 import Enrichment, Problem, Quantity

# Reports only a few faults at once: a model that fixes them tends to fix the rest.
_MOST_FAULTS = 3
# Matches "Step 2)" anywhere, and "Step 2:", "Step 2." or "2." at the start of a sentence or a line.
_STEP = re.compile(
    r"\bStep\s*(\d{1,3})\s*\)|(?:^|(?<=[.!?;]\s))Step\s*(\d{1,3})\s*[.:](?!\d)|^\s*(\d{1,3})[).](?!\d)",
    re.MULTILINE | re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*(?=\s*Step\s)|(?<=[).:])\*\*", re.IGNORECASE)
_BEFORE = 40
_RESULT = re.compile(
    r"(?:[=≈≅]|\b(?:equals|gives|yields|gets?|obtains?|results? in|resulting in|comes? to))\s?"
    r"(?:about |roughly |approximately )?[-−(]*$"
)
_BETWEEN = re.compile(r"[)\s]*(?:[×*·⋅÷/+−–^-]|x|times|plus|minus|over|(?:divided |multiplied )?by|(?=\())[(\s]*")


async def enrich(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Enrichment:
    """Asks for a detailed solution and an outline; without a usable answer the plain solution is used."""
    if problem.enrichment.detailed_solution:
        return Enrichment()
    try:
        enriched = await ask(prompting.enriching(problem, changed), Enriched, partial(check, problem=problem))
    except Unusable as unusable:
        return Enrichment(plain_because=str(unusable), calls=ask.calls)
    return Enrichment(
        detailed_solution=one_step_per_line(enriched.detailed_solution, problem.language),
        outline=one_step_per_line(enriched.outline, problem.language),
        calls=ask.calls,
    )


def steps_in(text: str) -> list[str]:
    """Splits a text at the numbers 1, 2, 3, ..; any other number belongs to a step."""
    text = _BOLD.sub("", text)
    cuts: list[tuple[int, int]] = []
    for found in _STEP.finditer(text):
        if int(next(filter(None, found.groups()))) == len(cuts) + 1:
            cuts.append(found.span())
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [" ".join(text[start:end].split()) for (_, start), end in zip(cuts, ends, strict=False)]


def one_step_per_line(text: str, language: str = "") -> str:
    step = words(language)["step"]
    return "\n".join(step.format(number=number, text=text) for number, text in enumerate(steps_in(text), start=1))


def check(enriched: Enriched, problem: Problem) -> None:
    """Raises Unreadable with the faults that the model is to fix."""
    if found := list(dict.fromkeys(faults(enriched, problem))):
        raise Unreadable("; ".join(found[:_MOST_FAULTS]))


def faults(enriched: Enriched, problem: Problem) -> Iterator[str]:
    language, problem = problem.language, glossed(problem)
    known, outline = source_values(problem), gloss(enriched.outline, language)
    for name, text in (
        ("Detailed Solution", gloss(enriched.detailed_solution, language)),
        ("Solution Outline", outline),
    ):
        found = (*_numbering_faults(text, len(problem.steps)), *_unknown_numbers(text, known))
        yield from (f'"{name}": {fault}' for fault in found)
    yield from (f'"Solution Outline": {fault}' for fault in _calculations(outline, problem))


def source_values(problem: Problem) -> set[float]:
    """Returns the numbers that an enriched solution may use: those of the question, the solution and its steps."""
    texts = [problem.question, problem.solution]
    quantities: list[Quantity] = [problem.answer]
    for step in problem.steps:
        texts += [step.explanation, step.formula, step.expression]
        quantities += [*step.inputs, step.result]
    return values_of(texts) | {abs(quantity.value) for quantity in quantities} | {math.pi}


def _numbering_faults(text: str, wanted: int) -> Iterator[str]:
    steps = steps_in(text)
    if len(steps) != wanted:
        yield f'{len(steps)} steps are numbered in order; {wanted} are wanted, "Step 1)" to "Step {wanted})"'
    yield from (f"step {number} is empty" for number, step in enumerate(steps, start=1) if not step.strip(" .*"))


def _unknown_numbers(text: str, known: set[float]) -> Iterator[str]:
    stated = [number for _, numbers in _stated_by_step(text) for number in numbers]
    # Constants and conversion factors may appear in the other steps too.
    known = known | {number.value for number in stated if number.free}
    for number in stated:
        if not number.free and not is_among(number, known):
            yield f"{number.text!r} is in neither the question nor the solution; calculate nothing yourself"


def _calculations(text: str, problem: Problem) -> Iterator[str]:
    """Finds where an outline states a result or calculates with numbers."""
    own = values_of([step.formula for step in problem.steps])
    for step, numbers in _stated_by_step(text):
        values = [one for one in numbers if not one.free and not (one.in_formula and one.value in own)]
        for number in values:
            if result := _RESULT.search(step[max(0, number.start - _BEFORE) : number.start]):
                yield f"{result[0] + step[number.start : number.end]!r} is a calculation; name what is done"
        for one, other in pairwise(number for number in numbers if not number.spelled):
            if (one in values or other in values) and _BETWEEN.fullmatch(step, one.end, other.start):
                yield f"{step[one.start : other.end]!r} is a calculation; name what is done"


def _stated_by_step(text: str) -> Iterator[tuple[str, Sequence[StatedNumber]]]:
    for step in map(normalize, steps_in(text)):
        yield step, stated_numbers(step)
