"""Conversations that the scripted model plays in a temporary folder, to say something of those that are wanted."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from soliloquy.cli.progress import display
from soliloquy.dataset.storage import Storage
from soliloquy.problems.sources import ProblemSource
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.generation import generate_dataset
from soliloquy.runs.plan import Plan
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.model.spending import NO_BUDGET
from soliloquy.runtime.traces.opening import TraceSettings

if TYPE_CHECKING:
    from soliloquy.dataset.reading import Dataset


@contextmanager
def rehearsed(plan: Plan, source: ProblemSource) -> Iterator["Dataset"]:
    """Yields the plan's dataset as the scripted model makes it; raises Failure if it cannot play it."""
    # It loads Arrow.
    from soliloquy.dataset.reading import Dataset

    scripted = replace(plan, models=shipped_models(), budget=NO_BUDGET, model_cache=None, latency=0.0)
    with tempfile.TemporaryDirectory() as folder:
        run_folder = RunFolder(Storage(folder), scripted, None)
        generate_dataset(scripted, source, run_folder, None, TraceSettings(), display(0, quiet=True))
        yield Dataset(folder)
