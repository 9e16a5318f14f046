"""A dataset grown on models of others: whole, reproducible, and without a trace of the key."""

import json
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from soliloquy.runtime.model.settings_file import read_models
from tests.e2e.hosted import MODEL_FAKE, fake
from tests.e2e.runs import (
    SOLILOQUY,
    command,
    dataset,
    grown,
    kill_run,
    records,
    run,
    said,
    start,
    wait_for_end,
    wait_for_frames,
    worker_pids,
)

KEY = "sk-a-secret-that-nobody-sees"
SETTINGS = """
[endpoints.hosted]
engine = "openai"
base_url = "{url}"
model = "scripted"
prompt_price = 2.0
completion_price = 8.0
key_variable = "HOSTED_KEY"

[roles.tutor]
temperature = 0.1
"""


def manifest(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "manifest.json").read_bytes()))


@pytest.mark.thorough
def test_a_storm_changes_no_byte(tmp_path: Path) -> None:
    troubles = [f"--fault={fault}" for fault in ("throttled=0.2", "failed=0.1", "truncated=0.05", "malformed=0.05")]
    for name, options in (("calm", []), ("stormy", troubles)):
        with fake(*options, command=MODEL_FAKE) as url:
            grown(tmp_path / name, conversations=3, model="openai", base_url=url)
    assert dataset(tmp_path / "stormy") == dataset(tmp_path / "calm")


def test_a_recorded_run_is_replayed_without_its_endpoint_to_the_same_bytes(tmp_path: Path) -> None:
    recorded = str(tmp_path / "recorded")
    hosted: dict[str, Any] = {"model": "openai", "conversations": 2, "workers": 2}
    with fake("--noise", "real") as url:
        grown(tmp_path / "first", base_url=url, record=recorded, **hosted)
    # Nobody listens there any more.
    grown(tmp_path / "again", base_url=url, record=recorded, **hosted)
    with fake("--replay", recorded, command=MODEL_FAKE) as other:
        grown(tmp_path / "replayed", base_url=other, **hosted)
        ended = run(command(tmp_path / "other", base_url=other, seed=8, **hosted))
    assert ended.returncode == 1
    assert "the recording has no answer to this request of soliloquy/" in ended.stderr.splitlines()[-1]
    first = dataset(tmp_path / "first")
    assert first == dataset(tmp_path / "again") == dataset(tmp_path / "replayed")


def test_a_run_says_what_its_endpoint_is_and_at_its_end_what_was_asked_again_and_how_to_see_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = command(out, conversations=2, model="openai")
    arguments.remove("--json")
    with fake("--noise", "real", "--dialect", "anthropic") as url:
        ended = said([*arguments, "--base-url", url])
    place = f"openai: scripted at {url} "
    [told] = [line for line in ended.stderr.splitlines() if line.startswith(place)]
    assert told.removeprefix(place) == (
        "is asked as OpenAI's API: its address and the owner of its models (stand-in) tell none of azure, "
        "openai-reasoning, openai, anthropic, gemini, openrouter, ollama, vllm, sglang, llama-cpp, llama-cpp-python; "
        "takes a strict schema and seeds; is asked without top_p; 256 calls at once"
    )
    assert "asked again most" in ended.stdout
    [see] = [
        line.partition(": ")[2] for line in ended.stdout.splitlines() if line.startswith("See what was asked again")
    ]
    shown = said([SOLILOQUY, *shlex.split(see)[1:]]).stdout
    assert "asked again:" in shown or "sent back to the" in shown


@pytest.mark.thorough
def test_a_killed_run_goes_on_recording_whole_lines_and_no_key(tmp_path: Path) -> None:
    recorded, key = tmp_path / "recorded", tmp_path / "key"
    key.write_text(KEY)
    with fake("--latency", "10ms", "--key-file", str(key)) as url:
        options: dict[str, Any] = {"model": "openai", "base_url": url, "record": str(recorded), "conversations": 3}
        with patch.dict(os.environ, OPENAI_API_KEY=KEY):
            process = start(command(tmp_path / "out", in_flight=2, **options))
            wait_for_frames(tmp_path / "out", 1, process)
            wait_for_end(kill_run(process))
            grown(tmp_path / "out", **options)
    lines = (recorded / "answers.jsonl").read_text("utf-8")
    assert KEY not in lines
    keys = [json.loads(line)["key"] for line in lines.splitlines()]
    assert len(keys) == len({*keys})
    calls = [call for row in records(tmp_path / "out") for turn in row["turns"] for call in turn["calls"]]
    assert len(keys) >= len(calls)


MIXTURE = """
endpoint = "small"

[endpoints.small]
engine = "openai"
base_url = "{url}"
model = "scripted-small"

[endpoints.large]
engine = "openai"
base_url = "{url}"
model = "scripted-large"
prompt_price = 2.0
completion_price = 8.0

[[roles.composer]]
endpoint = "small"
weight = 0.4

[[roles.composer]]
endpoint = "large"
weight = 0.6

[roles.student]
best_of = 2

[prompts."soliloquy/deciding"]
endpoint = "large"
max_tokens = 300
"""


