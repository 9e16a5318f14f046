"""Trains one model with several workers, under torchrun and on Ray; a killed training is restarted."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.training.processes import below, command, losses, until_step

# The names of training processes under torch's launcher and under Ray.
LAUNCHED = {"torchrun": ((), (b"soliloquy_training.train",)), "ray": (("--ray",), (b"RayTrainWorker",))}


@pytest.fixture(scope="module")
def alone(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, float | None]]:
    """Returns the losses of one worker."""
    from soliloquy_training.train import train

    job = _shared(base, data, tmp_path_factory.mktemp("alone"))
    train(job)
    return losses(job.folder)


def _shared(base: Path, data: Path, folder: Path) -> Any:
    from soliloquy_training.folder import Job
    from tests.integration.training.conftest import SETTINGS

    # Each worker draws its own dropout.
    lora = SETTINGS.lora.model_copy(update={"dropout": 0.0})
    settings = SETTINGS.model_copy(update={"batch": 2, "max_steps": 4, "lora": lora})
    # Workers of Ray run in folders of their own, and find the data all the same.
    return Job(settings=settings, base=base, data=os.path.relpath(data), folder=folder / "shared")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("launcher", LAUNCHED)
def test_two_workers_learn_what_one_does_though_one_of_them_is_killed(
    launcher: str, base: Path, data: Path, tmp_path: Path, alone: list[tuple[float, float | None]]
) -> None:
    job = _shared(base, data, tmp_path)
    options, called = LAUNCHED[launcher]
    with subprocess.Popen(command(job, "--workers", "2", *options)) as process:
        until_step(job.folder, 3, process)
        # The most recently started process.
        os.kill(below(process.pid, *called)[-1], signal.SIGKILL)
        assert process.wait() == 0
    for (loss, held_out), (expected, expected_held_out) in zip(losses(job.folder), alone, strict=True):
        assert loss == pytest.approx(expected, abs=1e-3)
        assert held_out == pytest.approx(expected_held_out, abs=1e-3)
