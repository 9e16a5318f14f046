"""`soliloquy problems` lists, shows, samples and checks what the banks hold."""

import json
import signal
import subprocess
from collections import Counter
from pathlib import Path
from subprocess import PIPE

import pytest

from soliloquy.problems.bank import sampling
from soliloquy.problems.bank.bank import FAMILIES
from soliloquy.problems.files.problem_file import read_problems
from tests.e2e.runs import SOLILOQUY, said


def problems(*arguments: str | Path) -> str:
    """Returns the output of a command that must succeed."""
    result = said([SOLILOQUY, "problems", *map(str, arguments)])
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_banks_and_their_families_are_listed() -> None:
    banks = {row["bank"]: row for row in json.loads(problems("list", "--json"))}
    families = json.loads(problems("list", "physics", "--json"))
    assert banks.keys() == {"algebra", "arithmetic", "fractions", "physics", "statistics"}
    assert len(families) == banks["physics"]["families"]
    assert {row["topic"] for row in families} == set(banks["physics"]["topics"])
    assert {"topic", "family", "difficulty", "steps", "title"} == families[0].keys()


@pytest.mark.parametrize("bank", ["arithmetic", "physics"])
def test_a_list_names_its_columns_in_full_where_a_terminal_is_narrow(
    bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert problems("list", bank).split("\n")[0].split() == ["topic", "family", "difficulty", "steps", "title"]


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    listing = subprocess.Popen([SOLILOQUY, "problems", "list", "physics"], stdout=PIPE, stderr=PIPE)
    assert listing.stdout is not None
    # Nobody reads, as behind `head` once it has its lines.
    listing.stdout.close()
    assert listing.stderr is not None
    assert listing.stderr.read() == b""
    listing.stderr.close()
    assert listing.wait() == -signal.SIGPIPE


def test_a_problem_is_shown_with_its_steps_answer_and_wrong_ways() -> None:
    shown = problems("show", "physics/falling_object#17")
    for text in ("h = g × t² / 2", "wrong rearrangement", "wrong arithmetic", "answer:", "physics/falling_object#17"):
        assert text in shown


def test_a_problem_is_the_same_wherever_it_is_shown(tmp_path: Path) -> None:
    out = tmp_path / "problems.jsonl"
    problems("sample", "physics", "--count", "3", "--out", out)
    row = json.loads(out.read_text("utf-8").splitlines()[1])
    of_bank = json.loads(problems("show", row["extra"]["source"], "--json"))
    of_file = json.loads(problems("show", f"{out}:2", "--json"))
    assert (of_bank.pop("source"), of_file.pop("source")) == (row["extra"]["source"], "problems.jsonl:2")
    # Anybody may change a file: its values are not settled by the bank's construction.
    assert of_bank.pop("plan") == "PLAN_SOURCE_BANK"
    assert of_file == of_bank


def test_a_sample_is_even_over_topics_repeats_nothing_and_follows_from_its_seed(tmp_path: Path) -> None:
    out = tmp_path / "problems.jsonl"
    problems("sample", "physics", "--count", "40", "--seed", "3", "--out", out)
    drawn = read_problems(out)
    assert set(Counter(problem.topic for problem in drawn).values()) == {5}
    assert len({problem.question for problem in drawn}) == 40
    assert problems("sample", "physics", "--count", "40", "--seed", "3") == out.read_text("utf-8")
    assert problems("sample", "physics", "--count", "40", "--seed", "4") != out.read_text("utf-8")


def test_a_larger_sample_begins_with_the_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    smaller = problems("sample", "arithmetic", "--count", "50")
    monkeypatch.setattr(sampling, "BATCH", 40)
    larger = problems("sample", "arithmetic", "--count", "130")
    assert larger.count("\n") == 130
    assert larger.startswith(smaller)


def test_a_sample_may_be_of_some_topics_only() -> None:
    options = ["--topic", "optics", "--topic", "heat"]
    rows = [json.loads(line) for line in problems("sample", "physics", "--count", "40", *options).splitlines()]
    assert {row["topic"] for row in rows} == {"optics", "heat"}


def test_sound_families_and_files_pass_the_check(tmp_path: Path) -> None:
    problems("sample", "physics", "--count", "5", "--out", tmp_path / "problems.jsonl")
    assert "no faults" in problems("check", tmp_path / "problems.jsonl")
    (tmp_path / "mechanics").mkdir()
    family = FAMILIES / "physics" / "mechanics" / "falling_object.toml"
    (tmp_path / "mechanics" / "fall.toml").write_bytes(family.read_bytes())
    assert "no faults" in problems("check", tmp_path)


def test_each_fault_of_a_family_is_a_line_of_the_check(tmp_path: Path) -> None:
    text = (FAMILIES / "physics" / "mechanics" / "falling_object.toml").read_text("utf-8")
    family = tmp_path / "mechanics" / "fall.toml"
    family.parent.mkdir()
    family.write_text(text.replace("h = g × t² / 2", "h = g × t²").replace('unit = "m/s" }', 'unit = "m" }'), "utf-8")
    result = said([SOLILOQUY, "problems", "check", str(tmp_path)])
    assert result.returncode == 1
    assert [line.split(": ")[:2] for line in result.stdout.splitlines()] == [
        ["mechanics/fall.toml", "units agree"],
        ["mechanics/fall.toml", "laws hold"],
        ["mechanics/fall.toml", "rearrangements solve the law"],
    ]


def test_a_fault_of_a_problem_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_text('{"question": "How many?", "solution": "2 + 2 = 4"}\n{"question": "How many more?"}\n', "utf-8")
    result = said([SOLILOQUY, "problems", "check", str(path)])
    assert (result.returncode, result.stdout.startswith(f"{path}:2: solution")) == (1, True)
