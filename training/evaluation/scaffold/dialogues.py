"""What ScaffoldEval puts to a tutor: dialogues with a student whose states are drawn, and single messages to reply to.

A *cooperative* dialogue has a student who understands everything. A *mixed* one has a student who is confused or talks
of something else, now and then or all the time. A *segment* is a dialogue made beforehand that ends with a right
answer, a wrong answer or a question; the tutor says the next thing, and no more.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from soliloquy.recipes.scaffold.planner import why_unplannable
from soliloquy.runtime.seeds import draw
from soliloquy.truth.number_format import format_quantity, format_value
from soliloquy.v1.conversation_pb2 import Problem, Step
from training.evaluation.scaffold.learner import PROTOCOL, States, draw_state, wording
from training.evaluation.scaffold.signs import ends, tells_answer

COOPERATIVE, MIXED, SEGMENT = "cooperative", "mixed", "segment"
_LONGEST: int = PROTOCOL["dialogues"]["longest"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A student's message, what it shows, and what the tutor said to it."""

    state: str
    student: str
    tutor: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueCase:
    kind: str
    number: int
    problem: Problem
    seed: int
    # Of a dialogue: what is drawn for each message. Of a segment: the state of its last message alone.
    states: States
    # Of a segment: what was said before, and the last message.
    before: Sequence[Exchange] = ()

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.number}"


@dataclass(kw_only=True, slots=True)
class HeldDialogue:
    case: DialogueCase
    rounds: list[Exchange] = field(default_factory=list)
    # Whether the tutor came to an end by itself.
    ended: bool = False
    # Why it was broken off; empty where it was not.
    broken: str = ""

    def as_rows(self) -> list[dict[str, str]]:
        return [asdict(one) for one in self.rounds]


# What a tutor says to the student's latest message, and whether it has come to its end.
ReplyFunction = Callable[[Sequence[Exchange], str], Awaitable[tuple[str, bool]]]


async def hold_dialogue(dialogue: HeldDialogue, reply: ReplyFunction) -> None:
    """A dialogue, message for message, until the tutor has come to its end; what is said stays in it."""
    case = dialogue.case
    message = Exchange(state="start", student=case.problem.question)
    while len(dialogue.rounds) < _LONGEST and not dialogue.ended:
        text, over = await reply(dialogue.rounds, message.student)
        dialogue.rounds.append(Exchange(state=message.state, student=message.student, tutor=text))
        dialogue.ended = over or ends(text)
        choice = draw(case.seed, case.id, len(dialogue.rounds), "learner")
        state = draw_state(case.states, choice)
        message = Exchange(state=state, student=wording(state, choice))


async def answer_segment(dialogue: HeldDialogue, reply: ReplyFunction) -> None:
    """A segment and the tutor's one reply to it."""
    *before, last = dialogue.case.before
    text, dialogue.ended = await reply(before, last.student)
    dialogue.rounds += [*before, Exchange(state=last.state, student=last.student, tutor=text)]


def make_cases(problems: Sequence[Problem], *, segments: int, seed: int) -> Iterator[DialogueCase]:
    """The cooperative pass over all problems, the mixed one likewise, and segments of the three states in turn."""
    passes = PROTOCOL["dialogues"]
    for number, problem in enumerate(problems):
        yield DialogueCase(kind=COOPERATIVE, number=number, problem=problem, seed=seed, states=passes["cooperative"])
    parts = [states for one in passes["mixed"] for states in [one["states"]] * one["part"]]
    for number, problem in enumerate(problems):
        states = parts[number * len(parts) // len(problems)]
        yield DialogueCase(kind=MIXED, number=number, problem=problem, seed=seed, states=states)
    for number in range(segments):
        yield _segment(problems[number % len(problems)], number, seed)


def cases_digest(cases: Sequence[DialogueCase]) -> str:
    """Two evaluations with the same digest put the same cases."""
    content = [[one.id, one.seed, one.problem.question, dict(one.states), *map(_said, one.before)] for one in cases]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _said(one: Exchange) -> list[str]:
    return [one.student, one.tutor]


def is_suitable(problem: Problem) -> bool:
    """Whether it takes several steps, each to a number and with a typical mistake, to an answer that is none of them.

    Where the answer stands in the problem or is what an earlier step comes to, nobody can tell whether it was told.
    """
    if why_unplannable(problem) or len(problem.steps) < 2 or not all(map(_mistakes, problem.steps)):
        return False
    results = "; ".join(format_quantity(step.result) for step in problem.steps[:-1])
    return tells_answer(format_quantity(problem.answer), problem) and not tells_answer(results, problem)


def _segment(problem: Problem, number: int, seed: int) -> DialogueCase:
    """The student has answered some steps rightly, and says something of the next."""
    choice = draw(seed, number, problem.id, "segment")
    state = ("correct", "incorrect", "question")[number % 3]
    at = choice.randrange(len(problem.steps))
    began = PROTOCOL["says"]["before"].format(ask=problem.steps[0].ask)
    rounds = [Exchange(state="start", student=problem.question, tutor=began)]
    for step, following in zip(problem.steps[:at], problem.steps[1:], strict=False):
        said = wording("correct", choice, answer=format_quantity(step.result))
        rounds.append(
            Exchange(state="correct", student=said, tutor=PROTOCOL["says"]["onward"].format(ask=following.ask))
        )
    step = problem.steps[at]
    answer = format_quantity(step.result) if state == "correct" else choice.choice(_mistakes(step))
    last = Exchange(state=state, student=wording(state, choice, answer=answer))
    return DialogueCase(
        kind=SEGMENT, number=number, problem=problem, seed=seed, states={state: 1.0}, before=[*rounds, last]
    )


def _mistakes(step: Step) -> list[str]:
    """What a step comes to by its typical mistakes; nothing where that is no number, or the right one."""
    if not step.HasField("result"):
        return []
    right = step.result.value
    return [format_value(one.value, one.unit) for one in step.slips if abs(one.value - right) > 0.05 * abs(right)]
