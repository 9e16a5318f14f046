"""Tokenizes a dataset's conversations once, to files that a training maps into memory."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from soliloquy.recipes.recipe import Lesson, ReplyContext, TrainingMessage, find
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.seeds import seed
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_training.encoder_decoder import PairBatch, PairTemplate, pair_batch
from soliloquy_training.packing import Row, row
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.source import conversations
from soliloquy_training.state import complete
from soliloquy_training.templating import MarkedTokens, Template

Sample = Sequence[TrainingMessage]
ALL_EXTRAS = ReplyContext()


def samples(
    conversation: Conversation, layout: str, given: ReplyContext = ALL_EXTRAS, manual: str = "detailed"
) -> list[Sample]:
    """`given` only applies to replies, `manual` to dialogues. Raises Refused for a conversation without such samples.

    The prompts of states are worded as when the model is served, or as in a run that changed them;
    replies follow from the dialogue before them.
    """
    recipe = find(conversation.run.recipe)
    if layout == "dialogue":
        return [recipe.dialogue(_outlined(conversation) if manual == "outline" else conversation)]
    if layout == "states":
        return [_sample(lesson) for lesson in recipe.lessons(conversation)]
    if recipe.replies is None:
        raise Refused(f"the recipe {conversation.run.recipe} has no layout: replies: use layout: states")
    return [_sample(lesson) for lesson in recipe.replies(conversation, given)]


def _outlined(conversation: Conversation) -> Conversation:
    """Puts the outline of the solution in place of the detailed one; a problem without an outline stays as it is."""
    if not (outline := conversation.problem.enrichment.outline):
        return conversation
    outlined = deepcopy(conversation)
    outlined.problem.enrichment.detailed_solution = outline
    return outlined


def _sample(lesson: Lesson) -> Sample:
    prompt = [TrainingMessage(role, text, lesson.turn) for role, text in lesson.prompt.said]
    return [*prompt, TrainingMessage("assistant", lesson.answer, lesson.turn, learned=True)]


Length = Callable[[Sample], int]

_AT_ONCE = 64
_SUMMARY = "summary.json"
# The share of a part's free space, after its first own turn, that earlier turns may take.
_CONTEXT_SHARE = 0.5


class Prepared:
    """The samples of a training: their tokens, and which of those are learned."""

    def __init__(self, folder: Path) -> None:
        self.summary: dict[str, Any] = json.loads((folder / _SUMMARY).read_bytes())
        # Whether each sample is a text and its answer, for an encoder-decoder model.
        self.pairs: bool = self.summary.get("pairs", False)
        self._ids = np.memmap(folder / "ids.bin", dtype=np.int32, mode="r")
        self._learned = np.memmap(folder / "learned.bin", dtype=np.bool_, mode="r")
        with np.load(folder / "samples.npz") as arrays:
            self._starts, self._counts, held_out = arrays["starts"], arrays["learned"], arrays["held_out"]
        self.training = np.flatnonzero(~held_out)
        self.held_out = np.flatnonzero(held_out)

    def lengths(self) -> list[int]:
        return [int(length) for length in np.diff(self._starts)]

    def ids(self, number: int) -> np.ndarray:
        return self._ids[slice(*self._starts[number : number + 2])]

    def learned(self) -> list[int]:
        """Returns the number of learned tokens of each sample."""
        return [int(count) for count in self._counts]

    def row(self, numbers: Sequence[int]) -> Row:
        """Packs these samples into one row."""
        return row(list(self._samples(numbers)))

    def pair_batch(self, numbers: Sequence[int]) -> PairBatch:
        """Pads these samples to a batch for an encoder-decoder model."""
        return pair_batch([(ids[~learned].tolist(), ids[learned].tolist()) for ids, learned in self._samples(numbers)])

    def _samples(self, numbers: Sequence[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        spans = (slice(*self._starts[number : number + 2]) for number in numbers)
        return ((self._ids[span], self._learned[span]) for span in spans)


def prepare(
    folder: Path, data: str, settings: TrainingSettings, template: Template | PairTemplate, tell: Callable[[int], None]
) -> Prepared:
    """Reports the number of conversations read so far; reuses files that exist already."""
    if not (folder / _SUMMARY).exists():
        with complete(folder) as unfinished:
            unfinished.mkdir(exist_ok=True)
            _write(unfinished, data, settings, template, tell)
    return Prepared(folder)


def _write(
    folder: Path, data: str, settings: TrainingSettings, template: Template | PairTemplate, tell: Callable[[int], None]
) -> None:
    counts: Counter[str] = Counter()
    lengths: list[int] = []
    learned_of: list[int] = []
    # The conversation of each sample, and the random draw of each conversation that decides whether it is held out.
    owners: list[int] = []
    draws: list[int] = []
    too_long = 0
    with (folder / "ids.bin").open("wb") as ids, (folder / "learned.bin").open("wb") as learned:
        found = _chats(data, settings)
        while chats := list(islice(found, _AT_ONCE)):
            for (id, chat), tokens in zip(chats, template.tokens([chat for _, chat in chats]), strict=True):
                if not draws or draws[-1] != seed(settings.seed, "held out", id):
                    draws.append(seed(settings.seed, "held out", id))
                    tell(len(draws))
                try:
                    parts = _parts(chat, tokens, settings.sequence_length, template, counts)
                except TurnTooLong as long:
                    counts["too_long"] += 1
                    too_long = max(too_long, long.tokens)
                    continue
                for part in parts:
                    marks = _marks(part, settings)
                    ids.write(np.asarray(part.ids, dtype=np.int32).tobytes())
                    learned.write(marks.tobytes())
                    lengths.append(len(part.ids))
                    owners.append(len(draws) - 1)
                    learned_of.append(int(marks.sum()))
        for file in (ids, learned):
            file.flush()
            os.fsync(file.fileno())
    if not lengths:
        raise Failure(
            f"no turn fits into {settings.sequence_length} tokens (the longest has {too_long}): raise sequence_length"
        )
    held_out = choose_held_out(np.asarray(draws, dtype=np.uint64), settings.validation_share)[owners]
    np.savez(folder / "samples.npz", starts=np.cumsum([0, *lengths]), learned=learned_of, held_out=held_out)
    summary = {
        "pairs": template.pairs,
        "conversations": len(draws),
        "samples": len(lengths),
        "held_out_samples": int(held_out.sum()),
        "tokens": sum(lengths),
        "learned_tokens": sum(learned_of),
        "longest_sample": max(lengths),
        # Chats longer than a sequence, and the parts that they were split into between turns.
        "split": {"chats": counts["split"], "parts": counts["parts"]},
        # Turns are never split.
        "left_out": {"turn_too_long": counts["too_long"], "special_words": counts["special"]},
        "longest_left_out": too_long,
    }
    (folder / _SUMMARY).write_text(json.dumps(summary, indent=2), "utf-8")


def _marks(tokens: MarkedTokens, settings: TrainingSettings) -> np.ndarray:
    """Marks the learned tokens; the first one of a sample is never learned, because nothing precedes it."""
    if settings.learn == "everything":
        return np.arange(len(tokens.ids)) > 0
    return np.asarray(tokens.learned, dtype=np.bool_)


def _parts(
    chat: Sample, tokens: MarkedTokens | None, limit: int, template: Template | PairTemplate, counts: Counter[str]
) -> list[MarkedTokens]:
    if tokens is None:
        counts["special"] += 1
        return []
    if len(tokens.ids) <= limit:
        return [tokens]

    def tokenized(chats: Sequence[Sample]) -> list[MarkedTokens]:
        return [tokens for tokens in template.tokens(chats) if tokens]

    parts = tokenized(split(chat, limit, lambda part: len(tokenized([part])[0].ids)))
    counts["split"] += 1
    counts["parts"] += len(parts)
    return parts


def _chats(data: str, settings: TrainingSettings) -> Iterator[tuple[str, Sample]]:
    for conversation in conversations(data):
        try:
            found = samples(conversation, settings.layout, settings.given, settings.manual)
        except Refused as error:
            raise Failure(f"conversation {conversation.id}: {error}") from error
        yield from ((conversation.id, sample) for sample in found)


def choose_held_out(draws: np.ndarray, share: float) -> np.ndarray:
    """Chooses conversations to hold out: at least one if the share is above 0, but never all."""
    count = min(max(round(share * len(draws)), int(share > 0)), len(draws) - 1)
    chosen = np.zeros(len(draws), dtype=np.bool_)
    chosen[np.argsort(draws, kind="stable")[:count]] = True
    return chosen


class TurnTooLong(Exception):
    """One turn, together with the messages before the first turn, is longer than a sequence."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


