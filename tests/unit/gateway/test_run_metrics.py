"""What the gateway exports of runs: counts that outlive it, of a bounded number of runs."""

from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.events import run_key
from soliloquy.runtime.model.settings import Endpoint, Models, Role
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary, TokenUse
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.runs import KnownRun, RunTable
from soliloquy_services.gateway.watching import MOST, export_runs, forget_runs

PRICED = Endpoint(engine="scripted", prompt_price=0.0, completion_price=1_000_000.0)
ROLE = Role(temperature=1.0, top_p=1.0, max_tokens=1, endpoint="priced")
MODELS = Models(endpoints={"priced": PRICED}, roles={"tutor": (ROLE,)})


def run(number: int) -> Run:
    return Run(id=f"r{number}", growing="g", recipe="soliloquy", max_attempts=2)


def change(known: RunTable, number: int, state: RunState, at: float, conversations: int = 4) -> None:
    request = RunRequest(recipe="soliloquy", conversations=conversations)
    changed = RunChanged(
        run=run(number),
        name=f"run {number}",
        request=request,
        request_id=str(number),
        requested_by="olga",
        tenant="physics",
        requested_at=100.0,
        changed_at=at,
        state=state,
    )
    if there := known.by_id.get(run_key(changed.run)):
        there.changed = changed
    else:
        known.take(run_key(changed.run), KnownRun(changed=changed))


def collect(known: RunTable, number: int, at: float) -> None:
    conversation = Conversation(run=run(number), ending=Ending.ENDING_SOLVED)
    summary = Summary(tokens={"tutor": TokenUse(prompt=7, completion=3)})
    counted = known.by_id[f"r{number}-g"]
    counted.count(ConversationCollected(conversation=conversation, accepted=True, summary=summary))
    counted.pace.add(at, 1)


def value(metric: str, /, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(metric, labels)


def exported(name: str) -> list[dict[str, str]]:
    return [sample.labels for metric in REGISTRY.collect() for sample in metric.samples if sample.name == name]


@pytest.fixture
def known() -> Iterator[RunTable]:
    yield RunTable(MODELS)
    forget_runs()
    assert exported("soliloquy_run_info") == []


def test_a_run_is_exported_with_who_requested_it_and_what_it_has_and_costs(known: RunTable) -> None:
    change(known, 1, RunState.RUN_STATE_RUNNING, at=100.0)
    collect(known, 1, at=110.0)
    export_runs(known, now=120.0)
    whose = {"requested_by": "olga", "tenant": "physics"}
    labels = {"run": "r1-g", "name": "run 1", **whose, "state": "running"}
    assert value("soliloquy_run_info", **labels) == 1
    assert value("soliloquy_run_conversations", run="r1-g", outcome="accepted") == 1
    assert value("soliloquy_run_conversations", run="r1-g", outcome="rejected") == 0
    assert value("soliloquy_run_wanted", run="r1-g") == 4
    # One within 20 seconds, and three are missing.
    assert value("soliloquy_run_eta_seconds", run="r1-g") == pytest.approx(60)
    assert value("soliloquy_run_tokens", run="r1-g") == 3
    assert value("soliloquy_run_cost", run="r1-g") == pytest.approx(3)


def test_a_run_is_in_one_state_and_without_a_pace_has_no_time_left(known: RunTable) -> None:
    change(known, 1, RunState.RUN_STATE_RUNNING, at=100.0)
    collect(known, 1, at=110.0)
    export_runs(known, now=120.0)
    change(known, 1, RunState.RUN_STATE_SHORT, at=130.0)
    export_runs(known, now=140.0)
    assert [each["state"] for each in exported("soliloquy_run_info")] == ["short"]
    assert exported("soliloquy_run_eta_seconds") == []
    assert value("soliloquy_run_changed_timestamp_seconds", run="r1-g") == 130


def test_of_many_runs_those_in_progress_and_the_latest_others_are_exported(known: RunTable) -> None:
    change(known, 0, RunState.RUN_STATE_PAUSED, at=0.0)
    for number in range(1, 2 * MOST):
        change(known, number, RunState.RUN_STATE_FINISHED, at=float(number))
        export_runs(known, now=1000.0)
    runs = {each["run"] for each in exported("soliloquy_run_info")}
    assert len(runs) == MOST
    assert {"r0-g", f"r{2 * MOST - 1}-g"} <= runs
    assert "r1-g" not in runs
