"""Scores ScaffoldEval's six dimensions: by rule wherever a rule can decide, by a judge otherwise."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass

from soliloquy.recipes.scaffold.expected_answers import gives_quantity, miscalculations
from soliloquy.recipes.scaffold.plan_rules import CLOSENESS
from soliloquy.runtime.model import Model
from soliloquy_papers.scaffold.evaluate import PROTOCOL
from soliloquy_papers.scaffold.evaluate.dialogues import COOPERATIVE, MIXED, SEGMENT, DialogueRound, HeldDialogue
from soliloquy_papers.scaffold.evaluate.judging import judge_reply
from soliloquy_papers.scaffold.evaluate.signs import asks, is_about, repeats, shows, tells_answer

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
    """A score from 0 to 1 for the reply of a turn, None if nobody could judge it, and who judged it."""

    dimension: str
    turn: int
    score: float | None
    by: str


async def score_dialogue(dialogue: HeldDialogue, judge: Model | None) -> AsyncIterator[Score]:
    """Yields all scores of a dialogue or a segment."""
    if dialogue.case.kind == SEGMENT:
        yield await adaptive(dialogue, judge)
        return
    # A student who is only confused keeps a dialogue from its end.
    if dialogue.case.kind == COOPERATIVE or dialogue.ended:
        yield accuracy(dialogue)
    yield scaffolding(dialogue)
    for one in topic(dialogue):
        yield one
    for dimension, rubric, fails in _RUBRICS:
        async for one in _by_rubric(dimension, rubric, fails, dialogue, judge):
            yield one


def accuracy(dialogue: HeldDialogue) -> Score:
    """Scores the final answer: 1 if it is right, half if it is only close."""
    replies, answer = _replies(dialogue), dialogue.case.problem.answer
    last = replies[-1] if replies and dialogue.ended else ""
    near = {**CLOSENESS, "tolerance": _JUDGING["nearly"]}
    score = 1.0 if gives_quantity(last, answer, **CLOSENESS) else 0.5 if gives_quantity(last, answer, **near) else 0.0
    return Score(dimension="accuracy", turn=len(replies), score=score, by=RULE)


def scaffolding(dialogue: HeldDialogue) -> Score:
    """Scores whether there is a dialogue before the closing turns that does not tell the final answer."""
    on_the_way = _replies(dialogue)[: -_JUDGING["closing"]]
    told = any(tells_answer(reply, dialogue.case.problem) for reply in on_the_way)
    return Score(dimension="scaffolding", turn=len(on_the_way), score=float(bool(on_the_way) and not told), by=RULE)


def topic(dialogue: HeldDialogue) -> Iterator[Score]:
    """Scores each reply to an irrelevant message: whether it leads back in words, or just goes on."""
    for number, one in enumerate(dialogue.rounds, start=1):
        if one.state == "irrelevant" and dialogue.case.kind == MIXED:
            back = is_about(one.tutor, dialogue.case.problem)
            score = 1.0 if back and shows("redirects", one.tutor) else 0.5 if back else 0.0
            yield Score(dimension="topic", turn=number, score=score, by=RULE)


def _asks_nothing(rounds: Sequence[DialogueRound]) -> bool:
    return not asks(rounds[-1].tutor)


def _repeats_itself(rounds: Sequence[DialogueRound]) -> bool:
    *before, last = rounds
    return repeats(last.tutor, [one.tutor for one in before])


# The dimensions for a judge: the rubric of each, and the rule by which a reply has 0 without a judge.
_RUBRICS: Sequence[tuple[str, str, Callable[[Sequence[DialogueRound]], bool]]] = (
    ("question", "question_quality", _asks_nothing),
    ("guidance", "guidance_quality", _repeats_itself),
)


async def _by_rubric(
    dimension: str,
    rubric: str,
    fails: Callable[[Sequence[DialogueRound]], bool],
    dialogue: HeldDialogue,
    judge: Model | None,
) -> AsyncIterator[Score]:
    """Scores each reply that does not end the dialogue."""
    for number in range(1, len(dialogue.rounds) + (not dialogue.ended)):
        rounds = dialogue.rounds[:number]
        if fails(rounds):
            yield Score(dimension=dimension, turn=number, score=0.0, by=RULE)
            continue
        score = await judge_reply(judge, rubric, dialogue.case.problem, rounds) if judge else None
        yield Score(dimension=dimension, turn=number, score=score, by=NOBODY if score is None else MODEL)


async def adaptive(dialogue: HeldDialogue, judge: Model | None) -> Score:
    """Scores the reply to a segment: half for its understanding, half for its feedback."""
    if dialogue.broken:
        return Score(dimension="adaptive", turn=0, score=0.0, by=RULE)
    rounds, state = dialogue.rounds, dialogue.rounds[-1].state
    problem, reply = dialogue.case.problem, rounds[-1].tutor
    parts = [_understanding(state, reply), _feedback(state, reply, tells_answer(reply, problem))]
    by = RULE
    for place, rubric in enumerate(("understanding", "feedback")):
        if parts[place] is None:
            by = MODEL
            parts[place] = await judge_reply(judge, rubric, problem, rounds) if judge else None
    known = [part for part in parts if part is not None]
    score = sum(known) / 2 if len(known) == 2 else None
    return Score(dimension="adaptive", turn=len(rounds), score=score, by=by if score is not None else NOBODY)


def _understanding(state: str, reply: str) -> float | None:
    """Decides whether the reply treats the answer as right or wrong, if its words are unambiguous."""
    confirms, corrects = shows("confirms", reply), shows("corrects", reply)
    if state == "question" or confirms == corrects:
        return None
    return float(confirms == (state == "correct"))


def _feedback(state: str, reply: str, told: bool) -> float | None:
    """No rule can confirm good feedback, but it is bad if it tells the answer or miscalculates."""
    return 0.0 if (told and state != "correct") or any(miscalculations(reply)) else None


def _replies(dialogue: HeldDialogue) -> list[str]:
    return [one.tutor for one in dialogue.rounds]
