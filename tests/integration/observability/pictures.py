"""Implements `make pictures`: draws the dashboards of a real run into deploy/docs."""

import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from deploy.dashboards.board import CHART
from tests.integration.observability.watched import Watched, watched
from tests.kafka.cluster import KafkaCluster
from tests.observability.asking import Line
from tests.observability.drawing import draw
from tests.unit.deploy.queries import filled

DOCS = Path(__file__).parents[3] / "deploy" / "docs"
STEP_SECONDS = 2.0


@click.command(help=__doc__)
@click.option("--minutes", default=4.0, show_default=True)
@click.option("--conversations", default=400, show_default=True)
def main(minutes: float, conversations: int) -> None:
    with ExitStack() as opened:
        place, brokers = (Path(opened.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        kafka = opened.enter_context(KafkaCluster(brokers))
        growing = watched(place, kafka.bootstrap, conversations=conversations, steps=120, latency="300ms")
        run = opened.enter_context(growing)
        click.echo(f"a run is watched for {minutes:g} minutes", err=True)
        time.sleep(60 * minutes)
        pictures(run)


def pictures(run: Watched) -> None:
    end = time.time()

    def ask(query: str, now: bool) -> Sequence[Line]:
        asked = filled(query, rate="30s", window=f"{end - run.began:.0f}s")
        if now:
            return run.prometheus.now(asked)
        return run.prometheus.over(asked, start=run.began, end=end, step=STEP_SECONDS)

    for file in sorted(CHART.glob("*.json")):
        draw(json.loads(file.read_text("utf-8")), ask, (run.began, end), DOCS / f"{file.stem}.png")
        click.echo(f"deploy/docs/{file.stem}.png", err=True)


if __name__ == "__main__":
    main()
