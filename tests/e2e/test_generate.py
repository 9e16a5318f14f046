"""A dataset is what its seed says, however it was grown."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.reading import Dataset
from soliloquy.v1.conversation_pb2 import VERIFICATION_NONE
from tests.e2e.runs import (
    SOLILOQUY,
    command,
    dataset,
    grown,
    journal_frames,
    kill,
    kill_run,
    paced,
    records,
    said,
    start,
    wait_for_end,
    wait_for_frames,
    worker_pids,
)

# So few turns that some problems are given up.
GIVING_UP: dict[str, Any] = {"conversations": 6, "max_turns": 5, "max_attempts": 1}


@pytest.fixture(scope="module")
def given_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A dataset of six from problems tried once, and its report."""
    out = tmp_path_factory.mktemp("given-up") / "out"
    return out, grown(out, **GIVING_UP)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A dataset of six from noisy answers, and its report."""
    out = tmp_path_factory.mktemp("noisy") / "out"
    return out, grown(out, conversations=6, noise="harsh", seed=4)


def test_every_conversation_asked_for_is_there_and_its_code_ran_in_gvisor(reference: Path) -> None:
    rows = records(reference)
    assert [row["ordinal"] for row in rows] == list(range(8))
    attempts = [attempt for row in rows for turn in row["turns"] for attempt in turn["soliloquy"]["attempts"]]
    assert attempts
    assert {attempt["isolation"].split("-")[0] for attempt in attempts} == {"gvisor"}
    assert {call["model"] for row in rows for turn in row["turns"] for call in turn["calls"]} == {"scripted"}


def test_the_report_counts_what_the_files_hold(noisy: tuple[Path, dict[str, Any]]) -> None:
    out, report = noisy
    rows = records(out) + records(out, rejected=True)
    turns = [turn for row in rows for turn in row["turns"]]
    taken_back = [turn for row in rows for rewind in row["rewinds"] for turn in rewind["turns"]]
    assert taken_back
    assert (report["requested"], report["accepted"], report["failed"]) == (6, 6, 0)
    assert report["accepted"] + report["rejected"] == len(rows)
    assert report["turns"] == len(turns)
    assert report["parse"]["repaired"] > 0
    assert report["python_turns"] == sum(turn["soliloquy"]["use_python"] for turn in turns)
    assert sum(report["executions"].values()) == sum(len(turn["soliloquy"]["attempts"]) for turn in turns)
    assert sum(report["parse"].values()) == sum(len(turn["calls"]) for turn in [*turns, *taken_back])
    assert sum(report["answers"].values()) == sum(
        len(call["raw"]) for turn in [*turns, *taken_back] for call in turn["calls"]
    )
    assert set(report["verdicts"]) == {"agree", "contradict"}
    assert set(report) == {
        *("answers", "asked_again"),
        *("requested", "accepted", "rejected", "failed", "unfit", "enrichment", "turns", "python_turns"),
        *("executions", "parse", "verdicts", "verification", "tokens", "cost", "unpriced", "spent", "seconds"),
    }


def test_a_killed_run_goes_on_to_the_same_dataset(reference: Path, unfinished: Path) -> None:
    grown(unfinished, conversations=8)
    assert dataset(unfinished) == dataset(reference)


def test_a_killed_worker_is_replaced_and_loses_nothing(reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(paced(out, workers=2))
    wait_for_frames(out, 1, process)
    kill(worker_pids(process.pid)[0])
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert dataset(out) == dataset(reference)


def test_an_interrupted_run_stops_cleanly_and_says_how_it_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(paced(out))
    wait_for_frames(out, 1, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command goes on from here" in errors
    assert 1 <= journal_frames(out) < 8


def test_a_stopped_run_keeps_no_more_than_8_kib_for_each_conversation(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(command(out, conversations=120, in_flight=3, latency="10ms"))
    wait_for_frames(out, 104, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert sum(path.stat().st_size for path in out.rglob("*")) < 8 * 1024 * journal_frames(out)


def test_a_finished_run_is_extended_by_any_number_of_workers_to_the_dataset_of_one_long_run(
    given_up: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Whichever worker is faster, the same problems are given up, and the same ones accepted in their place."""
    extend(tmp_path / "out", given_up[0], **GIVING_UP, in_flight=3, workers=2)


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", ["mathdial", "scaffold"])
def test_a_run_of_another_recipe_is_the_same_by_any_number_of_workers(tmp_path: Path, recipe: str) -> None:
    options: dict[str, Any] = {"problems": "arithmetic", "conversations": 2, "recipe": recipe, "noise": "real"}
    grown(tmp_path / "one", **options)
    grown(tmp_path / "two", **options, workers=2, in_flight=3)
    assert dataset(tmp_path / "one") == dataset(tmp_path / "two")


@pytest.mark.thorough
def test_an_enriched_run_is_extended_to_the_dataset_of_one_long_run(tmp_path: Path) -> None:
    options = {"conversations": 6, "enrich": True}
    grown(tmp_path / "long", **options)
    extend(tmp_path / "out", tmp_path / "long", **options)


def extend(out: Path, long: Path, **options: Any) -> None:
    """Runs a few conversations first, and then as many as the long run has."""
    grown(out, **options | {"conversations": 3})
    times = timings(out)
    assert grown(out, **options)["accepted"] == options["conversations"]
    assert dataset(out) == dataset(long)
    assert {name: timings(out)[name] for name in times} == times
    assert set(timings(out)) == set(timings(long))


