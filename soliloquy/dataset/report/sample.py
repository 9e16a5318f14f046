"""Checks accepted conversations again and compares them in wording: all of a small dataset, some of a large one."""

from collections import Counter

import pyarrow as pa

from soliloquy.dataset.labelling import installed
from soliloquy.dataset.reading import conversation_in
from soliloquy.dataset.rows import messages
from soliloquy.recipes.check_report import Likeness
from soliloquy.v1.conversation_pb2 import Conversation

# Checking a conversation takes three times as long as writing its part of the report.
MOST_CHECKED = 1_000


class CheckedSample:
    """Finds what `soliloquy check` finds, in conversations that are evenly spaced."""

    def __init__(self, conversations: int = 0) -> None:
        self._every = max(1, -(-conversations // MOST_CHECKED))
        self._seen = 0
        self.checked = 0
        self.faults = 0
        # Conversations with a fault, by the rule that it breaks.
        self.rules: Counter[str] = Counter()
        self.likeness = Likeness()

    @property
    def is_partial(self) -> bool:
        return self._every > 1

    @property
    def alike(self) -> int:
        """The conversations whose wording nearly repeats an earlier one."""
        return len({pair.other for pair in self.likeness.alike})

    def add(self, batch: pa.RecordBatch) -> None:
        places = range(-self._seen % self._every, len(batch), self._every)
        self._seen += len(batch)
        for message in messages(batch.take(pa.array(places, pa.int64()))):
            conversation = conversation_in(message)
            said = [text for turn in conversation.turns for text in (turn.student.text, turn.tutor.text) if text]
            self.likeness.add(conversation.id, said or [conversation.problem.question])
            self._check(conversation)

    def _check(self, conversation: Conversation) -> None:
        # Imported conversations may have no recipe, and then have no rules.
        recipe = installed(conversation.run.recipe) if conversation.run.recipe else None
        if recipe is None:
            return
        checked = recipe.check(conversation)
        self.checked += 1
        self.faults += len(checked.faults)
        self.rules.update({fault.partition(":")[0] for fault in checked.faults})
