"""A newcomer's commands: `soliloquy` alone, `demo`, `init` and `doctor`."""

import os
import pty
import subprocess
import tomllib
from pathlib import Path

import pytest

from soliloquy.cli import doctor
from soliloquy.client import Dataset
from soliloquy.runtime.failure import Failure
from tests.e2e.hosted import fake
from tests.e2e.runs import SOLILOQUY, one_line, said
from tests.integration.executor.support import needs_runsc

GONE = "http://127.0.0.1:1/v1"
OWN = (
    '{"question": "A trolley of 20 kg is pushed with 50 N. What is its acceleration?", '
    '"solution": "Step 1) Use F = m a. Step 2) a = 50 / 20 = 2.5 m/s^2"}\n'
)


def made(folder: Path, *options: str) -> str:
    """Returns the run file that `init` writes without a terminal."""
    file = folder / "run.toml"
    done = said([SOLILOQUY, "init", *options, "--out", str(folder / "data"), str(file)])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Run it: soliloquy generate {file}"
    return str(file)


def lines(*options: str) -> tuple[int, dict[str, str]]:
    """Returns the status of `doctor`, and what it says of each part."""
    done = said([SOLILOQUY, "doctor", *options])
    return done.returncode, dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_the_command_alone_names_three_things_to_do_and_the_whole_help() -> None:
    done = said([SOLILOQUY])
    assert done.returncode == 0
    begun = [line.strip().split("  ")[0] for line in done.stdout.splitlines() if line.startswith("  soliloquy")]
    assert begun == ["soliloquy demo", "soliloquy init", "soliloquy up --data console-data --console 127.0.0.1:8080"]
    assert "soliloquy --help" in done.stdout


@needs_runsc
def test_the_demo_shows_how_a_wrong_number_is_found_by_a_program_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = said([SOLILOQUY, "demo"])
    assert done.returncode == 0, done.stderr
    wrong = done.stdout.index("is_correct = False")
    assert done.stdout.index("Student  ") < wrong < done.stdout.rindex("Tutor    ")
    assert done.stdout.splitlines()[-1].endswith("soliloquy init")
    assert [*tmp_path.iterdir()] == []


@needs_runsc
def test_a_run_file_of_own_problems_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(OWN, "utf-8")
    file = made(tmp_path, "--problems", str(tmp_path / "mine.jsonl"), "--conversations", "1")
    assert said([SOLILOQUY, "generate", file]).returncode == 0
    assert Dataset(tmp_path / "data").count() == 1


@needs_runsc
def test_a_run_file_for_an_endpoint_holds_what_its_probe_found_and_runs_as_it_is(tmp_path: Path) -> None:
    with fake() as url:
        file = made(tmp_path, "--endpoint", url, "--model-name", "scripted", "--conversations", "1")
        [endpoint] = tomllib.loads(Path(file).read_text("utf-8"))["models"]["endpoints"].values()
        assert (endpoint["base_url"], endpoint["model"]) == (url, "scripted")
        # Another model of the fake answers nothing but a sentence.
        unfit = said([SOLILOQUY, "init", "--endpoint", url, "--model-name", "tiny", str(tmp_path / "other.toml")])
        assert "no answer of tiny to 5 of 6 prompts can be used (soliloquy/enriching, " in unfit.stderr
        assert said([SOLILOQUY, "generate", file]).returncode == 0
        assert lines("--model-settings", file)[1]["endpoint"].startswith("fine: ")
    assert Dataset(tmp_path / "data").count() == 1


def test_init_asks_five_questions_in_a_terminal_and_asks_again_where_an_answer_cannot_be_used(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SOLILOQUY, "init"], cwd=tmp_path, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    os.write(ours, b"phisics\nalgebra\n\n\n12\nmade\n")
    asked, errors = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, errors
    assert "did you mean physics?" in asked
    assert asked.count("]: ") == 6
    assert "wrote run.toml\n" in asked
    options = {"problems": "algebra", "recipe": "soliloquy", "conversations": 12, "out": "made"}
    assert tomllib.loads((tmp_path / "run.toml").read_text("utf-8")) == options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--problems", "phisics"), "did you mean physics?"),
        (("--problems", "mine.jsonl"), "mine.jsonl:2: question: is missing"),
        (("--endpoint", GONE, "--model-name", "scripted"), "cannot connect to 127.0.0.1:1"),
        (("--endpoint", GONE), "--endpoint URL requires --model-name"),
        (("--model-name", "scripted"), "--model-name requires --endpoint URL"),
    ],
    ids=["bank", "file", "endpoint", "model", "no endpoint"],
)
def test_a_run_that_could_not_begin_gets_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.jsonl").write_text(f"{OWN}{{}}\n", "utf-8")
    done = said([SOLILOQUY, "init", *options])
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (tmp_path / "run.toml").exists()


def test_init_says_that_more_conversations_than_problems_repeat_them(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(OWN, "utf-8")
    options = ("--problems", str(tmp_path / "mine.jsonl"), "--conversations", "5")
    told = said([SOLILOQUY, "init", *options, str(tmp_path / "run.toml")]).stdout
    assert "5 conversations about 1 of your problems: each is talked through about 5 times, by other students" in told


def test_init_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").touch()
    assert "exists: choose another file" in one_line(said([SOLILOQUY, "init", str(tmp_path / "run.toml")]))


@needs_runsc
def test_a_machine_that_lacks_nothing_is_fine() -> None:
    status, told = lines()
    assert (status, [*told]) == (0, ["machine", "gVisor", "libraries", "disk", "endpoint", "Kafka"])
    assert {name for name, words in told.items() if words.startswith("fine: ")} == {*told} - {"endpoint", "Kafka"}


def test_each_missing_part_is_named_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka: str
) -> None:
    def missing(*_: object) -> None:
        raise Failure("pyarrow is not installed: pip install ..")

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "check_installed", missing)
    monkeypatch.setattr(doctor, "_LEAST_BYTES", 2**60)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    endpoint = ("--model", "openai", "--base-url", GONE, "--model-name", "scripted")
    status, told = lines(*endpoint, "--kafka", kafka, "--kafka-prefix", "nobody.")
    assert status == 1
    assert told["machine"] == "Linux on aarch64: sandboxes require Linux on x86-64; use such a machine"
    assert told["gVisor"].startswith("gVisor is missing: install runsc")
    assert "pip install" in told["libraries"]
    assert told["disk"].endswith("make room, or run in another folder")
    assert "cannot connect to 127.0.0.1:1" in told["endpoint"]
    assert "soliloquy topics apply" in told["Kafka"]
