"""`soliloquy top`: sums the metrics of all services up, and shows them in a terminal of any width."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import click
from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.parameters import ADDRESS, DURATION
from soliloquy.cli.processes import processes_of_up
from soliloquy.cli.scrape import Interval, Scrape, scrape
from soliloquy.cli.terminal import echo, open_console
from soliloquy.runtime.failure import Failure

# Rates are means over this many scrapes.
_SCRAPES = 6
_GAP = 2
# The figures of a service, a role or all of them, by name.
Row = Mapping[str, Any]
Labels = Mapping[str, str]


@click.command(cls=Command)
@click.argument("addresses", nargs=-1, metavar="[HOST:PORT]...", type=ADDRESS)
@processes_of_up()
def top(
    *,
    every: float = setting("Time between two scrapes.", default="2s", type=DURATION),
    once: bool = setting("Print once and exit; the default if the output is not a terminal."),
    as_json: bool = AS_JSON,
    addresses: tuple[str, ...],
    processes: Mapping[str, str],
) -> None:
    """Show backlog, throughput and cost of running services.

    Reads /metrics at each HOST:PORT, or from the services of `soliloquy up --http-from PORT`. Counts start with a
    service; durations (waits, works, a call) are means of the last seconds.
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
        elif once or not terminal.is_terminal:
            terminal.print(view(next(overviews), terminal.width))
        else:
            with Live(console=terminal, screen=True, auto_refresh=False) as live:
                for now in overviews:
                    live.update(view(now, terminal.width), refresh=True)
    except KeyboardInterrupt:
        return


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    processes: int
    # Why a process did not answer, by its name.
    silent: Mapping[str, str]
    conversations: Row
    stages: Sequence[Row]
    sandbox: Row
    # The model calls of each role, and of all of them.
    roles: Sequence[Row]
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


def overview(now: Interval) -> Overview:
    services = now.sums("soliloquy_lanes", "service")
    roles = now.sums("soliloquy_model_answers_total", "role")
    return Overview(
        processes=len(now.after.samples),
        silent=now.after.silent,
        conversations=_conversations(now),
        stages=[{one.name: one.read(now, {"service": name}) for one in _STAGES} for name in services],
        sandbox=_sandbox(now),
        roles=[{one.name: one.read(now, {"role": name}) for one in _ROLES} for name in roles],
        calls=_calls(now),
    )


def _conversations(now: Interval) -> Row:
    finished = "soliloquy_conversations_finished_total"
    # Each process that reads a topic reports all its dead letters.
    letters: dict[str, float] = {}
    for labels, value in now.series("soliloquy_dead_letters"):
        letters[labels["topic"]] = max(letters.get(labels["topic"], 0.0), value)
    return {
        "under_way": int(now.value("soliloquy_conversations_under_way")),
        "limit": int(now.value("soliloquy_admission_limit")),
        "accepted": int(now.value(finished, outcome="accepted")),
        "rejected": int(now.value(finished, outcome="rejected")),
        "rate": now.rate(finished, outcome="accepted"),
        "turn_seconds": now.mean("soliloquy_turn_seconds"),
        "dead_letters": int(sum(letters.values())),
    }


def _sandbox(now: Interval) -> Row:
    jobs = now.sums("soliloquy_sandbox_jobs_total", "status")
    # Every process exports the metric, but only executors have sandboxes.
    executors = now.sums("soliloquy_lanes", "process", service="executor")
    ready = [value for labels, value in now.series("soliloquy_sandbox_ready") if labels["process"] in executors]
    return {
        "executors": len(executors),
        "ready": int(sum(ready)),
        "busy": int(now.value("soliloquy_sandbox_busy")),
        "rate": now.rate("soliloquy_sandbox_jobs_total"),
        "job_seconds": now.mean("soliloquy_sandbox_job_seconds"),
        "failed": int(sum(count for status, count in jobs.items() if status != "ok")),
        "refused": int(now.value("soliloquy_sandbox_jobs_refused_total")),
        "deaths": int(now.value("soliloquy_sandbox_deaths_total")),
    }


