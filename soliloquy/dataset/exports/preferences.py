"""Pairs the answers of a conversation that were sent back or taken back with those that stand in their place."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome, RejectedTry, Turn
from soliloquy.v1.sandbox_pb2 import STATUS_OK

# The kind of each role's answers.
STATES = {"tutor": "decision", "codegen": "program", "composer": "reply", "student": "student"}
# The rule by which a program that failed is asked for again.
RUNS = "runs"
_USABLE = (
    ParseOutcome.PARSE_OUTCOME_STRICT,
    ParseOutcome.PARSE_OUTCOME_REPAIRED,
    ParseOutcome.PARSE_OUTCOME_REASKED,
)


class Pair(NamedTuple):
    """Two answers to one prompt, and why the second was sent back; the first is empty where nothing answers it."""

    turn: int
    state: str
    prompt: Prompt
    chosen: str
    rejected: str
    rule: str
    evidence: str
    certain: bool


def pairs(conversation: Conversation) -> Iterator[Pair]:
    asked = find(conversation.run.recipe).prompts(conversation)
    for turn in conversation.turns:
        prompts = [prompt for number, prompt in asked if number == turn.number]
        standing = _standing(turn)
        for one in turn.rejected:
            if pair := _mended(turn, one, prompts, standing):
                yield pair
        yield from _programs(turn, prompts, standing)
    yield from _taken_back(conversation, asked)


def _taken_back(conversation: Conversation, asked: Sequence[tuple[int, Prompt]]) -> Iterator[Pair]:
    """Yields the answers for which turns were taken back; one to the prompt of a turn that stands has its answer."""
    was = Conversation()
    was.CopyFrom(conversation)
    for rewind in reversed(conversation.rewinds):
        del was.turns[rewind.turns[0].number - 1 :]
        was.turns.extend(rewind.turns)
        turn = rewind.turns[-1]
        names = [one.prompt for one in turn.rejected if one.rule == rewind.rule]
        led = [prompt for number, prompt in find(was.run.recipe).prompts(was) if number == turn.number]
        prompt = next((one for one in led if one.name in names[-1:]), None)
        if prompt is None:
            # Only the whole conversation was at fault.
            continue
        later = conversation.turns[turn.number - 1] if (turn.number, prompt) in asked else Turn()
        chosen = next((call.raw[-1] for call in reversed(_standing(later)) if call.prompt == prompt.name), "")
        because = {place: one for one in turn.rejected for place in one.calls}
        for place, call in enumerate(turn.calls):
            if call.prompt == prompt.name and call.outcome in _USABLE and call.raw[-1] != chosen:
                why, state = because.get(place, rewind), STATES.get(call.role, call.role)
                yield Pair(turn.number, state, prompt, chosen, call.raw[-1], why.rule, why.because, why.certain)


def _standing(turn: Turn) -> list[ModelCall]:
    taken = {place for one in turn.rejected for place in one.calls}
    return [call for place, call in enumerate(turn.calls) if place not in taken and call.outcome in _USABLE]


def _mended(turn: Turn, one: RejectedTry, prompts: Sequence[Prompt], standing: Sequence[ModelCall]) -> Pair | None:
    """Returns None if nothing stands in the place of an answer, or the same."""
    # Each program of a turn has a prompt of its own.
    at = one.programs if one.role == "codegen" else 0
    same = [prompt for prompt in prompts if prompt.name == one.prompt]
    answers = [call.raw[-1] for call in standing if call.prompt == one.prompt]
    refused = [turn.calls[place].raw[-1] for place in one.calls if turn.calls[place].prompt == one.prompt]
    if not refused or max(at, 0) >= min(len(same), len(answers)):
        return None
    chosen = answers[at] if one.role == "codegen" else answers[-1]
    if chosen == refused[-1]:
        return None
    state = STATES.get(one.role, one.role)
    return Pair(turn.number, state, same[at], chosen, refused[-1], one.rule, one.because, one.certain)


def _programs(turn: Turn, prompts: Sequence[Prompt], standing: Sequence[ModelCall]) -> Iterator[Pair]:
    """Yields each program that failed with the one that ran in the end."""
    attempts = turn.calculation.attempts
    answers = [call for call in standing if call.role == "codegen"]
    if not attempts or attempts[-1].execution.status != STATUS_OK or len(answers) != len(attempts):
        return
    asked = [prompt for prompt in prompts if prompt.name == answers[-1].prompt]
    for prompt, failed, answer in zip(asked, attempts[:-1], answers, strict=False):
        error, chosen = failed.execution.error, answers[-1].raw[-1]
        yield Pair(turn.number, "program", prompt, chosen, answer.raw[-1], RUNS, error, certain=True)
