"""Runs a training in Ray Train's workers: Ray starts, watches and restarts them; the loop is the same."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.ray_session import ray_session
from soliloquy_training.folder import WORKERS_LOG, Job, TrainingFolder

# Restarts of all workers when one is lost.
RESTARTS = 3
# Read by Ray when it starts; variables that are already set take precedence.
ENVIRONMENT = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_TRAIN_ENABLE_PRINT_PATCH": "0",
    # Detects a lost worker within this time.
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
}
_OBJECT_STORE_BYTES = 160 * 2**20


def run_on_ray(job: Job, workers: int) -> None:
    """Trains on the cluster of RAY_ADDRESS, or starts one; raises Failure with the failure of the workers."""
    job = _of_any_folder(job)
    address = os.environ.get("RAY_ADDRESS", "local")
    own = address == "local"
    # This machine gets no preemption notice, and the watcher takes seconds to start.
    watcher = {"RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0"} if own else {}
    for name, value in {**ENVIRONMENT, **watcher}.items():
        os.environ.setdefault(name, value)
    with ray_session(None if own else address, cpus=workers + 1, store_bytes=_OBJECT_STORE_BYTES):
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer

        # The driver may lack the GPU that its workers have.
        gpus = "GPU" in ray.cluster_resources()
        trainer = TorchTrainer(
            _work,
            train_loop_config={"job": job},
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpus),
            run_config=RunConfig(
                # Only Ray's own records; checkpoints and results go to the training's folder.
                name=f"{job.folder.name}-{os.getpid()}",
                storage_path=str(job.folder / "ray"),
                failure_config=FailureConfig(max_failures=RESTARTS),
            ),
        )
        folder = TrainingFolder(job)
        try:
            trainer.fit()
        except Exception as error:  # Ray wraps the error of the workers
            log = folder.path / WORKERS_LOG
            log.write_text(f"{error}\n", "utf-8")
            last = str(error).strip().splitlines()[-1]
            gave_up = Failure(f"Ray gave up the training: {last}; {log} has the whole error")
            raise folder.failure() or gave_up from error
        if failure := folder.failure():
            raise failure


def _of_any_folder(job: Job) -> Job:
    """Makes the job's paths absolute: workers run in folders of their own."""
    data = job.data if "://" in job.data else str(Path(job.data).resolve())
    adapter = job.adapter and job.adapter.resolve()
    return replace(job, base=job.base.resolve(), data=data, folder=job.folder.resolve(), adapter=adapter)


def _work(config: dict[str, Any]) -> None:
    """Runs in each worker; a failure that another worker has noted ends a restart at once."""
    from soliloquy_training.train import train

    job: Job = config["job"]
    if not TrainingFolder(job).failure():
        train(job)
