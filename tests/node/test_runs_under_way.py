"""Ends pods during a run: it finishes with exactly the requested conversations, intact on the collector's volume."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.images import registry
from tests.node import images
from tests.node.release import SERVICES, Release

pytestmark = pytest.mark.timeout(2400)
NEXT = "next"


def test_killed_containers_lose_no_conversation(release: Release) -> None:
    run = release.start(conversations=90, seed=2)
    run.reach(3)
    for service in SERVICES:
        release.kill(service)
    run.finish()


def test_pods_that_are_deleted_finish_what_they_have_within_their_grace(release: Release) -> None:
    run = release.start(conversations=90, seed=3)
    run.reach(3)
    for service in SERVICES:
        release.ready(service)
        [pod] = release.pods(service)
        grace = pod["spec"]["terminationGracePeriodSeconds"]
        seconds = release.delete(service)
        print(f"\n{service}: gone after {seconds:.1f} s of {grace}", end="")
        assert seconds < grace
    run.finish()


def test_an_upgrade_and_its_rollback_leave_a_run_alone(release: Release) -> None:
    """Services that share their work are never away: an old pod leaves when its successor consumes."""
    for service in SERVICES:
        release.ready(service)
    pushed = images.digests()
    for name, digest in pushed.items():
        registry.tag(f"soliloquy/{name}", digest, NEXT)
    run = release.start(conversations=150, seed=4, in_flight=4)
    run.reach(3)
    with _never_away(release):
        release.upgrade(*(f"images.{name}.{key}" for name in pushed for key in (f"tag={NEXT}", "digest=")))
        assert _versions(release) == {NEXT}
        release.rollback()
        assert _versions(release) == {digest.removeprefix("sha256:") for digest in pushed.values()}
    run.finish()


def _versions(release: Release) -> set[str]:
    """Returns the tags of the pods' images, or what follows in their digests."""
    pods = [pod for service in SERVICES for pod in release.pods(service)]
    return {container["image"].rpartition(":")[2] for pod in pods for container in pod["spec"]["containers"]}


@contextmanager
def _never_away(release: Release) -> Iterator[None]:
    """Returns the ready pods of each Deployment but the gateway's, which never has two."""
    over, away = threading.Event(), set[str]()

    def watch() -> None:
        while not over.wait(0.2):
            for deployment in release.object("deployments")["items"]:
                if not deployment["status"].get("readyReplicas"):
                    away.add(deployment["metadata"]["name"].rpartition("-")[2])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    assert away <= {"gateway"}
