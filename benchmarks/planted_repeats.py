"""Makes datasets of conversations about nothing, some of which repeat others or hold texts of a benchmark."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, count
from pathlib import Path

from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.packages import DEFAULT
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn
from soliloquy.v1.dataset_pb2 import Collected

_SHARE = 0.01
# In a planted near-duplicate every n-th word is another; in a planted text of the benchmark.
_REWORDED, _REWORDED_TEXT = 50, 20
_TEXTS = 2_000
# Later conversations repeat one of so many before them.
_REMEMBERED = 5_000


@dataclass(kw_only=True, slots=True)
class Planted:
    duplicates: set[str] = field(default_factory=set)
    contaminations: set[str] = field(default_factory=set)


class _Speech:
    """Words as often as in English, stock phrases, and numbers."""

    def __init__(self) -> None:
        self.draws = random.Random(5)
        letters = "bcdfghjklmnprstvw"
        self._words = [
            "".join(self.draws.choice(letters) + self.draws.choice("aeiou") for _ in range(self.draws.randint(1, 4)))
            for _ in range(20_000)
        ]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._spoken = count(1)
        self._stock = [" ".join(self.words(self.draws.randint(4, 12))) for _ in range(500)]

    def words(self, number: int) -> list[str]:
        return self.draws.choices(self._words, cum_weights=self._weights, k=number)

    def text(self, number: int) -> str:
        words = self.words(number)
        for place in range(3, number, 8):
            words[place] = str(self.draws.randint(2, 99_999))
        return " ".join(words)

    def message(self) -> str:
        return self.draws.choice(self._stock) if self.draws.random() < 0.3 else self.text(self.draws.randint(5, 40))

    def reworded(self, text: str, every: int) -> str:
        """Replaces every n-th word of all that it is given; numbers stay."""
        words = text.split()
        for place, word in enumerate(words):
            if not word[0].isdigit() and next(self._spoken) % every == 0:
                [words[place]] = self.words(1)
        return " ".join(words)


def write_dataset(folder: Path, benchmark: Path, number: int) -> Planted:
    """Writes a dataset and a benchmark; one conversation in a hundred repeats another, one holds a benchmark's text."""
    speech, planted = _Speech(), Planted()
    texts = [speech.text(speech.draws.randint(25, 60)) for _ in range(_TEXTS)]
    benchmark.write_text("".join(json.dumps({"question": text, "answer": "7"}) + "\n" for text in texts), "utf-8")
    folder.mkdir(parents=True)
    place, tally = Storage(folder), Tally()
    writer = DatasetWriter(place, folder / ".scratch", (), ShardLimits(), tally)
    for conversation in _conversations(speech, texts, number, planted):
        writer.add(Collected(conversation=conversation.SerializeToString(), recipe=DEFAULT))
    shards = writer.close()
    write_manifest(place, {"run": {"recipe": DEFAULT}, "counts": tally.as_json(), "cost": {}, "arrival": {}}, shards)
    return planted


def _conversations(speech: _Speech, texts: list[str], number: int, planted: Planted) -> Iterator[Conversation]:
    draws, earlier = speech.draws, list[Conversation]()
    for ordinal in range(number):
        kind = draws.random()
        if kind < _SHARE and earlier:
            made = Conversation()
            made.CopyFrom(draws.choice(earlier))
            for turn in made.turns if draws.random() < 0.5 else ():
                turn.student.text = speech.reworded(turn.student.text, _REWORDED)
                turn.tutor.text = speech.reworded(turn.tutor.text, _REWORDED)
        else:
            made = _conversation(speech)
        made.id, made.ordinal = f"{ordinal:024x}", ordinal
        made.problem.id = f"p{ordinal}"
        if kind < _SHARE and earlier:
            planted.duplicates.add(made.id)
        elif kind < 2 * _SHARE:
            made.turns[0].student.text += " " + _written_otherwise(speech, draws.choice(texts))
            planted.contaminations.add(made.id)
        elif kind < 3 * _SHARE:
            # Half of an earlier one, or a text of the benchmark with other numbers: neither is to be found.
            if earlier and draws.random() < 0.5:
                half = draws.choice(earlier).turns
                for turn, other in zip(made.turns, half[: len(half) // 2], strict=False):
                    turn.CopyFrom(other)
            else:
                made.turns[0].student.text += " " + _with_other_numbers(speech, draws.choice(texts))
        elif len(earlier) < _REMEMBERED:
            earlier.append(made)
        else:
            earlier[draws.randrange(_REMEMBERED)] = made
        yield made


def _conversation(speech: _Speech) -> Conversation:
    made = Conversation(ending=Ending.ENDING_SOLVED, persona="careful")
    made.run.recipe = DEFAULT
    made.problem.topic = speech.draws.choice(("heat", "optics", "waves"))
    made.problem.question, made.problem.solution = speech.text(35), speech.text(25)
    for number in range(1, speech.draws.randint(4, 13)):
        turn: Turn = made.turns.add(number=number)
        turn.student.text, turn.tutor.text = speech.message(), speech.message()
        turn.calls.add(role="composer", prompt="soliloquy/replying", model="m", raw=[turn.tutor.text])
    return made


def _written_otherwise(speech: _Speech, text: str) -> str:
    words = speech.reworded(text, _REWORDED_TEXT).split()
    return " ".join(f"{int(word):,}.0" if word.isdecimal() else word.capitalize() for word in words) + "?"


def _with_other_numbers(speech: _Speech, text: str) -> str:
    return " ".join(str(speech.draws.randint(2, 99_999)) if word.isdecimal() else word for word in text.split())
