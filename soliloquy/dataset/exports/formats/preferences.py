"""Preferences for TRL: pairs.jsonl for its DPO trainer, labelled.jsonl for its KTO trainer."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from soliloquy.dataset.exports.files import open_rows
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, Row
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.calls import USABLE
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, RejectedTry, Turn
from soliloquy.v1.sandbox_pb2 import STATUS_OK

# The kind of each role's answers.
STATES = {"tutor": "decision", "codegen": "program", "composer": "reply", "student": "student"}
# The rule by which a program that failed is asked for again.
RUNS = "runs"


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
        standing = standing_calls(turn)
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
        chosen = next((call.raw[-1] for call in reversed(standing_calls(later)) if call.prompt == prompt.name), "")
        because = {place: one for one in turn.rejected for place in one.calls}
        for place, call in enumerate(turn.calls):
            if call.prompt == prompt.name and call.outcome in USABLE and call.raw[-1] != chosen:
                why, state = because.get(place, rewind), STATES.get(call.role, call.role)
                yield Pair(turn.number, state, prompt, chosen, call.raw[-1], why.rule, why.because, why.certain)


def standing_calls(turn: Turn) -> list[ModelCall]:
    """Returns the calls of a turn whose answers were not sent back."""
    taken = {place for one in turn.rejected for place in one.calls}
    return [call for place, call in enumerate(turn.calls) if place not in taken and call.outcome in USABLE]


class Answer(NamedTuple):
    """An answer of the tutor that stands, and the prompt that it answers."""

    turn: int
    state: str
    prompt: Prompt
    text: str


def tutor_answers(conversation: Conversation, number: int) -> Iterator[Answer]:
    """Yields the tutor's answers in a turn; none in a turn that was taken back."""
    if number > len(conversation.turns):
        return
    prompts = [prompt for turn, prompt in find(conversation.run.recipe).prompts(conversation) if turn == number]
    calls = [call for call in standing_calls(conversation.turns[number - 1]) if call.role in STATES]
    for prompt in prompts:
        if (call := next((one for one in calls if one.prompt == prompt.name), None)) is not None:
            calls.remove(call)
            if call.role != "student":
                yield Answer(number, STATES[call.role], prompt, call.raw[-1])


def first_difference(one: Iterable[Answer], other: Iterable[Answer]) -> tuple[Answer, Answer] | None:
    """Returns the first two answers that differ; None if their prompts do, or nothing does."""
    for first, second in zip(one, other, strict=False):
        if (first.prompt.name, [*first.prompt.said]) != (second.prompt.name, [*second.prompt.said]):
            return None
        if first.text != second.text:
            return first, second
    return None


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


PAIRS, LABELLED = "pairs", "labelled"
SUFFIX = ".jsonl"


def export(dataset: Dataset, place: Path, choice: ExportOptions, shares: Splits | None, rejected: bool) -> Counter[str]:
    """Counts the unfit answers of each part, with a pair or without."""
    parts = [f"{part}/" for part in shares.of] if shares else [""]
    written = Counter(dict.fromkeys((part.rstrip("/") or PAIRS for part in parts), 0))
    with ExitStack() as stack:
        files = {}
        for part in parts:
            (place / part).mkdir(parents=True)
            for kind in (PAIRS, LABELLED):
                files[part + kind] = stack.enter_context(open_rows(place / part / f"{kind}{SUFFIX}", SUFFIX))
        for conversation in dataset.conversations(rejected=rejected):
            about = conversation.problem.id or conversation.problem.question or conversation.id
            part = f"{shares.part(about)}/" if shares else ""
            for kind, row in rows(conversation, uncertain=choice.uncertain):
                files[part + kind](row)
                written[part.rstrip("/") or PAIRS] += kind == LABELLED and not row["label"]
    return written


def rows(conversation: Conversation, *, uncertain: bool = False) -> Iterator[tuple[str, Row]]:
    """Yields the rows of both files, each with the name of its file."""
    praised = set[tuple[int, str, str]]()
    for pair in pairs(conversation):
        if pair.certain or uncertain:
            yield from pair_rows(pair, conversation.id, praised)


def as_messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in prompt.said]


def pair_rows(pair: Pair, conversation: str, praised: set[tuple[int, str, str]]) -> Iterator[tuple[str, Row]]:
    """Yields the rows of both files; an answer that stands is praised once, however many were sent back before it."""
    prompt = as_messages(pair.prompt)
    chosen, rejected = ([{"role": "assistant", "content": text}] for text in (pair.chosen, pair.rejected))
    about = {"state": pair.state, "asked": pair.prompt.name, "conversation": conversation, "turn": pair.turn}
    why = {"rule": pair.rule, "evidence": pair.evidence, "certain": pair.certain}
    if pair.chosen:
        yield PAIRS, {"prompt": prompt, "chosen": chosen, "rejected": rejected, **about, **why}
        key = (pair.turn, pair.prompt.name, pair.chosen)
        if key not in praised:
            praised.add(key)
            yield LABELLED, {"prompt": prompt, "completion": chosen, "label": True, **about, "evidence": ""}
    yield LABELLED, {"prompt": prompt, "completion": rejected, "label": False, **about, "evidence": pair.evidence}


def read(folder: Path) -> Iterator[bytes]:
    raise Failure(f"{folder}: preferences hold single answers and no conversations: they cannot be imported")


FORMAT = FolderFormat(
    title="answers that rules sent back, with those in their place, for TRL's DPO and KTO trainers (a folder)",
    export=export,
    read=read,
    wants="an answer that a rule certainly found unfit and that was mended",
    has_evidence=True,
)