@pytest.mark.thorough
def test_a_run_that_is_killed_while_it_is_extended_keeps_what_it_had_and_goes_on(
    reference: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    grown(out, conversations=4)
    first = records(out)
    process = start(paced(out))
    wait_for_frames(out, 5, process)
    workers = kill_run(process)
    assert records(out) == first
    grown(out, conversations=8)
    assert dataset(out) == dataset(reference)
    wait_for_end(workers)


@pytest.mark.thorough
def test_an_unfinished_run_can_be_extended_too(reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(command(out, conversations=8, latency="50ms", in_flight=6))
    wait_for_frames(out, 2, process)
    wait_for_end(kill_run(process))
    grown(out, conversations=8)
    assert dataset(out) == dataset(reference)


def timings(out: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for batch in Dataset(out).timings() for row in batch.to_pylist()}


def test_a_finished_run_is_not_run_again(reference: Path) -> None:
    before = (reference / MANIFEST).stat().st_mtime_ns
    assert grown(reference, conversations=8)["accepted"] == 8
    assert (reference / MANIFEST).stat().st_mtime_ns == before


def test_a_problem_that_is_given_up_is_replaced_by_another(given_up: tuple[Path, dict[str, Any]]) -> None:
    out, report = given_up
    assert (report["accepted"], report["failed"]) == (6, 0)
    assert report["rejected"] > 0
    assert [row["ordinal"] for row in records(out) + records(out, rejected=True)] != list(range(6))


def test_a_run_that_cannot_have_all_says_why_and_keeps_what_it_has(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = said(command(out, conversations=1, max_attempts=1, max_turns=2))
    report = json.loads(result.stdout)
    assert (result.returncode, report["accepted"], report["failed"], report["rejected"]) == (1, 0, 1, 2)
    assert "0 of 1 after 2 problems" in result.stderr
    assert "--rejected says why. A higher --max-attempts tries the others more often" in result.stderr
    assert len(records(out, rejected=True)) == 2


def test_enriched_problems_are_counted_and_shown(tmp_path: Path) -> None:
    problems, out = tmp_path / "mine.jsonl", tmp_path / "out"
    problems.write_text(
        '{"question": "How does 50 N speed up 20 kg?", "solution": "Step 1) Use F = m a. Step 2) a = 50 / 20 = 2.5"}'
    )
    report = grown(out, problems=problems, conversations=1, enrich=True)
    assert sum(report["enrichment"].values()) == report["accepted"] + report["rejected"]
    assert "outline" in said([SOLILOQUY, "show", str(out)]).stdout


def test_a_conversation_is_shown_with_its_soliloquies(reference: Path) -> None:
    listed = said([SOLILOQUY, "tail", str(reference)])
    first = records(reference)[0]
    assert first["id"][:8] in listed.stdout
    shown = said([SOLILOQUY, "show", str(reference), first["id"][:8]])
    assert "soliloquy" in shown.stdout
    assert "is_correct = True" in shown.stdout
    prompts = said([SOLILOQUY, "show", str(reference), "--prompts"])
    assert "<question>" in prompts.stdout


UNCHECKED = {
    "question": "Which force gives 50 kg an acceleration of 10 m/s²?",
    "solution": "Use F = m × a.\nIt is 500 N.",
}
CHECKED = {
    "question": "240 litres fill three equal buckets. How much does one hold?",
    "solution": "It is 240/3 = 80 litres.",
}


def test_a_verdict_that_rests_on_nothing_says_so_and_can_be_refused(tmp_path: Path) -> None:
    problems = tmp_path / "own.jsonl"
    problems.write_text("".join(json.dumps(problem) + "\n" for problem in (UNCHECKED, CHECKED)), "utf-8")
    # With this seed nobody is asked why, which no program answers.
    grown(tmp_path / "out", problems=problems, conversations=2, max_attempts=1, verified=True, seed=4)
    for rejected, source in ((False, "own.jsonl:2"), (True, "own.jsonl:1")):
        conversations = [*Dataset(tmp_path / "out").conversations(rejected=rejected)]
        assert {conversation.problem.source for conversation in conversations} == {source}
        for conversation in conversations:
            assert any(turn.verification == VERIFICATION_NONE for turn in conversation.turns) == rejected


def test_a_problem_with_a_false_calculation_is_refused_before_anything_runs(tmp_path: Path) -> None:
    problems = tmp_path / "own.jsonl"
    problems.write_text(json.dumps({"question": "How large is it?", "solution": "It is 7 * 5 = 36 m^2."}), "utf-8")
    result = said(command(tmp_path / "out", problems=problems))
    assert result.returncode == 2
    fault = f"soliloquy: {problems}:1: solution: '7 * 5 = 36 m^2' is false: it is 35 m^2"
    assert result.stderr == f"{fault}; soliloquy problems check {problems} lists all faults\n"
    assert not (tmp_path / "out").exists()


def test_a_run_file_is_overridden_by_the_command_line_and_a_manifest_generates_its_dataset_again(
    tmp_path: Path,
) -> None:
    first, again, file = tmp_path / "first", tmp_path / "again", tmp_path / "run.toml"
    file.write_text(
        'problems = "physics"\nconversations = 1\nseed = 4\nmax_turns = 15\n'
        '[models]\nendpoint = "here"\n[models.endpoints.here]\nengine = "scripted"\n',
        "utf-8",
    )
    assert said([SOLILOQUY, "generate", str(file), "--seed", "5", "--out", str(first), "--quiet"]).returncode == 0
    manifest = json.loads((first / MANIFEST).read_bytes())
    assert {name: manifest["run"][name] for name in ("seed", "max_turns")} == {"seed": 5, "max_turns": 15}
    assert manifest["options"]["models"]["endpoint"] == "here"
    assert said([SOLILOQUY, "generate", str(first / MANIFEST), "--out", str(again), "--quiet"]).returncode == 0
    assert records(again) == records(first)
