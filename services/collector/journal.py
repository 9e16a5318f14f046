"""An append-only file of collected conversations, from which a run resumes."""

import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Self

from soliloquy.dataset.enrichments import CountedEnrichments
from soliloquy.dataset.frames import Frames
from soliloquy.dataset.ids import IdSet
from soliloquy.recipes.calls import calls_of_turns
from soliloquy.runtime.model.costs import account, add_use, use_of
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.dataset_pb2 import Collected, Origin

# The numbers kept in memory for each conversation: ordinal, attempt, whether it is accepted, the offset of its frame.
_COLUMNS = 4


class Journal:
    """Holds a frame for each conversation; the first of an id wins. A conversation counts once it is on the disk."""

    def __init__(self, path: Path) -> None:
        self._ids = IdSet()
        self._index = array("q")
        self._rejected_at: Counter[int] = Counter()
        # The ordinals of problems that are unfit for the recipe.
        self._unfit: set[int] = set()
        self.accepted = self.rejected = self.duplicates = 0
        # How often each reason rejected a conversation, and the tokens of each account.
        self.reasons: Counter[str] = Counter()
        self.tokens: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._enrichments = CountedEnrichments()
        self._frames = Frames(path)
        for start, payload in self._frames.recover():
            collected = Collected.FromString(payload)
            self._enter(collected, Conversation.FromString(collected.conversation), start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._frames.close()

    @property
    def unfit(self) -> int:
        """The number of problems that are unfit for the recipe."""
        return len(self._unfit)

    def given_up(self, max_attempts: int) -> int:
        """Returns the number of problems whose attempts were all rejected, or that are unfit."""
        return self._rejected_at[max_attempts - 1] + self.unfit

    def settled_ordinals(self, max_attempts: int) -> set[int]:
        """Returns the problems that have an accepted conversation, have no attempt left or are unfit."""
        ordinals, attempts, accepted = (self._index[column::_COLUMNS] for column in range(3))
        return self._unfit | {
            ordinal
            for ordinal, attempt, kept in zip(ordinals, attempts, accepted, strict=True)
            if kept or attempt + 1 >= max_attempts
        }

    async def add(
        self, conversation: Conversation, faults: list[str], origin: Origin | None = None, lineage: str = ""
    ) -> None:
        if conversation.id in self._ids:
            self.duplicates += 1
            return
        collected = collected_now(conversation, faults, origin, lineage)
        start = await self._frames.append(collected.SerializeToString())
        self._enter(collected, conversation, start)

    def wanted(self, conversations: int) -> Iterator[Collected]:
        """Yields conversations by problem and attempt until so many are accepted; leaves out the rest."""
        settled = -1
        for ordinal, _, accepted, start in self._in_order():
            if ordinal == settled:
                continue
            if conversations == 0:
                return
            yield Collected.FromString(self._frames.message(start))
            if accepted:
                settled = ordinal
                conversations -= 1

    def _in_order(self) -> Iterator[list[int]]:
        # Imported here because it slows down a start.
        import numpy as np

        # A copy: an array cannot grow while numpy holds a view of it.
        rows = np.array(self._index, dtype=np.int64).reshape(-1, _COLUMNS)
        for row in np.lexsort((rows[:, 1], rows[:, 0])):
            yield rows[row].tolist()

    def _enter(self, collected: Collected, conversation: Conversation, start: int) -> None:
        if not self._ids.add(collected.id):
            self.duplicates += 1
            return
        accepted = not collected.reasons
        self._index.extend((collected.ordinal, collected.attempt, accepted, start))
        if conversation.ending == Ending.ENDING_UNFIT:
            self._unfit.add(collected.ordinal)
        elif not accepted:
            self._rejected_at[collected.attempt] += 1
        self.accepted += accepted
        self.rejected += not accepted
        self.reasons.update({reason.partition(":")[0] for reason in collected.reasons})
        problem = conversation.problem
        is_first = problem.HasField("enrichment") and self._enrichments.is_first(problem.id)
        for call in chain(problem.enrichment.calls if is_first else (), calls_of_turns(conversation)):
            add_use(self.tokens[account(call.role, call.endpoint)], use_of(call))


def collected_now(conversation: Conversation, faults: list[str], origin: Origin | None, lineage: str = "") -> Collected:
    """Returns the journal's record of a conversation that arrives at this moment."""
    collected = Collected(
        conversation=conversation.SerializeToString(deterministic=True),
        reasons=faults,
        id=conversation.id,
        ordinal=conversation.ordinal,
        attempt=conversation.attempt,
        origin=origin,
        recipe=conversation.run.recipe,
    )
    collected.timings.collected_at = time.time()
    collected.timings.services.extend(lineage.split())
    return collected
