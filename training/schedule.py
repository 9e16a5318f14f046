"""Determines samples and learning rate of a step, both from its number alone."""

import math

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import draw
from soliloquy_training.data import Prepared
from soliloquy_training.packing import computed, pack
from soliloquy_training.settings import TrainingSettings

Sequences = list[list[int]]


class Schedule:
    """The packed sequences of every step; each epoch has all of them in its own order."""

    def __init__(self, prepared: Prepared, settings: TrainingSettings) -> None:
        self._prepared = prepared
        self._settings = settings
        self._packed, self.held_out = (
            # Two samples cannot share a sequence of a model that reads and writes with two halves.
            [[number] for number in numbers]
            if prepared.pairs
            else pack(numbers, prepared.ids, settings.sequence_length, draw(settings.seed, "pack", what))
            for numbers, what in ((prepared.training.tolist(), "training"), (prepared.held_out.tolist(), "held out"))
        )
        self._epoch = -1
        self._order: list[int] = []
        self.steps_an_epoch = math.ceil(len(self._packed) / settings.batch)
        self.steps = min(self.steps_an_epoch * settings.epochs, settings.max_steps or 2**62)
        self.sequences = len(self._packed)

    def computed(self) -> int:
        """Returns the tokens that an epoch computes, with what samples share once."""
        return sum(computed([self._prepared.ids(number) for number in one]) for one in self._packed)

    def sequences_of(self, step: int) -> Sequences:
        """Returns the sequences of a step; steps count from 1."""
        epoch, place = divmod(step - 1, self.steps_an_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, list(range(self.sequences))
            draw(self._settings.seed, "order", epoch).shuffle(self._order)
        start = place * self._settings.batch
        return [self._packed[number] for number in self._order[start : start + self._settings.batch]]


def learning_rate(settings: TrainingSettings, step: int, steps: int) -> float:
    """Rises over the warm-up, then falls along a cosine or a line."""
    warmup = math.ceil(steps * settings.warmup_share)
    if step <= warmup:
        return settings.learning_rate * step / warmup
    done = (step - 1 - warmup) / (steps - warmup)
    left = 1 - done if settings.decay == "linear" else (1 + math.cos(math.pi * done)) / 2
    return settings.learning_rate * (settings.final_share + (1 - settings.final_share) * left)


def worker_rows(sequences: Sequences, rank: int, size: int, at_once: int) -> list[tuple[list[int], bool]]:
    """Returns the rows of a worker, and whether each counts.

    All workers compute equally many rows, because they exchange gradients after each: a worker with none left
    computes one that does not count.
    """
    rounds = math.ceil(len(sequences) / (size * at_once))
    mine = sequences[rank::size]
    rows = [
        ([number for one in mine[start : start + at_once] for number in one], True)
        for start in range(0, len(mine), at_once)
    ]
    return rows + [(sequences[0], False)] * (rounds - len(rows))


def check_batch(settings: TrainingSettings, size: int) -> None:
    if settings.batch % (size * settings.micro_batch):
        raise Failure(
            f"batch is {settings.batch}, which {size} workers with micro_batch {settings.micro_batch} cannot share: "
            f"use a multiple of {size * settings.micro_batch}"
        )
