"""A run by batch comes to the bytes of one that asks at once, and pays for each answer once, whatever happens."""

from pathlib import Path

import pytest

from tests.e2e.batches import (
    BATCH_FAULTS,
    DIALECT_OF,
    batch_sizes,
    billed_once,
    by_batch,
    fullness,
    in_batches,
    killed_again_and_again,
    spoken,
)
from tests.e2e.hosted import fake, invoice, priced
from tests.e2e.runs import dataset, grown

CONVERSATIONS = 12
SIZE = 4
KILLS = 6


@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", sorted(DIALECT_OF))
def test_a_run_by_batch_that_is_killed_again_and_again_is_that_of_single_requests_and_pays_once(
    tmp_path: Path, form: str
) -> None:
    dialect = f"--dialect={DIALECT_OF[form]}"
    with fake(dialect) as url:
        grown(tmp_path / "online", conversations=CONVERSATIONS, model_settings=spoken(priced(tmp_path, url), form))
    with fake(dialect, "--batch-latency", "200ms", *BATCH_FAULTS) as url:
        settings = spoken(in_batches(tmp_path, url, size=SIZE, age=1.5), form)
        arguments = by_batch(tmp_path / "out", settings, CONVERSATIONS)
        killed_again_and_again(arguments, KILLS, seconds=4.0, seed=1)
        billed_once(url, tmp_path / "out")
        assert fullness(batch_sizes(url, form), SIZE) > 0.7
    assert dataset(tmp_path / "out") == dataset(tmp_path / "online")


def test_roles_that_answer_at_once_mix_with_those_in_batches(tmp_path: Path) -> None:
    with fake("--batch-latency", "100ms") as url:
        settings = Path(in_batches(tmp_path, url, size=3, age=0.5))
        single = Path(priced(tmp_path, url)).read_text("utf-8").replace("endpoints.hosted", "endpoints.quick")
        roles = "".join(f'[roles.{role}]\nendpoint = "quick"\n' for role in ("tutor", "codegen", "composer"))
        settings.write_text(f'endpoint = "hosted"\n{settings.read_text("utf-8")}{single}{roles}', "utf-8")
        grown(tmp_path / "out", conversations=3, max_turns=4, model_settings=str(settings))
        billed_once(url, tmp_path / "out")
        by_batch_alone = sum(batch_sizes(url, "files"))
        students = [line for line in invoice(url) if "student" in line["state"]]
    assert by_batch_alone == len(students) > 0