def _calls(now: Interval) -> Row:
    accepted = now.value("soliloquy_conversations_finished_total", outcome="accepted")
    cost = now.value("soliloquy_model_cost_total")
    kinds = now.sums("soliloquy_model_tokens_total", "kind")
    read = sum(kinds.get(kind, 0.0) for kind in ("prompt", "cached", "cache_write"))
    counts = {"in_flight": "in_flight", "width": "width", "faults": "faults_total", "batches": "batches"}
    counts |= {"batched": "batched_requests", "unbatched": "unbatched_requests", "unpriced": "unpriced_tokens_total"}
    return {
        **{name: int(now.value(f"soliloquy_model_{metric}")) for name, metric in counts.items()},
        # Endpoints whose circuit breaker is open.
        "shut": [endpoint for endpoint, shut in now.sums("soliloquy_model_shut", "endpoint").items() if shut],
        "cost": cost,
        # The share of the prompt tokens that caches held.
        "cached": kinds.get("cached", 0.0) / read if read else None,
        # Both include rejected conversations.
        "cost_each": cost / accepted if accepted else None,
        "tokens_each": now.value("soliloquy_conversation_tokens_total") / accepted if accepted else None,
    }


class Figure(NamedTuple):
    """A figure of each row of a table: its name in JSON, where it comes from, and its column if it has one."""

    name: str
    read: Callable[[Interval, Labels], float | str | None]
    title: str = ""
    cell: Callable[[Row], Text | str] = lambda _: ""
    # Columns of the highest rank are left out first.
    rank: int = 0


def _total(metric: str) -> Callable[[Interval, Labels], int]:
    return lambda now, labels: int(now.value(metric, **labels))


def _rate_of(metric: str) -> Callable[[Interval, Labels], float | None]:
    return lambda now, labels: now.rate(metric, **labels)


def _mean_of(metric: str) -> Callable[[Interval, Labels], float | None]:
    return lambda now, labels: now.mean(metric, **labels)


def _oldest(now: Interval, labels: Labels) -> float:
    return max((age for _, age in now.series("soliloquy_oldest_uncommitted_seconds", **labels)), default=0.0)


def _unusable(now: Interval, labels: Labels) -> int:
    """Counts answers that were asked for again, or could never be used."""
    answers = now.sums("soliloquy_model_answers_total", "outcome", **labels)
    return int(answers.get("reasked", 0) + answers.get("failed", 0))


def _replicated(row: Row) -> str:
    return f"{row['service']} x{row['processes']}" if row["processes"] > 1 else str(row["service"])


def _concern(name: str, style: str) -> Callable[[Row], Text]:
    return lambda row: Text(f"{row[name]:,}", style=style if row[name] else "dim")


def _lasting(name: str) -> Callable[[Row], str]:
    return lambda row: _duration(row[name])


def _pace(name: str) -> Callable[[Row], str]:
    return lambda row: _rate(row[name])


def _busy(row: Row) -> str:
    return f"{row['running']} of {row['lanes']}"


def _unread(row: Row) -> Text:
    return Text(_share(row["unreadable"], row["answers"]), style="yellow" if row["unreadable"] else "")


_ANSWERS, _TOKENS = "soliloquy_model_answers_total", "soliloquy_model_tokens_total"
_STAGES = (
    Figure("service", lambda _, of: of["service"], "service", _replicated),
    Figure("processes", lambda now, of: len(now.sums("soliloquy_lanes", "process", **of))),
    Figure("lag", _total("soliloquy_lag_events"), "lag", lambda row: f"{row['lag']:,}"),
    Figure("oldest_seconds", _oldest, "oldest", _lasting("oldest_seconds"), 3),
    Figure("rate", _rate_of("soliloquy_events_succeeded_total"), "done/s", _pace("rate")),
    Figure("running", _total("soliloquy_lanes_in_use"), "running", _busy, 2),
    Figure("lanes", _total("soliloquy_lanes")),
    Figure("waits_seconds", _mean_of("soliloquy_queue_seconds"), "waits", _lasting("waits_seconds"), 4),
    Figure("works_seconds", _mean_of("soliloquy_handler_seconds"), "works", _lasting("works_seconds"), 4),
    Figure("retries", _total("soliloquy_handler_retries_total"), "again", _concern("retries", "yellow"), 5),
    Figure("parked", _total("soliloquy_events_parked_total"), "parked", _concern("parked", "yellow"), 5),
    Figure("given_up", _total("soliloquy_events_dead_total"), "given up", _concern("given_up", "bold red"), 1),
)
_ROLES = (
    Figure("role", lambda _, of: of["role"], "asks the model", lambda row: row["role"]),
    Figure("answers", _total(_ANSWERS)),
    Figure("rate", _rate_of(_ANSWERS), "asked/s", _pace("rate")),
    Figure("call_seconds", _mean_of("soliloquy_model_seconds"), "a call", _lasting("call_seconds"), 2),
    Figure("tokens_per_second", _rate_of(_TOKENS), "tokens/s", _pace("tokens_per_second"), 3),
    Figure("cost", lambda now, of: now.value("soliloquy_model_cost_total", **of), "cost", lambda row: _cost(row), 4),
    Figure("unpriced", _total("soliloquy_model_unpriced_tokens_total")),
    Figure("unreadable", _unusable, "unreadable", _unread, 1),
)


