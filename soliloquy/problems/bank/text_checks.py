"""Promises about the texts of a family."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from soliloquy.problems.bank.family import SLOT, Family
from soliloquy.recipes.quantity_names import quantities, result_name
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import STEP_KIND_CONCEPT, Problem

# The share of draws with different questions, if the family has numbers to draw.
DIFFERENT = 0.75
# Two wordings share at most this share of their words.
ALIKE = 0.8
# Each pattern begins with a literal character, which makes the search much faster than an alternation.
# Errors in any text: an unfilled slot, nan or inf, the noise of a binary fraction, a double space.
UNCLEAN = [re.compile(part) for part in (r"[{}]", r"nan(?<!\wnan)\b", r"inf(?<!\winf)\b", r"\.\d{9}", r"  ")]
# Errors in a sentence: the wrong article (an echo, a uniform field, an 8 kg box), a doubled full stop.
UNWELL = [
    re.compile(part)
    for part in (
        r"[Aa](?<!\w[Aa])(?: [aeioAEIO]\w| (?:8\d*|11|18)(?!\d)|n (?:[bcdfgjklmnpqrstvwxyz][a-z]|[12345679](?![18])))",
        r"[ .][.,?]",
        r",\?",
    )
]
SENTENCE = re.compile(r"[A-Z0-9].*[.?]", re.DOTALL)
WORDS = re.compile(r"[a-z]{2,}")


def wordings_differ(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    texts = [wording.template for wording in family.wordings]
    for one, other in combinations(texts, 2):
        own, others = _words(one), _words(other)
        if len(own & others) > ALIKE * len(own | others):
            yield f"{one!r} and {other!r} are nearly the same"


def questions_differ(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    different = len({problem.question for problem in problems})
    wanted = DIFFERENT * len(problems) if family.file.given else min(family.count, len(problems) // 10)
    if different < wanted:
        yield f"only {different} of {len(problems)} draws ask something else"


def questions_lead_back(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        if f"{family.bank}/{family.name}#{family.number_of(problem.question)}" != problem.source:
            yield f"not recognised: {problem.question}"


def texts_are_clean(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    sentences = dict.fromkeys(problem.question for problem in problems)
    others = dict.fromkeys(problem.solution for problem in problems)
    for step in (step for problem in problems for step in problem.steps):
        sentences[step.ask] = sentences[step.explanation] = None
        others.update(dict.fromkeys(slip.working for slip in step.slips))
        others[step.formula or step.explanation] = None
    for text in sentences:
        if not SENTENCE.fullmatch(text):
            yield f"no complete sentence: {text!r}"
    yield from _holding(UNWELL, sentences)
    yield from _holding(UNCLEAN, sentences | others)
    if "" in others:
        yield "a text is empty"


def _holding(patterns: Sequence[re.Pattern[str]], texts: Collection[str]) -> Iterator[str]:
    # A single search in all texts finds nothing in most families.
    together = "\n".join(texts)
    for pattern in patterns:
        for text in texts if pattern.search(together) else ():
            if found := pattern.search(text):
                yield f"{found[0]!r} in {text!r}"


def asks_keep_the_result(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        steps = list(problem.steps)
        asks = [step.ask for step in steps]
        for place, step in enumerate(steps):
            if not step.HasField("result"):
                continue
            result = format_value(step.result.value, step.result.unit)
            for ask in asks[: place + 1]:
                if result in ask:
                    yield f"{ask!r} gives {result} away"


def no_step_is_asked_twice(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        for one, other in combinations(problem.steps, 2):
            # The tutor's question identifies the step that the student has reached.
            if one.ask in other.ask or other.ask in one.ask:
                yield f"{one.ask!r} is asked again in step {other.number}"


def what_is_asked_for_has_a_name_of_its_own(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """Nobody is asked for a quantity by the name of one that is known."""
    known = {quantity.symbol: quantity.name for quantity in quantities(problems[0].steps) if quantity.name}
    for step in problems[0].steps:
        name = result_name(step, problems[0]) if step.HasField("result") else ""
        alike = [symbol for symbol in known if known[symbol] == name and symbol != step.result.symbol]
        if alike:
            yield f"{step.result.symbol} and {alike[0]} are both called {name!r}"


def texts_stand_by_themselves(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """An explanation is quoted without its question, and a name is put behind an article."""
    for step in problems[0].steps:
        if step.kind != STEP_KIND_CONCEPT and step.explanation.startswith("It "):
            yield f"{step.explanation!r} does not say what it is about"
    for quantity in quantities(problems[0].steps):
        if quantity.name.startswith(("what ", "one ", "the ")):
            yield f"{quantity.name!r} cannot follow an article"


def concepts_need_no_number(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    if not family.file.is_concept:
        return
    for problem in problems:
        told = [slip.working for step in problem.steps for slip in step.slips]
        for text in (problem.question, *told, *(line.split(") ", 1)[1] for line in problem.solution.splitlines())):
            if re.search(r"\d", text):
                yield f"a digit in {text!r}"


def misconceptions_are_wrong(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """No idea of a step, right or wrong, contains another one."""
    for problem in problems if family.file.is_concept else ():
        for step in problem.steps:
            right = step.explanation.split(". ")[0]
            ideas = [idea.rstrip(".").casefold() for idea in (right, *(slip.working for slip in step.slips))]
            for one, other in combinations(ideas, 2):
                if one in other or other in one:
                    yield f"{one!r} and {other!r} say the same"


def wrong_laws_are_others(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """A wrong law differs from the right one by more than a capital letter."""
    for step in problems[0].steps:
        for slip in step.slips if step.formula and not step.HasField("result") else ():
            if says(step.formula, slip.working) or says(slip.working, step.formula):
                yield f"{slip.working!r} reads as {step.formula!r}"


def _words(template: str) -> set[str]:
    return set(WORDS.findall(SLOT.sub(" ", template).casefold())) | set(SLOT.findall(template))
