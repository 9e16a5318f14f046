"""Tells an experiment tracker the steps that a training logs in its folder."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from soliloquy.runtime.failure import Failure, one_line
from soliloquy_training import state
from soliloquy_training.folder import Job, TrainingFolder
from soliloquy_training.step_log import curve_values, steps

# By each tracker its run and the last step that it has, so that a training that resumes goes on with the run.
FILE = "tracked.json"
PAUSE_SECONDS = 0.5
_log = logging.getLogger(__name__)


class TrackedRun(Protocol):
    id: str

    def log(self, step: int, values: Mapping[str, float]) -> None: ...

    def end(self, *, succeeded: bool) -> None: ...


class MlflowRun:
    def __init__(self, job: Job, run: str) -> None:
        # It would print the run's address where --json prints the report.
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        import mlflow

        self._mlflow = mlflow
        self.id: str = mlflow.start_run(run_id=run or None, run_name=job.folder.name).info.run_id
        mlflow.log_params(job.settings.model_dump(mode="json"))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(values), step=step, run_id=self.id)

    def end(self, *, succeeded: bool) -> None:
        self._mlflow.end_run("FINISHED" if succeeded else "FAILED")


class WandbRun:
    def __init__(self, job: Job, run: str) -> None:
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "soliloquy"),
            name=job.folder.name,
            id=run or None,
            resume="allow",
            config=job.settings.model_dump(mode="json"),
            settings=wandb.Settings(silent=True),
        )
        self.id: str = self._run.id

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def end(self, *, succeeded: bool) -> None:
        self._run.finish(exit_code=0 if succeeded else 1)


TRACKERS: Mapping[str, Callable[[Job, str], TrackedRun]] = {"mlflow": MlflowRun, "wandb": WandbRun}


@contextmanager
def tracking(tracker: str, job: Job) -> Iterator[None]:
    """Begins a run, or goes on with that of the folder, and tells it the steps in the background."""
    known = state.read(job.folder / FILE)
    told = {"run": "", "step": 0} | known.get(tracker, {})
    try:
        run = TRACKERS[tracker](job, told["run"])
    except Exception as error:
        why = f"{tracker} begins no run ({one_line(error)})"
        raise Failure(f"{why}: check its settings, or leave out --track") from error
    ended, failing, succeeded = threading.Event(), False, False

    def tell() -> None:
        before = told["step"]
        try:
            for step in steps(TrainingFolder(job).metrics, after=before):
                run.log(step["step"], curve_values(step))
                told.update(run=run.id, step=step["step"])
        finally:
            if told["step"] > before:
                state.write_json(job.folder / FILE, known | {tracker: told})

    def attempt(act: Callable[[], None]) -> None:
        nonlocal failing
        try:
            act()
            failing = False
        except Exception as error:
            # The next attempt tells it the rest.
            if not failing:
                _log.warning("%s takes no steps (%s): the training goes on", tracker, one_line(error))
            failing = True

    def follow() -> None:
        while not ended.wait(PAUSE_SECONDS):
            attempt(tell)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
        succeeded = True
    finally:
        ended.set()
        thread.join()
        attempt(tell)
        attempt(lambda: run.end(succeeded=succeeded))
