"""The records of a training's steps, as JSON lines and as curves for TensorBoard."""

import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.step_log import Step, StepLog, steps
from tests.models import needs_torch


def step_of(number: int, loss: float, validation: float | None = None) -> Step:
    return Step(
        step=number,
        steps=6,
        loss=loss,
        learning_rate=1e-4,
        gradient=1.0,
        tokens=100,
        learned_tokens=50,
        seconds=2.0,
        validation=validation,
    )


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Lets no file of this process grow beyond that, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def add_many(add: Callable[[int], None]) -> None:
    for number in range(1, 20):
        add(number)


@needs_torch
def test_curves_show_each_step_once_also_where_a_training_resumes(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for after, losses in ((0, (4.0, 3.0, 9.0)), (2, (2.0, 1.0))):
        log = StepLog(tmp_path / "metrics.jsonl", tmp_path / "curves")
        log.begin(after)
        for number, loss in enumerate(losses, after + 1):
            log.add(step_of(number, loss, validation=0.5 if number == 2 else None))
        log.close()
    curves = EventAccumulator(str(tmp_path / "curves"))
    curves.Reload()
    assert [(each.step, each.value) for each in curves.Scalars("loss")] == [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]
    assert [(each.step, each.value) for each in curves.Scalars("validation")] == [(2, 0.5)]
    assert {each.value for each in curves.Scalars("tokens_per_second")} == {50.0}
    assert [each["step"] for each in steps(tmp_path / "metrics.jsonl")] == [1, 2, 3, 4]


@needs_torch
def test_a_full_disk_ends_the_step_that_it_refuses_with_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from soliloquy_training.curves import Curves

    threads = threading.active_count()
    log = StepLog(tmp_path / "metrics.jsonl", tmp_path / "curves")
    log.begin(0)
    # The lines are longer than the curves' records.
    with largest_file(1_000), pytest.raises(Failure, match=r"cannot write .*/metrics.jsonl \(File too large\): free"):
        add_many(lambda number: log.add(step_of(number, 1.0)))
    log.close()
    with (
        closing(Curves(tmp_path / "more", after=0)) as curves,
        largest_file(300),
        pytest.raises(OSError, match="too large"),
    ):
        add_many(lambda number: curves.add(number, {"loss": 1.0}))
    assert threading.active_count() == threads
    assert capfd.readouterr().err == ""
