"""Replays what a person repaired: the run becomes what it would have been."""

from pathlib import Path

import pytest

from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.installation import Installation
from tests.chaos.kafka.run import Run
from tests.e2e.hosted import fake
from tests.e2e.runs import SOLILOQUY, dataset
from tests.e2e.runs import run as run_command

CONVERSATIONS = 60
IN_FLIGHT = 16


@pytest.mark.timeout(900)
def test_conversations_that_a_model_refused_are_replayed(kafka: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    refusing = ("--model", "openai", "--model-name", "scripted", "--base-url")
    (key := tmp_path / "key").write_text("another", "utf-8")
    with (
        fake("--key-file", str(key)) as url,
        Installation(tmp_path, kafka, *refusing, url) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        status, said = run.end()
        assert (status, "soliloquy dlq replay --kafka" in said) == (1, True), said
        found = letters(installation)
        assert len(found) == IN_FLIGHT
        assert all("student" in text or "conversation.started" in text for text in found), found
        assert installation.stop_up() == 0
        installation.start()
        installation.wait_until_ready()
        # Later ones are not refused.
        assert replay(installation) == IN_FLIGHT
        run.start()
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        assert letters(installation) == []
    print(f"\n{IN_FLIGHT} conversations refused, replayed and finished")


def letters(installation: Installation) -> list[str]:
    """Returns the dead letters as `dlq list` prints them."""
    shown = _dlq(installation, "list")
    return [] if shown == "no dead letters\n" else shown.replace("\n    ", " ").splitlines()


def replay(installation: Installation) -> int:
    return int(_dlq(installation, "replay").split()[0])


def _dlq(installation: Installation, what: str) -> str:
    reach = ["--kafka", installation.settings.bootstrap, "--kafka-prefix", installation.settings.prefix]
    done = run_command([SOLILOQUY, "dlq", what, *reach])
    assert done.returncode == 0, done.stderr
    return done.stdout
