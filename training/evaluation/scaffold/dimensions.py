"""ScaffoldEval's six dimensions, a function each: by rule wherever a rule can decide, by a judge for the rest."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from soliloquy.recipes.scaffold.expected_answers import gives_quantity, miscalculations
from soliloquy.recipes.scaffold.plan_rules import CLOSENESS
from training.evaluation.scaffold.dialogues import COOPERATIVE, MIXED, SEGMENT, Exchange, HeldDialogue
from training.evaluation.scaffold.judging import Judge
from training.evaluation.scaffold.learner import PROTOCOL
from training.evaluation.scaffold.signs import asks, is_about, repeats, shows, tells_answer

_JUDGING = PROTOCOL["judging"]
RULE, MODEL, NOBODY = "rule", "model", "not measured"
DIMENSIONS = {
    "accuracy": "answer accuracy",
    "scaffolding": "stepwise scaffolding",
    "topic": "topic adherence",
    "question": "question quality",
    "guidance": "guidance quality",
    "adaptive": "adaptive feedback",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A score from 0 to 1, None where nobody could judge; of the reply of which turn, and by whom."""

    dimension: str
    turn: int
    score: float | None
    by: str


async def score_dialogue(dialogue: HeldDialogue, judge: Judge | None) -> AsyncIterator[Score]:
    """All that a dialogue or a segment is scored by."""
    if dialogue.case.kind == SEGMENT:
        yield await adaptive(dialogue, judge)
        return
    if dialogue.case.kind == COOPERATIVE:
        yield accuracy(dialogue)
    yield scaffolding(dialogue)
    for one in topic(dialogue):
        yield one
    async for one in questions(dialogue, judge):
        yield one
    async for one in guidance(dialogue, judge):
        yield one


def accuracy(dialogue: HeldDialogue) -> Score:
    """Whether the tutor comes to the right answer in the end; half of it where the number is no more than near."""
    replies, answer = _replies(dialogue), dialogue.case.problem.answer
    last = replies[-1] if replies and dialogue.ended else ""
    near = {**CLOSENESS, "tolerance": _JUDGING["nearly"]}
    score = 1.0 if gives_quantity(last, answer, **CLOSENESS) else 0.5 if gives_quantity(last, answer, **near) else 0.0
    return Score(dimension="accuracy", turn=len(replies), score=score, by=RULE)


def scaffolding(dialogue: HeldDialogue) -> Score:
    """Whether there is a dialogue at all before the closing turns, and the final answer is not told in it."""
    on_the_way = _replies(dialogue)[: -_JUDGING["closing"]]
    told = any(tells_answer(reply, dialogue.case.problem) for reply in on_the_way)
    return Score(dimension="scaffolding", turn=len(on_the_way), score=float(bool(on_the_way) and not told), by=RULE)


def topic(dialogue: HeldDialogue) -> Iterator[Score]:
    """Of each reply to what has nothing to do with the problem: whether it leads back in words, or goes on with it."""
    for number, one in enumerate(dialogue.rounds, start=1):
        if one.state == "irrelevant" and dialogue.case.kind == MIXED:
            back = is_about(one.tutor, dialogue.case.problem)
            score = 1.0 if back and shows("redirects", one.tutor) else 0.5 if back else 0.0
            yield Score(dimension="topic", turn=number, score=score, by=RULE)


async def questions(dialogue: HeldDialogue, judge: Judge | None) -> AsyncIterator[Score]:
    """Of each reply but the one that ends the dialogue: nothing where it asks nothing, else how much it asks for."""
    for number, rounds in _going_on(dialogue):
        if not asks(rounds[-1].tutor):
            yield Score(dimension="question", turn=number, score=0.0, by=RULE)
        else:
            yield await _judged("question", "question_quality", dialogue, rounds, judge)


async def guidance(dialogue: HeldDialogue, judge: Judge | None) -> AsyncIterator[Score]:
    """Of each such reply: nothing where it repeats an earlier one, else whether it brings anything new."""
    for number, rounds in _going_on(dialogue):
        *before, last = rounds
        if repeats(last.tutor, [one.tutor for one in before]):
            yield Score(dimension="guidance", turn=number, score=0.0, by=RULE)
        else:
            yield await _judged("guidance", "guidance_quality", dialogue, rounds, judge)


async def adaptive(dialogue: HeldDialogue, judge: Judge | None) -> Score:
    """Of the reply to a segment: half for what it has understood, half for what it says to it."""
    if dialogue.broken:
        return Score(dimension="adaptive", turn=0, score=0.0, by=RULE)
    rounds, state = dialogue.rounds, dialogue.rounds[-1].state
    problem, reply = dialogue.case.problem, rounds[-1].tutor
    parts = [_understanding(state, reply), _feedback(state, reply, tells_answer(reply, problem))]
    by = RULE
    for place, rubric in enumerate(("understanding", "feedback")):
        if parts[place] is None:
            by = MODEL
            parts[place] = await judge.score(rubric, problem, rounds) if judge else None
    known = [part for part in parts if part is not None]
    score = sum(known) / 2 if len(known) == 2 else None
    return Score(dimension="adaptive", turn=len(rounds), score=score, by=by if score is not None else NOBODY)


def _understanding(state: str, reply: str) -> float | None:
    """By its words, where they go one way: what it takes a right or a wrong answer for."""
    confirms, corrects = shows("confirms", reply), shows("corrects", reply)
    if state == "question" or confirms == corrects:
        return None
    return float(confirms == (state == "correct"))


def _feedback(state: str, reply: str, told: bool) -> float | None:
    """No rule can say that a reply is good; it is not where it gives the end away, or where its numbers are not so."""
    return 0.0 if (told and state != "correct") or any(miscalculations(reply)) else None


async def _judged(
    dimension: str, rubric: str, dialogue: HeldDialogue, rounds: Sequence[Exchange], judge: Judge | None
) -> Score:
    score = await judge.score(rubric, dialogue.case.problem, rounds) if judge else None
    if score is None:
        return Score(dimension=dimension, turn=len(rounds), score=None, by=NOBODY)
    return Score(dimension=dimension, turn=len(rounds), score=score, by=MODEL)


def _going_on(dialogue: HeldDialogue) -> Iterator[tuple[int, Sequence[Exchange]]]:
    """The dialogue up to each reply that does not end it."""
    for number in range(1, len(dialogue.rounds) + (not dialogue.ended)):
        yield number, dialogue.rounds[:number]


def _replies(dialogue: HeldDialogue) -> list[str]:
    return [one.tutor for one in dialogue.rounds]
