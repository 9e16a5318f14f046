"""Holds the dialogues of ScaffoldEval.

In a *cooperative* dialogue the student understands everything. In a *mixed* one it is confused or off topic, sometimes
or always. A *segment* is a prepared dialogue that ends with a right answer, a wrong answer or a question; the tutor
gives only the next reply.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from soliloquy.recipes.scaffold.planner import why_unplannable
from soliloquy.runtime.seeds import draw
from soliloquy.truth.number_format import format_quantity, format_value
from soliloquy.v1.conversation_pb2 import Problem, Step
from soliloquy_papers.scaffold.evaluate import PROTOCOL
from soliloquy_papers.scaffold.evaluate.signs import ends, tells_answer
from soliloquy_training.evaluation.cases import digest_of

COOPERATIVE, MIXED, SEGMENT = "cooperative", "mixed", "segment"
_LONGEST: int = PROTOCOL["dialogues"]["longest"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueRound:
    """A student's message, the state it shows, which is empty where nobody has said it, and the tutor's reply."""

    state: str
    student: str
    tutor: str = ""

    @property
    def lines(self) -> str:
        return f"Student: {self.student}\nTutor: {self.tutor}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueCase:
    kind: str
    number: int
    problem: Problem
    seed: int
    # The states to draw from for each message of a dialogue; the last message's state in a segment.
    states: Mapping[str, float]
    # The prepared messages of a segment.
    before: Sequence[DialogueRound] = ()

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.number}"


@dataclass(kw_only=True, slots=True)
class HeldDialogue:
    case: DialogueCase
    rounds: list[DialogueRound] = field(default_factory=list)
    # Whether the tutor ended the dialogue by itself.
    ended: bool = False
    # Why the dialogue broke off; empty if it did not.
    broken: str = ""


# Replies to the student's latest message, and says whether the tutor has finished.
ReplyFunction = Callable[[Sequence[DialogueRound], str], Awaitable[tuple[str, bool]]]


async def hold_dialogue(dialogue: HeldDialogue, reply: ReplyFunction) -> None:
    """Exchanges messages until the tutor has finished; the dialogue keeps what was said."""
    case = dialogue.case
    message = DialogueRound(state="start", student=case.problem.question)
    while len(dialogue.rounds) < _LONGEST and not dialogue.ended:
        text, over = await reply(dialogue.rounds, message.student)
        dialogue.rounds.append(DialogueRound(state=message.state, student=message.student, tutor=text))
        dialogue.ended = over or ends(text)
        choice = draw(case.seed, case.id, len(dialogue.rounds), "learner")
        [state] = choice.choices(list(case.states), list(case.states.values()))
        message = DialogueRound(state=state, student=_wording(state, choice))


async def answer_segment(dialogue: HeldDialogue, reply: ReplyFunction) -> None:
    """Adds the tutor's one reply to a segment."""
    *before, last = dialogue.case.before
    text, dialogue.ended = await reply(before, last.student)
    dialogue.rounds += [*before, DialogueRound(state=last.state, student=last.student, tutor=text)]


def make_cases(problems: Sequence[Problem], *, segments: int, seed: int) -> Iterator[DialogueCase]:
    """Yields the cooperative and the mixed dialogue of every problem, and segments of the three states in turn."""
    passes = PROTOCOL["dialogues"]
    for number, problem in enumerate(problems):
        yield DialogueCase(kind=COOPERATIVE, number=number, problem=problem, seed=seed, states=passes["cooperative"])
    parts = [states for one in passes["mixed"] for states in [one["states"]] * one["part"]]
    for number, problem in enumerate(problems):
        states = parts[number * len(parts) // len(problems)]
        yield DialogueCase(kind=MIXED, number=number, problem=problem, seed=seed, states=states)
    for number in range(segments):
        yield _segment(problems[number % len(problems)], number, seed)


def digest_of_cases(cases: Sequence[DialogueCase]) -> str:
    content = []
    for one in cases:
        before = ([each.student, each.tutor] for each in one.before)
        content.append([one.id, one.seed, one.problem.question, dict(one.states), *before])
    return digest_of(content)


def is_suitable(problem: Problem) -> bool:
    """Whether a problem has several numeric steps with typical mistakes, and an answer that no earlier step yields.

    If the answer stands in the problem or is an earlier result, nobody could tell whether it was told.
    """
    if why_unplannable(problem) or len(problem.steps) < 2 or not all(map(_mistakes, problem.steps)):
        return False
    results = "; ".join(format_quantity(step.result) for step in problem.steps[:-1])
    return tells_answer(format_quantity(problem.answer), problem) and not tells_answer(results, problem)


def _segment(problem: Problem, number: int, seed: int) -> DialogueCase:
    """Prepares a dialogue in which the student has answered some steps and responds to the next."""
    choice = draw(seed, number, problem.id, "segment")
    state = ("correct", "incorrect", "question")[number % 3]
    at = choice.randrange(len(problem.steps))
    began = PROTOCOL["says"]["before"].format(ask=problem.steps[0].ask)
    rounds = [DialogueRound(state="start", student=problem.question, tutor=began)]
    for step, following in zip(problem.steps[:at], problem.steps[1:], strict=False):
        said = _wording("correct", choice, answer=format_quantity(step.result))
        rounds.append(
            DialogueRound(state="correct", student=said, tutor=PROTOCOL["says"]["onward"].format(ask=following.ask))
        )
    step = problem.steps[at]
    answer = format_quantity(step.result) if state == "correct" else choice.choice(_mistakes(step))
    last = DialogueRound(state=state, student=_wording(state, choice, answer=answer))
    return DialogueCase(
        kind=SEGMENT, number=number, problem=problem, seed=seed, states={state: 1.0}, before=[*rounds, last]
    )


def _wording(state: str, rng: Random, *, answer: str = "") -> str:
    """Picks a wording of the student, which has no model; `answer` is its own, and most states have none."""
    wordings: Sequence[str] = PROTOCOL["says"][state]
    return rng.choice(wordings).format(answer=answer)


def _mistakes(step: Step) -> list[str]:
    """Returns the results of the typical mistakes that differ from the right one; empty for a step without a number."""
    if not step.HasField("result"):
        return []
    right = step.result.value
    return [format_value(one.value, one.unit) for one in step.slips if abs(one.value - right) > 0.05 * abs(right)]
