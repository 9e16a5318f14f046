"""Services declare what the README says of them, and an assignment reaches its process unchanged."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deploy import sizing_table
from soliloquy.cli.main import commands
from soliloquy.dataset.storage import Storage
from soliloquy.runs.assembly import assembled, declared
from soliloquy.runs.assignment import SERVICES, Assignment
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.plan import Plan
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.handling import MODEL_BOUND, Service
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.topics import TOPIC_OF, TOPICS
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.gateway.requests import RUN_LIMITS
from tests.cases import each_case
from tests.unit.runs.test_plan import plan

README = Path(__file__).parents[3] / "services" / "README.md"
ROW = re.compile(r"^\| \[(\w+)\]\(\w+\) \| ([^|]*) \| ([^|]*) \|", re.MULTILINE)
TABLE = {name: (consumes, produces) for name, consumes, produces in ROW.findall(README.read_text("utf-8"))}


def topics(cell: str) -> set[str]:
    return set(re.findall(r"`([\w.]+)`", cell)) & TOPICS.keys()


@pytest.mark.parametrize("service", declared(), ids=lambda service: str(service.name))
def test_a_service_reads_and_sends_what_the_readme_says(service: Service) -> None:
    consumes, produces = TABLE[service.name]
    read = (*service.tables, *service.follows)
    assert {*service.topics, *(TOPIC_OF[message].name for message in read)} == topics(consumes)
    assert {TOPIC_OF[message].name for message in service.emits} == topics(produces)


def test_every_service_of_the_readme_can_be_run() -> None:
    # The gateway handles no event: it follows topics.
    assert TABLE.keys() == set(SERVICES) | {"gateway"}


def test_a_key_is_read_where_it_is_used_and_not_sent_to_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("sk-secret", "utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    hosted = Endpoint(engine="openai", base_url="http://127.0.0.1:1/v1", key_file=tmp_path / "key")
    model = ModelSettings(problems=["physics"], models=shipped_models().only_at(hosted), record=tmp_path)
    assignment = Assignment(services=["tutor"], transport=Path("log.sqlite"), model=model)
    line = assignment.to_json()
    assert b"sk-secret" not in line
    assert Assignment.from_json(line) == assignment


def test_an_assignment_reaches_a_process_as_it_was() -> None:
    kafka = KafkaSettings(bootstrap="b:9092", security="SASL_SSL", password="secret", ca_file=Path("ca.pem"))
    assignment = Assignment(
        services=["executor", "student"],
        transport=kafka,
        model=ModelSettings(problems=["physics", "mine.jsonl"], latency=0.5, noise="real"),
        sandbox=SandboxSettings(sandboxes=3, audit=True, runtime_dir=Path("run")),
        max_in_flight=7,
        http="127.0.0.1:8080",
    )
    line = assignment.to_json()
    assert b"\n" not in line
    assert Assignment.from_json(line) == assignment
    on_the_log = Assignment(services=["student"], transport=Path("log.sqlite"), model=ModelSettings(problems=["a"]))
    assert Assignment.from_json(on_the_log.to_json()) == on_the_log


async def test_as_many_conversations_wait_for_models_as_a_run_has_at_once(tmp_path: Path) -> None:
    for asked, at_once in ((0, MODEL_BOUND), (12, MODEL_BOUND), (5_000, 5_000)):
        services = ("curriculum", "student", "planner")
        assignment = Assignment(services=services, transport=tmp_path / "log.sqlite", at_once=asked)
        async with assembled(assignment) as assembly:
            curriculum, *asking = (service.max_in_flight for service in assembly.services)
        assert asking == [at_once, at_once]
        assert curriculum < MODEL_BOUND


def size(*words: str) -> Result:
    return CliRunner().invoke(commands, ["size", *words])


def test_the_guide_has_the_figures_of_the_file() -> None:
    assert sizing_table.PAGE.read_text("utf-8") == sizing_table.page()


def test_every_part_that_is_named_keeps_up_with_the_cards() -> None:
    told = json.loads(size("--gpus", "64", "--conversations", "1e7", "--json").output)
    needed = {part["name"]: part["needed"] for part in told["parts"]}
    cores = needed["all services but model and sandbox"]
    assert (cores - 1) * 37_000 < told["conversations_an_hour"] <= cores * 37_000
    assert told["hours"] * told["conversations_an_hour"] == pytest.approx(10**7, rel=0.01)


def test_a_forecast_names_the_slowest_part_and_counts_on_what_runs_and_charts_allow() -> None:
    words = ("--gpus", "512", "--conversations", "1e8")
    told = json.loads(size(*words, "--json").output)
    [collector] = [part for part in told["parts"] if part["name"] == "collector"]
    assert (told["slowest"], collector["needed"], told["conversations_an_hour"]) == ("collector", 1, 940_000)
    assert told["hours"] == pytest.approx(106.4, abs=0.1)
    most = {name: bounds["most"] for name, bounds in RUN_LIMITS.items()}
    assert told["runs"] * most["conversations"] >= 10**8
    assert told["runs"] * most["in_flight"] >= told["in_flight"] == 47 * 256
    assert "Slowest: the collector: an installation has 1 at most, which 47 of the 512 cards" in size(*words).output
    assert json.loads(size("--gpus", "8", "--conversations", "1e6", "--json").output)["slowest"] == "cards"


@each_case
def test_a_number_that_is_none_is_refused(words: list[str], why: str) -> None:
    refused = size(*words)
    assert refused.exit_code == 2
    assert why in refused.output


PLAN = plan(shipped_models())
OTHER = replace(PLAN, seed=PLAN.seed + 1)


def _unreachable(made: Path) -> Failure:
    made.touch()
    return Failure("no broker")


def folder(out: Path, run: Plan = PLAN, work: Path | None = None) -> RunFolder:
    return RunFolder(Storage(out), run, work)


def test_a_run_without_conversations_leaves_its_folder_to_a_run_with_other_options(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with folder(tmp_path) as first:
        first.log.touch()
        first.journal.touch()
    with folder(tmp_path, OTHER) as second:
        assert not second.log.exists()
        assert json.loads((second.working / "run.json").read_text("utf-8"))["seed"] == OTHER.seed
    told = f"{tmp_path} held another run without a conversation (seed {PLAN.seed}, not {OTHER.seed}): it is replaced"
    assert caplog.messages == [told]


def test_a_run_that_fails_before_it_begins_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    first = folder(out)
    with pytest.raises(Failure, match="no broker"), first:
        raise _unreachable(first.journal)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_later_can_be_resumed(tmp_path: Path) -> None:
    first = folder(tmp_path / "out")
    with pytest.raises(Failure, match="no broker"), first:
        raise _unreachable(first.log)
    assert first.log.exists()


@pytest.mark.parametrize("option", ["--out", "--work"])
def test_folders_with_files_of_others_are_refused_and_left_alone(tmp_path: Path, option: str) -> None:
    theirs = tmp_path / option / "thesis.txt"
    theirs.parent.mkdir()
    theirs.touch()
    opened = folder(tmp_path / "--out", work=tmp_path / "--work")
    with pytest.raises(Failure, match=f"holds thesis.txt: choose another {option}"), opened:
        pass
    assert [*tmp_path.rglob("*.*")] == [theirs]