def view(now: Overview, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(line, style="bold red") for line in now.silent.values()]
    if letters := now.conversations["dead_letters"]:
        parts.append(Text(f"{letters:,} dead letters: run soliloquy dlq list", style="bold red"))
    parts += [Text(f"circuit breaker open: {shut}", style="bold red") for shut in now.calls["shut"]]
    lines = [_of_conversations(now.conversations), _of_calls(now.calls), _of_sandbox(now.sandbox)]
    parts += [Columns(words, padding=(0, _GAP, 0, 0)) for words in lines]
    parts += [Text(), _table(_STAGES, now.stages, width)]
    if now.roles:
        parts += [Text(), _table(_ROLES, now.roles, width)]
    return Group(*parts)


def _table(figures: Sequence[Figure], rows: Sequence[Row], width: int) -> Table:
    columns = [one for one in figures if one.title]
    cells = [[one.cell(row) for row in rows] for one in columns]
    wide = [max(map(cell_len, [one.title, *map(str, below)])) for one, below in zip(columns, cells, strict=True)]
    shown = list(range(len(columns)))
    while sum(wide[place] + _GAP for place in shown) - _GAP > width and len(shown) > 1:
        shown.remove(max(shown, key=lambda place: columns[place].rank))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place in shown:
        table.add_column(columns[place].title, justify="right" if place else "left", no_wrap=True)
    for row in range(len(rows)):
        table.add_row(*(cells[place][row] for place in shown))
    return table


def _of_conversations(now: Row) -> Iterator[Text]:
    yield _words("accepted", f"{now['accepted']:,}", "bold green")
    yield _words("rejected", f"{now['rejected']:,} ({_share(now['rejected'], now['accepted'] + now['rejected'])})")
    if now["rate"] is not None:
        yield _words("a minute", f"{60 * now['rate']:,.0f}")
    yield _words("under way", f"{now['under_way']} of {now['limit']}" if now["limit"] else "none")
    if now["turn_seconds"] is not None:
        yield _words("an answer", _duration(now["turn_seconds"]))


def _of_calls(calls: Row) -> Iterator[Text]:
    yield _words("cost", _cost(calls))
    if calls["cached"]:
        yield _words("read from caches", f"{calls['cached']:.0%}")
    if calls["cost_each"]:
        yield _words("an accepted one", _money(calls["cost_each"]))
    if calls["tokens_each"]:
        yield _words("its tokens", f"{calls['tokens_each']:,.0f}")
    if calls["width"]:
        yield _words("calls at once", f"{calls['in_flight']} of {calls['width']:,}")
        yield _words("faults", f"{calls['faults']:,}")
    if calls["batches"] or calls["unbatched"]:
        yield _words("batches", f"{calls['batches']:,} of {calls['batched']:,} requests")
        yield _words("for the next", f"{calls['unbatched']:,}")


def _of_sandbox(now: Row) -> Iterator[Text]:
    if not now["executors"]:
        yield Text("no executor answers", style="bold red")
        return
    style = "" if now["ready"] == now["executors"] else "bold red"
    yield _words("sandbox", f"{now['ready']} of {now['executors']} ready", style)
    yield _words("jobs/s", _rate(now["rate"]))
    yield _words("a job", _duration(now["job_seconds"]))
    counts = {"in it": ("busy", ""), "failed": ("failed", ""), "refused": ("refused", "yellow")}
    for word, (name, style) in (counts | {"died": ("deaths", "bold red")}).items():
        if now[name]:
            yield _words(word, f"{now[name]:,}", style)


def _words(word: str, figure: str, style: str = "") -> Text:
    return Text.assemble((f"{word} ", "dim"), (figure, style))


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
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 10 else f"{amount:.3g}"
