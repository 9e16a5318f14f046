"""A run has the prompts of a researcher's folder, and its dataset keeps them for whoever reads or learns from it."""

import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.prompts import own_files
from soliloquy.recipes.recipe import find
from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.e2e.runs import (
    SOLILOQUY,
    command,
    dataset,
    grown,
    kill,
    kill_run,
    paced,
    run,
    said,
    start,
    wait_for_end,
    wait_for_frames,
    worker_pids,
)
from tests.e2e.services import serving

# The scripted student keeps to the words that its prompt allows.
SHORTER = ("Keep each reply under 60 words.", "You are tired. Keep each reply under 12 words.")
QUIETER = ("calculation needed", "computation wanted")


def written(folder: Path, recipe: str = "soliloquy") -> Path:
    result = said([SOLILOQUY, "recipes", "prompts", recipe, "--out", str(folder)])
    assert result.returncode == 0, result.stderr
    return folder


def reword(file: Path, words: tuple[str, str]) -> None:
    own = file.read_text("utf-8")
    assert words[0] in own
    file.write_text(own.replace(*words), "utf-8")


def changed(folder: Path) -> Path:
    """Returns the folder with two changed prompts and without the others."""
    written(folder)
    reword(folder / "student.txt", SHORTER)
    reword(folder / "deciding.txt", QUIETER)
    for path in folder.iterdir():
        if path.name not in ("student.txt", "deciding.txt"):
            path.unlink()
    return folder


def stored(out: Path | str) -> Mapping[str, bytes]:
    """Returns the rows, the manifest and the prompts of a dataset."""
    place = Storage(out)
    return dataset(out) | {name: place.read(name) or b"" for name in place.names("prompts")}


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changed(tmp_path_factory.mktemp("prompts") / "mine")


@pytest.fixture(scope="module")
def whole(prompts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of eight from the changed prompts."""
    out = tmp_path_factory.mktemp("changed") / "out"
    grown(out, conversations=8, prompts=str(prompts))
    return out


@pytest.fixture(scope="module")
def few(prompts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two from the changed prompts."""
    out = tmp_path_factory.mktemp("few") / "out"
    grown(out, conversations=2, prompts=str(prompts))
    return out


def shown(out: Path | str) -> str:
    result = said([SOLILOQUY, "show", str(out), "--prompts"])
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def test_the_student_is_told_what_the_folder_says_and_show_has_it(few: Path, reference: Path) -> None:
    assert SHORTER[1] in shown(few)
    assert QUIETER[1] in shown(few)
    assert SHORTER[1] not in shown(reference)


def test_the_dataset_holds_every_prompt_of_the_run_and_verify_misses_one(few: Path, prompts: Path) -> None:
    files = {path.name: path.read_bytes() for path in own_files("soliloquy").values()}
    files |= {path.name: path.read_bytes() for path in prompts.iterdir()}
    assert {path.name: path.read_bytes() for path in (few / "prompts").iterdir()} == files
    assert said([SOLILOQUY, "verify", str(few)]).returncode == 0


@pytest.mark.thorough
def test_a_killed_run_goes_on_with_the_same_prompts_and_no_others(whole: Path, prompts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(paced(out, prompts=str(prompts), workers=2))
    wait_for_frames(out, 2, process)
    wait_for_end(kill_run(process))
    assert SHORTER[1] in shown(out)
    others = changed(tmp_path / "others")
    reword(others / "deciding.txt", (QUIETER[1], "nagging doubt"))
    for options, file in (({"prompts": str(others)}, "deciding.txt"), ({}, "deciding.txt, student.txt")):
        refused = run(command(out, conversations=8, **options))
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"holds another run (prompts {file} changed since)" in refused.stderr
    # Another folder with the same texts will do.
    grown(out, conversations=8, prompts=str(changed(tmp_path / "copy")))
    assert stored(out) == stored(whole)


@pytest.mark.thorough
def test_an_edit_while_a_run_goes_on_does_not_reach_a_worker_that_is_started_again(whole: Path, tmp_path: Path) -> None:
    out, edited = tmp_path / "out", changed(tmp_path / "edited")
    process = start(paced(out, prompts=str(edited)))
    wait_for_frames(out, 1, process)
    reword(edited / "deciding.txt", (QUIETER[1], "nagging doubt"))
    (edited / "student.txt").unlink()
    for pid in worker_pids(process.pid):
        kill(pid)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert stored(out) == stored(whole)


@pytest.mark.thorough
def test_the_services_of_a_kafka_ask_with_the_prompts_of_the_run(
    whole: Path, prompts: Path, kafka: str, tmp_path: Path
) -> None:
    connection = KafkaSettings(bootstrap=kafka, prefix=f"test-{uuid.uuid4().hex[:8]}.")
    place = {"kafka": kafka, "kafka_prefix": connection.prefix}
    with serving(connection, tmp_path / "live"):
        grown(tmp_path / "out", conversations=8, prompts=str(prompts), **place)
    assert stored(tmp_path / "out") == stored(whole)


def test_what_a_tutor_learns_has_the_prompts_of_the_run(few: Path, tmp_path: Path) -> None:
    frozen = tmp_path / "frozen"
    assert said([SOLILOQUY, "freeze", "--data", str(few), "--out", str(frozen)]).returncode == 0
    for data in map(Dataset, (few, frozen)):
        lessons = [lesson for one in data for lesson in find("soliloquy").lessons(one)]
        decisions = [str(lesson.prompt.said) for lesson in lessons if lesson.prompt.name == "soliloquy/deciding"]
        assert decisions
        assert all(QUIETER[1] in decision for decision in decisions)
    assert said([SOLILOQUY, "verify", str(frozen)]).returncode == 0


def test_an_export_describes_the_student_as_the_run_did(tmp_path: Path) -> None:
    mine = written(tmp_path / "mine", "mathdial")
    profiles = mine / "profiles.toml"
    profiles.write_text(re.sub('manner = ".*"', 'manner = "yawns."', profiles.read_text("utf-8")), "utf-8")
    out, rows = tmp_path / "out", tmp_path / "rows.jsonl"
    grown(out, problems="arithmetic", recipe="mathdial", conversations=1, prompts=str(mine))
    exported = said([SOLILOQUY, "export", str(out), "--format", "mathdial", "--out", str(rows)])
    assert exported.returncode == 0, exported.stderr
    [row] = map(json.loads, rows.read_text("utf-8").splitlines())
    assert row["student_profile"].endswith(" yawns.")


def test_problems_are_written_with_the_prompts_of_a_folder(tmp_path: Path) -> None:
    folder, out = written(tmp_path / "mine", "mathwell"), tmp_path / "problems.jsonl"
    reword(folder / "writing.txt", ("fit for a class of children", "fit for a class of ten-year-olds"))
    (folder / "topics.toml").write_text('topics = ["penguins"]', "utf-8")
    result = said(
        [SOLILOQUY, "problems", "generate", "--n", "2", "--out", str(out), "--prompts", str(folder), "--json"]
    )
    assert (result.returncode, json.loads(result.stdout)["kept"]) == (0, 2), result.stderr
    assert "fit for a class of ten-year-olds" in shown(tmp_path / "problems")
    assert {one.problem.topic for one in Dataset(tmp_path / "problems")} == {"penguins"}
