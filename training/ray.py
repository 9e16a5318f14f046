"""The same training in Ray Train's workers: Ray starts them, watches them and starts them again; the loop is ours."""

import os
from pathlib import Path
from typing import Any

from training.folder import Job, TrainingFolder
from training.settings import CannotTrain

# Starts besides the first of all workers, when one is lost.
RESTARTS = 3
# What Ray reads when it starts; what the environment says already goes before it.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_COLOR_PREFIX": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_TRAIN_ENABLE_PRINT_PATCH": "0",
    # A worker that is lost is seen so soon.
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
    # Workers see this checkout as the driver does.
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
}
_OBJECT_STORE_BYTES = 160 * 2**20


def run_on_ray(job: Job, workers: int, address: str = "local") -> None:
    """Raises CannotTrain with what the workers say; `address` is a cluster's, or "local" for one of its own."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import logging

    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    own = address == "local"
    if own:
        # Nobody takes this machine away with a warning, and the process that would hear it takes seconds to start.
        os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
    local = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES, "num_cpus": workers + 1}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **(local if own else {}))
    except Exception as error:  # what Ray raises has no type of its own
        raise CannotTrain(f"Ray does not start: {_in_a_line(error)}") from error
    try:
        # This process may have no GPU where its workers have.
        gpus = "GPU" in ray.cluster_resources()
        trainer = TorchTrainer(
            _work,
            train_loop_config={"job": job},
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpus),
            run_config=RunConfig(
                # Ray's own notes; checkpoints, and what is finished, are the training's folder's matter.
                name=f"{job.folder.name}-{os.getpid()}",
                storage_path=str((job.folder / "ray").resolve()),
                failure_config=FailureConfig(max_failures=RESTARTS),
            ),
        )
        folder = TrainingFolder(job)
        try:
            trainer.fit()
        except Exception as error:  # what Ray raises wraps what the workers raised
            gave_up = CannotTrain(f"Ray gave the training up: {_in_a_line(error)}")
            raise folder.failure() or gave_up from error
        if failure := folder.failure():
            raise failure
    finally:
        ray.shutdown()


def _work(config: dict[str, Any]) -> None:
    """In each worker. What cannot be done is not tried again: it is noted, and the next start finds it."""
    from training.train import train

    job: Job = config["job"]
    if not TrainingFolder(job).failure():
        train(job)


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
