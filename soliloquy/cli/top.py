"""`soliloquy top`: sums the metrics of all services up, and shows them in a terminal."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from soliloquy.cli.command import Command, setting
from soliloquy.cli.observe import processes_of_up
from soliloquy.cli.options import ADDRESS, AS_JSON, DURATION
from soliloquy.cli.progress import duration
from soliloquy.cli.scraping import Interval, Scrape, scrape
from soliloquy.cli.terminal import echo, is_screen, open_console
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.v1.events_pb2 import TurnHeld

# Rates are means over this many scrapes.
_SCRAPES = 6
_GAP = 2
_HELD = TOPIC_OF[TurnHeld].name
# The figures of a service or of all of them, by name.
Row = Mapping[str, Any]


@click.command(cls=Command)
@click.argument("addresses", nargs=-1, metavar="[HOST:PORT]...", type=ADDRESS)
def top(
    *,
    every: float = setting("Time between two scrapes.", default="2s", type=DURATION),
    once: bool = setting("Print once and exit; the default if the output is not a terminal."),
    as_json: bool = AS_JSON,
    addresses: tuple[str, ...],
    processes: Mapping[str, str] = processes_of_up(),
) -> None:
    """Show backlog, throughput and cost of running services.

    Reads /metrics at each HOST:PORT, or from the services of `soliloquy up --http-from PORT`. Counts start with a
    service; rates are means of the last seconds.
    """
    named = {address: address for address in addresses} | dict(processes)
    if not named:
        raise click.UsageError("top requires a HOST:PORT, or the --http-from PORT of soliloquy up")
    terminal = open_console()
    overviews = _overviews(named, every)
    try:
        if as_json:
            for now in overviews:
                echo(json.dumps(asdict(now)))
                if once:
                    return
        elif once or not is_screen(terminal):
            terminal.print(view(next(overviews)))
        else:
            with Live(console=terminal, screen=True, auto_refresh=False) as live:
                for now in overviews:
                    live.update(view(now), refresh=True)
    except KeyboardInterrupt:
        return


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    processes: int
    # Why a process did not answer, by its name.
    silent: Mapping[str, str]
    # Why a process that answers does not serve, by its name.
    faults: Mapping[str, str]
    conversations: Row
    stages: Sequence[Row]
    calls: Row


def _overviews(named: Mapping[str, str], every: float) -> Iterator[Overview]:
    """Yields an overview after each scrape, the first one after the second scrape."""
    scrapes: deque[Scrape] = deque([scrape(named)], maxlen=_SCRAPES)
    if not scrapes[0].samples:
        raise Failure(f"no service answers: {next(iter(scrapes[0].silent.values()))}")
    while True:
        time.sleep(every)
        scrapes.append(scrape(named))
        yield overview(Interval(before=scrapes[0], after=scrapes[-1]))


# By their name in JSON, how figures are read of an interval, and from which metric.
Figures = Mapping[str, tuple[Callable[..., Any], str]]

_CONVERSATIONS: Figures = {
    "under_way": (Interval.total, "conversations_under_way"),
    "limit": (Interval.total, "admission_limit"),
    "turn_seconds": (Interval.mean, "turn_seconds"),
}
_CALLS: Figures = {
    "batches": (Interval.total, "model_batches"),
    "batched": (Interval.total, "model_batched_requests"),
    "unbatched": (Interval.total, "model_unbatched_requests"),
    "unpriced": (Interval.total, "model_unpriced_tokens_total"),
    "cost": (Interval.value, "model_cost_total"),
}
_STAGE: Figures = {
    "lag": (Interval.total, "lag_events"),
    "rate": (Interval.rate, "events_succeeded_total"),
    "given_up": (Interval.total, "events_dead_total"),
}


def overview(now: Interval) -> Overview:
    return Overview(
        processes=len(now.after.samples),
        silent=now.after.silent,
        faults=now.after.faults,
        conversations=_conversations(now),
        stages=[_stage(now, name) for name in now.sums("soliloquy_lanes", "service")],
        calls=_calls(now),
    )


def _read(now: Interval, figures: Figures, **labels: str) -> dict[str, Any]:
    return {name: read(now, f"soliloquy_{metric}", **labels) for name, (read, metric) in figures.items()}


def _conversations(now: Interval) -> Row:
    finished = "soliloquy_conversations_finished_total"
    # Each process that reads a topic reports all its dead letters.
    letters: dict[str, float] = {}
    for labels, value in now.series("soliloquy_dead_letters"):
        letters[labels["topic"]] = max(letters.get(labels["topic"], 0.0), value)
    return {
        **_read(now, _CONVERSATIONS),
        "held": now.total("soliloquy_lag_events", topic=_HELD),
        **{outcome: now.total(finished, outcome=outcome) for outcome in ("accepted", "rejected")},
        "rate": now.rate(finished, outcome="accepted"),
        "dead_letters": int(sum(letters.values())),
    }


def _stage(now: Interval, service: str) -> Row:
    oldest = now.series("soliloquy_oldest_uncommitted_seconds", service=service)
    return {
        "service": service,
        "processes": len(now.sums("soliloquy_lanes", "process", service=service)),
        "oldest_seconds": max((age for _, age in oldest), default=0.0),
        **_read(now, _STAGE, service=service),
    }


def _calls(now: Interval) -> Row:
    accepted = now.value("soliloquy_conversations_finished_total", outcome="accepted")
    kinds = now.sums("soliloquy_model_tokens_total", "kind")
    read = sum(kinds.get(kind, 0.0) for kind in ("prompt", "cached", "cache_write"))
    figures = _read(now, _CALLS)
    return {
        **figures,
        # Endpoints whose circuit breaker is open.
        "shut": [endpoint for endpoint, shut in now.sums("soliloquy_model_shut", "endpoint").items() if shut],
        # The share of the prompt tokens that caches held.
        "cached": kinds.get("cached", 0.0) / read if read else None,
        # Both include rejected conversations.
        "cost_each": figures["cost"] / accepted if accepted else None,
        "tokens_each": now.value("soliloquy_conversation_tokens_total") / accepted if accepted else None,
    }


def view(now: Overview) -> RenderableType:
    parts: list[RenderableType] = [Text(line, style="bold red") for line in now.silent.values()]
    parts += [Text(f"{name}: {fault}", style="bold red") for name, fault in now.faults.items()]
    if letters := now.conversations["dead_letters"]:
        parts.append(Text(f"{letters:,} dead letters: run soliloquy dlq list", style="bold red"))
    parts += [Text(f"circuit breaker open: {shut}", style="bold red") for shut in now.calls["shut"]]
    for line in (_of_conversations(now.conversations), _of_calls(now.calls)):
        words = [Text.assemble((f"{word} ", "dim"), (figure, style)) for word, figure, style in line if figure]
        parts.append(Columns(words, padding=(0, _GAP, 0, 0)))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place, title in enumerate(("service", "lag", "oldest", "done/s", "failed")):
        table.add_column(title, justify="right" if place else "left", no_wrap=True)
    for row in now.stages:
        name = row["service"] + (f" x{row['processes']}" if row["processes"] > 1 else "")
        failed = Text(f"{row['given_up']:,}", style="bold red" if row["given_up"] else "dim")
        table.add_row(name, f"{row['lag']:,}", _duration(row["oldest_seconds"]), _rate(row["rate"]), failed)
    return Group(*parts, Text(), table)


# A word, its figure, which is left out if it is empty, and its style.
Words = Iterator[tuple[str, str, str]]


def _of_conversations(now: Row) -> Words:
    yield "accepted", f"{now['accepted']:,}", "bold green"
    yield "rejected", f"{now['rejected']:,} ({_share(now['rejected'], now['accepted'] + now['rejected'])})", ""
    yield "a minute", "" if now["rate"] is None else f"{60 * now['rate']:,.0f}", ""
    held = f" ({now['held']} held)" if now["held"] else ""
    yield "under way", f"{now['under_way']} of {now['limit']}{held}" if now["limit"] else "none", ""
    yield "an answer", "" if now["turn_seconds"] is None else _duration(now["turn_seconds"]), ""


def _of_calls(calls: Row) -> Words:
    batched = calls["batches"] or calls["unbatched"]
    yield "cost", _cost(calls), ""
    yield "read from caches", f"{calls['cached']:.0%}" if calls["cached"] else "", ""
    yield "an accepted one", _money(calls["cost_each"]) if calls["cost_each"] else "", ""
    yield "its tokens", f"{calls['tokens_each']:,.0f}" if calls["tokens_each"] else "", ""
    yield "batches", f"{calls['batches']:,} of {calls['batched']:,} requests" if batched else "", ""
    yield "for the next", f"{calls['unbatched']:,}" if batched else "", ""


def _cost(row: Row) -> str:
    """Returns the known cost, and how many tokens have no known price."""
    if not row["unpriced"]:
        return _money(row["cost"])
    return f"{_money(row['cost']) + ' and ' if row['cost'] else ''}{row['unpriced']:,} unpriced tokens"


def _share(count: float, whole: float) -> str:
    return f"{100 * count / whole:.1f} %" if whole else "–"


def _rate(rate: float | None) -> str:
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _duration(seconds: float | None) -> str:
    """Formats as 12 ms, 3.4 s, 5 min or 2 h 10 min."""
    if seconds is None:
        return "–"
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 59.95 else duration(max(seconds, 60))


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 10 else f"{amount:.3g}"