def split(chat: Sample, limit: int, length: Length) -> list[list[TrainingMessage]]:
    """Returns parts of at most `limit` tokens; turns that a part repeats are not learned again.

    A chat of one prompt and its answer is one turn, and cannot be split.
    """
    turns = [list(messages) for _, messages in groupby(chat, key=lambda message: message.turn)]
    # The messages before the first turn, which may be none; of a plan, they are all there is to learn.
    head = turns.pop(0) if turns[0][0].turn == 0 and len(turns) > 1 else []
    parts = []
    start = 0
    while start < len(turns):
        part = _with_context(head, turns, start, limit, length)
        end = start + 1
        while end < len(turns) and length([*part, *turns[end]]) <= limit:
            part += turns[end]
            end += 1
        parts.append(part)
        start = end
    return parts


def _with_context(
    head: list[TrainingMessage], turns: list[list[TrainingMessage]], start: int, limit: int, length: Length
) -> list[TrainingMessage]:
    """Returns the head, as many earlier turns as fit, and the turn itself."""
    part = [*head, *turns[start]]
    alone = length(part)
    if alone > limit:
        raise TurnTooLong(alone)
    room = alone + int((limit - alone) * _CONTEXT_SHARE)
    before: list[TrainingMessage] = []
    for turn in reversed(turns[:start]):
        before = [*(message._replace(learned=False) for message in turn), *before]
        longer = [*head, *before, *turns[start]]
        if length(longer) > room:
            break
        part = longer
    return part
