"""How a training is going: a bar in a terminal, and gauges for Prometheus, both read from what it writes down."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from prometheus_client import CollectorRegistry, Gauge, start_http_server
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LOOK_SECONDS = 0.5


class View(Protocol):
    def update(self, step: dict[str, Any]) -> None: ...


class Silent:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def reading(self, conversations: int) -> None:
        pass

    def update(self, step: dict[str, Any]) -> None:
        pass


class Bar:
    """Conversations while they are read; then steps of all, with the loss, tokens a second and the time left."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(compact=True),
            console=console,
        )
        self._task = self._progress.add_task("conversations", total=None, figures="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def reading(self, conversations: int) -> None:
        self._progress.update(self._task, completed=conversations)

    def update(self, step: dict[str, Any]) -> None:
        held_out = f"  held out {step['validation']:.4f}" if step["validation"] is not None else ""
        figures = f"loss {step['loss']:.4f}{held_out}  {step['tokens'] / step['seconds']:,.0f} tokens/s"
        self._progress.update(
            self._task, description="steps", completed=step["step"], total=step["steps"], figures=figures
        )


class Exported:
    """Serves /metrics until it is closed."""

    def __init__(self, address: str, name: str) -> None:
        registry = CollectorRegistry()
        self._gauges = {
            key: Gauge(f"soliloquy_training_{key}", about, ["name"], registry=registry).labels(name)
            for key, about in {
                "step": "Steps done.",
                "steps": "Steps of the whole training.",
                "loss": "Loss of a learned token at the newest step.",
                "validation": "Loss of a held-out token at the newest validation.",
                "learning_rate": "At the newest step.",
                "gradient": "Norm of the newest step's gradient.",
                "tokens_per_second": "At the newest step.",
            }.items()
        }
        host, _, port = address.rpartition(":")
        self._server, self._thread = start_http_server(int(port), host, registry=registry)

    def update(self, step: dict[str, Any]) -> None:
        told = step | {"tokens_per_second": step["tokens"] / step["seconds"]}
        for key, gauge in self._gauges.items():
            if told[key] is not None:
                gauge.set(told[key])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def follow(metrics: Path, views: Sequence[View | None], ended: threading.Event) -> None:
    """Shows each step as it is written down, and once more at the end."""
    from training.journal import newest

    shown = None
    while True:
        last = ended.wait(LOOK_SECONDS)
        present = newest(metrics)
        if present and present != shown:
            shown = present
            for view in views:
                if view:
                    view.update(shown)
        if last:
            return
