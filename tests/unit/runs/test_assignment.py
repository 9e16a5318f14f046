"""Services declare what the README says of them, and an assignment reaches its process unchanged."""

import re
from pathlib import Path

import pytest

from soliloquy.runs.assembly import declared
from soliloquy.runs.assignment import SERVICES, Assignment
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.topics import TOPIC_OF, TOPICS
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy_services.executor.settings import SandboxSettings

README = Path(__file__).parents[3] / "services" / "README.md"
ROW = re.compile(r"^\| \[(\w+)\]\(\w+\) \| ([^|]*) \| ([^|]*) \|", re.MULTILINE)
TABLE = {name: (consumes, produces) for name, consumes, produces in ROW.findall(README.read_text("utf-8"))}


def topics(cell: str) -> set[str]:
    return set(re.findall(r"`([\w.]+)`", cell)) & TOPICS.keys()


@pytest.mark.parametrize("service", declared(), ids=lambda service: str(service.name))
def test_a_service_reads_and_sends_what_the_readme_says(service: Service) -> None:
    consumes, produces = TABLE[service.name]
    assert {*service.topics, *(TOPIC_OF[message].name for message in service.tables)} == topics(consumes)
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
    model = ModelSettings(problems=["physics"], models=shipped_models().only_at(hosted), cache=tmp_path)
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
