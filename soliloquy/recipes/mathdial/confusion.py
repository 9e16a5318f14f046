"""Selects the wrong solution that a student believes in, and locates its error."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from soliloquy.recipes.mathdial.answers import PlausibleMistake
from soliloquy.recipes.mathdial.claims import as_handed_in, equations, final_answer, is_right, operands, slips
from soliloquy.recipes.mathdial.labels_pb2 import Confusion, EnrichmentLabels
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.truth.locales import gloss
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Discarded, Enrichment, Problem

_RIGHT = "right"
# The equations of each line: their operands and results.
_Lines = list[list[tuple[list[float], float]]]


class NoConfusion(Exception):
    """No sample is a usable confusion; the message says why, and `confusion` counts the discarded samples."""

    def __init__(self, why: str, confusion: Confusion) -> None:
        super().__init__(why)
        self.confusion = confusion


class InDispute(NoConfusion):
    """The samples agree on another answer than the problem's."""


def sampling_refusal(problem: Problem) -> str:
    """Returns the reason not to sample solutions of a problem; empty if there is none."""
    steps, most = len(problem.steps), POLICY["confusion"]["most_steps"]
    if not problem.HasField("answer"):
        return "no answer: the problem has no number for one"
    return f"too many steps: {steps}; problems of {most} at most are sampled" if steps > most else ""


def wants_samples(solutions: Sequence[str], problem: Problem) -> bool:
    """Whether more solutions are needed: too few wrong ones are usable, and the model has not settled on one answer."""
    limits = POLICY["confusion"]
    answers = [final_answer(gloss(solution, problem.language)) for solution in solutions]
    latest = answers[-limits["same_in_a_row"] :]
    if len(solutions) >= limits["samples"] or (len(latest) == limits["same_in_a_row"] and len(set(latest)) == 1):
        return False
    usable = [solution for solution in solutions if not why_unusable(solution, problem)]
    return len(usable) < limits["wrong"] or bool(_dispute(answers, problem))


def choose_confusion(solutions: Sequence[str], problem: Problem) -> Confusion:
    """Returns the first of the most frequent wrong solutions; raises NoConfusion."""
    answers = [final_answer(gloss(solution, problem.language)) for solution in solutions]
    unusable = [why_unusable(solution, problem) for solution in solutions]
    because = Counter(filter(None, unusable))
    discarded = [Discarded(because=reason, samples=samples) for reason, samples in sorted(because.items())]
    none = Confusion(samples=len(solutions), discarded=discarded)
    if dispute := _dispute(answers, problem):
        raise InDispute(dispute, none)
    left: dict[float, list[str]] = {}
    for solution, answer, why in zip(solutions, answers, unusable, strict=True):
        if answer is not None and not why:
            left.setdefault(answer, []).append(solution)
    if not left:
        told = ", ".join(f"{one.samples} {one.because}" for one in discarded)
        raise NoConfusion(f"no usable mistake: {told}", none)
    answer = max(left, key=lambda one: (_may_be_handed_in(one, problem), len(left[one])))
    none.MergeFrom(Confusion(solution=as_handed_in(left[answer][0]), answer=answer, agreeing=answers.count(answer)))
    return none


def choose_mistake(mistakes: Iterable[PlausibleMistake], problem: Problem) -> Confusion | None:
    """Returns the first usable one, before any answer that nobody would hand in."""
    usable = [one for one in mistakes if not why_unusable(one.solution, problem)]
    chosen = max(usable, key=lambda one: _may_be_handed_in(_answer(one, problem) or 0.0, problem), default=None)
    if chosen is None:
        return None
    solution = as_handed_in(chosen.solution)
    return Confusion(solution=solution, answer=_answer(chosen, problem), belief=chosen.belief)


def _answer(mistake: PlausibleMistake, problem: Problem) -> float | None:
    return final_answer(gloss(mistake.solution, problem.language))


def why_unusable(solution: str, problem: Problem) -> str:
    """Returns what a solution is that no student can be wrong by; empty if it is usable."""
    solution = gloss(solution, problem.language)
    answer = final_answer(solution)
    if answer is None:
        return "without a final answer"
    if verdict := _verdict(answer, problem):
        return verdict
    handed_in = as_handed_in(solution)
    if any(slips(handed_in)):
        return "miscalculated"
    return "" if any(equations(handed_in)) else "without a calculation"


def _verdict(answer: float, problem: Problem) -> str:
    """Returns what the ledger says of an answer: right, nearly right, or empty for a wrong one."""
    judged = is_right(answer, problem)
    # The limit itself counts as near, despite rounding of the difference.
    is_near = abs(answer - problem.answer.value) <= POLICY["confusion"]["nearest"] + 1e-9
    return _RIGHT if judged else "nearly right" if judged is None or is_near else ""


def _dispute(answers: Sequence[float | None], problem: Problem) -> str:
    """Says on which wrong answer all samples or nearly all agree; empty if they do not."""
    wrong = Counter(one for one in answers if one is not None and _verdict(one, problem) != _RIGHT)
    common, agreeing = wrong.most_common(1)[0] if wrong else (0.0, 0)
    if agreeing <= max(0, len(answers) - POLICY["confusion"]["disagreeing_at_least"]):
        return ""
    return f"samples agree on a wrong answer: {agreeing} of {len(answers)} on {common:g}"


def _may_be_handed_in(answer: float, problem: Problem) -> bool:
    """Whether a person could hand the answer in: a negative price stands back behind a rarer plausible one."""
    return is_plausible(answer, problem.answer.value, problem.answer.unit)


def confusion_of(enrichment: Enrichment) -> Confusion:
    return EnrichmentLabels.FromString(enrichment.labels).confusion


def labelled(confusion: Confusion) -> bytes:
    """Returns the labels of an enrichment with this confusion."""
    return EnrichmentLabels(confusion=confusion).SerializeToString()


def lines(confusion: Confusion) -> list[str]:
    return confusion.solution.splitlines()


def numbered(confusion: Confusion) -> Iterator[str]:
    return (f"{number}. {line}" for number, line in enumerate(lines(confusion), start=1))


def locate_error(confusion: Confusion, problem: Problem) -> tuple[str, int] | None:
    """Returns the category and the first wrong line, from 1; None if the numbers do not determine the error."""
    found = [list(equations(gloss(line, problem.language))) for line in lines(confusion)]
    return _went_on(found, problem) or _quantity(found, problem)


def _went_on(lines: _Lines, problem: Problem) -> tuple[str, int] | None:
    """The solution reaches the right answer and continues to another one."""
    results = [(number, result) for number, line in enumerate(lines, start=1) for _, result in line]
    for at, (_, result) in enumerate(results[:-1]):
        if is_right(result, problem):
            return "went_on", results[at + 1][0]
    return None


def _quantity(lines: _Lines, problem: Problem) -> tuple[str, int] | None:
    """The solution uses a number of the question that the right solution does not need."""
    calculated = [step for step in problem.steps if step.HasField("result")]
    if not all(step.expression for step in calculated):
        return None
    given = {number.value for number in numbers_in_digits(gloss(problem.question, problem.language))}
    needed = {known.value for step in calculated for known in step.inputs}
    needed |= {value for step in calculated for value in operands(step.expression)}
    for number, line in enumerate(lines, start=1):
        if any(given.intersection(put_in) - needed for put_in, _ in line):
            return "quantity", number
    return None
