"""Measures how soon after a kill -9 the events of one service, or of all, are consumed again."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.kafka.installation import Installation, until
from tests.chaos.kafka.run import Run
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started

# More conversations than finish while services are killed.
CONVERSATIONS = 5000
IN_FLIGHT = 64
LATENCY = "100ms"
# Longer than the session timeout.
MARGIN_SECONDS = 5.0


@pytest.mark.timeout(1200)
def test_what_was_killed_consumes_again_within_a_session_and_five_seconds(tmp_path: Path) -> None:
    with (
        started(KafkaCluster(tmp_path)) as cluster,
        Installation(tmp_path, cluster.bootstrap, "--latency", LATENCY) as installation,
        # Without enrichment the planner has nothing to consume.
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT, enrich=True) as run,
    ):
        allowed = installation.settings.session_seconds + MARGIN_SECONDS
        run.reach(IN_FLIGHT)

        def consumed(post: str) -> float:
            return installation.metric(post, "soliloquy_events_succeeded_total")

        def recovery(post: str) -> float:
            killed = installation.kill(post)
            return until(
                lambda: installation.pids().get(post, killed) != killed and consumed(post) > 0,
                f"{post} does not consume again",
                allowed,
            )

        services = {}
        for post in installation.posts:
            services[post] = recovery(post)
            installation.wait_until_ready()
        cluster.kill(1)
        cluster.start_node(1)
        began = time.monotonic()
        before = {post: consumed(post) for post in installation.posts}
        broker = {}
        for post in installation.posts:
            until(_moves(consumed, post, before[post]), f"{post} stands still", allowed)
            broker[post] = time.monotonic() - began
    print(f"\nafter its kill -9 a service consumed again within {_shown(services)}; allowed are {allowed:g} s")
    print(f"after the broker was back, the services consumed again within {_shown(broker)}")
    assert max(broker.values()) <= allowed


def _moves(consumed: Callable[[str], float], post: str, before: float) -> Callable[[], bool]:
    """Also works if a new process starts its count from zero."""
    return lambda: consumed(post) not in (0.0, before)


def _shown(seconds: dict[str, float]) -> str:
    return f"{max(seconds.values()):.1f} s ({', '.join(f'{post} {taken:.1f}' for post, taken in seconds.items())})"