@pytest.mark.thorough
def test_a_killed_run_of_a_mixture_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    with fake("--latency", "10ms") as url:
        (tmp_path / "models.toml").write_text(MIXTURE.format(url=url), "utf-8")
        chosen: dict[str, Any] = {"conversations": 4, "model_settings": str(tmp_path / "models.toml")}
        process = start(command(tmp_path / "out", in_flight=2, **chosen))
        wait_for_frames(tmp_path / "out", 1, process)
        wait_for_end(kill_run(process))
        grown(tmp_path / "out", **chosen)
        grown(tmp_path / "whole", **chosen)
    assert dataset(tmp_path / "out") == dataset(tmp_path / "whole")
    models, drawn = read_models(tmp_path / "models.toml"), set[str]()
    for row in records(tmp_path / "out"):
        calls = [call for turn in row["turns"] for call in turn["calls"]]
        member = models.drawn("composer", row["id"]).endpoint
        drawn.add(member)
        assert {(call["endpoint"], call["model"]) for call in calls if call["role"] == "composer"} == {
            (member, f"scripted-{member}")
        }
        assert {call["model"] for call in calls if call["prompt"] == "soliloquy/deciding"} == {"scripted-large"}
        assert {call.get("endpoint") for call in calls if call["role"] == "codegen"} <= {None}
        for turn in row["turns"][1:]:
            tries = sum(one["role"] == "student" for one in turn["rejected"])
            assert sum(call["role"] == "student" for call in turn["calls"]) == 1 + tries
    told = manifest(tmp_path / "out")
    assert [member["weight"] for member in told["run"]["roles"]["composer"]] == [0.4, 0.6]
    # Rejected conversations count, too.
    assert {f"scripted-{member}" for member in drawn} <= {
        entry["model"] for entry in told["counts"]["models"] if entry["role"] == "composer"
    }
    assert told["cost"]["tutor at large"] > 0
    assert told["cost"]["student"] is None, "its price is unknown"
    assert {f"composer at {name}" for name in drawn} <= told["cost"].keys()


@pytest.mark.thorough
def test_what_an_endpoint_refuses_is_told_once_for_all_processes_of_a_run_and_its_resumption(tmp_path: Path) -> None:
    with fake("--dialect", "openai-reasoning", "--latency", "10ms") as url:
        chosen: dict[str, Any] = {"conversations": 3, "model": "openai", "base_url": url, "workers": 2}
        process = start(command(tmp_path / "out", in_flight=2, **chosen))
        wait_for_frames(tmp_path / "out", 1, process)
        process.send_signal(signal.SIGINT)
        told = process.communicate()[1]
        resumed = run(command(tmp_path / "out", **chosen))
    assert resumed.returncode == 0, resumed.stderr
    everything = told + resumed.stderr
    assert everything.count("refuses max_tokens, temperature, top_p") == everything.count("refuses max_tokens") == 1
    # Of the student, the tutor, the composer and codegen.
    assert everything.count("refuses a schema") == 4, everything


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The settings of an endpoint that asks for a key."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "key").write_text(KEY, "utf-8")
    with fake("--key-file", str(folder / "key"), "--latency", "20ms") as url:
        (folder / "models.toml").write_text(SETTINGS.format(url=url), "utf-8")
        yield folder / "models.toml"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "HOSTED_KEY is not set"),
        ({"HOSTED_KEY": "sk-wrong"}, "model 'scripted') refuses the key in HOSTED_KEY"),
    ],
    ids=["none", "wrong"],
)
def test_without_the_right_key_a_run_ends_with_one_line(
    tmp_path: Path, locked: Path, environment: dict[str, str], words: str
) -> None:
    refused = said(command(tmp_path, model_settings=str(locked)), environment=environment)
    assert refused.returncode == 2
    [line] = refused.stderr.splitlines()
    assert words in line
    assert "sk-wrong" not in line
    assert [*tmp_path.iterdir()] == []


def test_the_manifest_names_the_endpoint_and_the_right_key_is_nowhere_to_be_seen(
    tmp_path: Path, locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_KEY", KEY)
    process = start(command(tmp_path, conversations=2, model_settings=str(locked)))
    wait_for_frames(tmp_path, 1, process)
    seen = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in worker_pids(process.pid)]
    seen += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    report, errors = process.communicate()
    assert process.returncode == 0, errors
    seen += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert KEY not in report + errors
    assert not any(KEY.encode() in content for content in seen)
    told = manifest(tmp_path)
    calls = [call for row in records(tmp_path) for turn in row["turns"] for call in turn["calls"]]
    assert {(call["engine"], call["model"]) for call in calls} == {("openai", "scripted")}
    assert told["run"]["model"] == "scripted (openai)"
    assert told["run"]["roles"]["tutor"]["temperature"] == 0.1
    assert {entry["role"] for entry in told["counts"]["models"]} == set(told["counts"]["tokens"])
    tokens = told["counts"]["tokens"]["tutor"]
    assert told["cost"]["tutor"] == pytest.approx((2 * tokens["prompt"] + 8 * tokens["completion"]) / 1e6)
    assert json.loads(report)["cost"] == pytest.approx(sum(told["cost"].values()))
