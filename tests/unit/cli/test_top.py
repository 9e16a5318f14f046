"""Checks what `soliloquy top` draws, in terminals of any width."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, start_http_server
from rich.console import Console

from soliloquy.cli.main import commands
from soliloquy.cli.scraping import Interval, Scrape, read
from soliloquy.cli.top import Overview, overview, view
from soliloquy.runtime.health import serve_probes
from soliloquy.runtime.http_server import listening

STUDENT = """
# TYPE soliloquy_lanes gauge
soliloquy_lanes{service="student"} 64
soliloquy_lag_events{service="student",topic="conversation.started",partition="0"} 3
soliloquy_lag_events{service="student",topic="tutor.replied",partition="0"} 4
soliloquy_oldest_uncommitted_seconds{service="student",topic="tutor.replied",partition="0"} 1.5
soliloquy_oldest_uncommitted_seconds{service="student",topic="tutor.replied",partition="1"} 90
soliloquy_events_succeeded_total{service="student",topic="tutor.replied"} 100
soliloquy_dead_letters{service="student",topic="tutor.replied"} 2
soliloquy_events_dead_total{service="student",topic="tutor.replied"} 2
soliloquy_model_cost_total{endpoint="hosted",role="student"} 3
soliloquy_model_shut{endpoint="hosted"} 1
"""
# What `generate --metrics` exports.
BATCHING = """
soliloquy_model_batches{endpoint="hosted"} 2
soliloquy_model_batched_requests{endpoint="hosted"} 7000
soliloquy_model_unbatched_requests{endpoint="hosted"} 120
"""
COLLECTOR = """
soliloquy_lanes{service="collector"} 64
soliloquy_conversations_finished_total{recipe="soliloquy",outcome="accepted"} 30
soliloquy_conversations_finished_total{recipe="soliloquy",outcome="rejected"} 10
"""
LATER = STUDENT.replace("} 100\n", "} 150\n")


def told() -> Overview:
    """Scrapes two processes of a service and a collector, ten seconds apart; one process has died in between."""
    before = Scrape(
        at=0, samples={"student-0": read(STUDENT), "student-1": read(STUDENT), "collector": read(COLLECTOR)}
    )
    more = COLLECTOR.replace("} 30", "} 40")
    after = Scrape(
        at=10,
        samples={"student-0": read(LATER), "collector": read(more)},
        silent={"student-1": "127.0.0.1:9101 does not answer (Connection refused)"},
    )
    return overview(Interval(before=before, after=after))


def shown(now: Overview, width: int) -> str:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as captured:
        console.print(view(now))
    return captured.get()


def test_a_stage_is_summed_over_partitions_and_its_pace_is_of_the_time_between_the_looks() -> None:
    student = told().stages[0]
    assert [student[name] for name in ("service", "processes", "lag", "oldest_seconds")] == ["student", 1, 7, 90]
    assert (student["rate"], student["given_up"]) == (5, 2)


def test_what_a_process_counts_anew_after_a_restart_is_not_taken_back() -> None:
    again = STUDENT.replace("} 100\n", "} 20\n")
    span = Interval(
        before=Scrape(at=0, samples={"student": read(STUDENT)}),
        after=Scrape(at=1, samples={"student": read(again)}),
    )
    assert span.increase("soliloquy_events_succeeded_total") == 20


def test_a_topic_that_two_services_read_has_its_letters_once() -> None:
    both = Scrape(at=0, samples={"one": read(STUDENT), "other": read(STUDENT.replace('"student"', '"tutor"'))})
    assert overview(Interval(before=both, after=both)).conversations["dead_letters"] == 2


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_cut_or_wrapped_in_a_table_of_any_width(width: int) -> None:
    lines = shown(told(), width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    header = next(line for line in lines if line.startswith("service"))
    assert header.split() == ["service", "lag", "oldest", "done/s", "failed"]
    student = next(line for line in lines if line.startswith("student") and not line.endswith("answer"))
    assert student.split()[1] == "7"


def test_requests_in_batches_and_those_that_wait_for_one_are_shown() -> None:
    scraped = Scrape(at=0, samples={"generate": read(BATCHING)})
    text = " ".join(shown(overview(Interval(before=scraped, after=scraped)), 200).split())
    assert "batches 2 of 7,000 requests for the next 120" in text
    assert "batches" not in shown(told(), 200)


def test_of_the_conversations_under_way_those_that_are_held_are_told() -> None:
    lines = [
        "soliloquy_conversations_under_way 5",
        "soliloquy_admission_limit 8",
        'soliloquy_lag_events{service="student",topic="turn.held",partition="0"} 3',
    ]
    scraped = Scrape(at=0, samples={"up": read("\n".join(lines) + "\n")})
    assert "under way 5 of 8 (3 held)" in " ".join(
        shown(overview(Interval(before=scraped, after=scraped)), 200).split()
    )


def test_what_is_wrong_is_said_in_words() -> None:
    text = shown(told(), 160)
    assert "127.0.0.1:9101 does not answer" in text
    assert "2 dead letters: run soliloquy dlq list" in text
    assert "circuit breaker open: hosted" in text


@pytest.fixture
def service() -> Iterator[str]:
    """The address of a service that says a little of itself."""
    registry = CollectorRegistry()
    Gauge("soliloquy_lanes", "Of it.", ["service"], registry=registry).labels("tutor").set(64)
    Counter("soliloquy_events_succeeded", "Of it.", ["service"], registry=registry).labels("tutor").inc(5)
    Summary("soliloquy_handler_seconds", "Of it.", ["service"], registry=registry).labels("tutor").observe(2)
    with ExitStack() as stack:
        server, thread = start_http_server(0, "127.0.0.1", registry=registry)
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        yield f"127.0.0.1:{server.server_port}"


def nobody() -> str:
    with listening("127.0.0.1:0") as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_service_that_does_not_answer_is_a_line_and_the_others_are_shown(service: str) -> None:
    away = nobody()
    result = CliRunner().invoke(commands, ["top", service, away, "--once", "--every", "0ms"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{away} does not answer" in result.stdout
    assert "tutor" in result.stdout


async def test_what_keeps_a_service_from_serving_is_a_line() -> None:
    async with serve_probes("127.0.0.1:0", lambda: ["kafka:9092: student.replied is missing", "and more"]) as address:
        arguments = ["top", address, "--once", "--every", "0ms"]
        result = await asyncio.to_thread(CliRunner().invoke, commands, arguments)
    assert f"{address}: kafka:9092: student.replied is missing; and more" in " ".join(result.stdout.split())


def test_json_is_an_object_for_each_look(service: str) -> None:
    result = CliRunner().invoke(commands, ["top", service, "--once", "--json", "--every", "0ms"])
    assert json.loads(result.stdout)["stages"][0]["service"] == "tutor"


def test_a_look_that_finds_nobody_says_so_in_one_line_with_status_2() -> None:
    result = CliRunner().invoke(commands, ["top", nobody(), "--once"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "no service answers: 127.0.0.1:" in line


def test_somebody_has_to_be_named() -> None:
    result = CliRunner().invoke(commands, ["top"])
    assert result.exit_code == 2
    assert "top requires a HOST:PORT" in result.stderr
