"""The standing in a terminal of any width: what does not fit is left out, the least telling first."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.top.standing import Conversations, Role, Sandbox, Stage, Standing


class Column(NamedTuple):
    title: str
    cell: Callable[[Any], RenderableType]
    # Shown in terminals that are at least so wide.
    from_width: int = 0


_STAGES: Sequence[Column] = (
    Column("service", lambda stage: stage.service + (f" x{stage.processes}" if stage.processes > 1 else "")),
    Column("lag", lambda stage: f"{stage.lag:,}"),
    Column("oldest", lambda stage: lasting(stage.oldest_seconds), 56),
    Column("done/s", lambda stage: pace(stage.rate)),
    Column("running", lambda stage: f"{stage.running} of {stage.lanes}", 48),
    Column("waits", lambda stage: lasting(stage.waits_seconds), 64),
    Column("works", lambda stage: lasting(stage.works_seconds), 64),
    Column("again", lambda stage: concern(stage.retries, "yellow"), 72),
    Column("parked", lambda stage: concern(stage.parked, "yellow"), 80),
    Column("given up", lambda stage: concern(stage.given_up, "bold red")),
)
_ROLES: Sequence[Column] = (
    Column("asks the model", lambda role: role.role),
    Column("asked/s", lambda role: pace(role.rate)),
    Column("a call", lambda role: lasting(role.call_seconds), 48),
    Column("tokens/s", lambda role: pace(role.tokens), 56),
    Column("cost", lambda role: money(role.cost), 64),
    Column("unreadable", lambda role: _unreadable(role)),
)


def view(standing: Standing, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(line, style="bold red") for line in standing.silent.values()]
    parts += [_conversations(standing.conversations), _cost(standing), Text()]
    parts += [_table(_STAGES, standing.stages, width), Text(), _sandbox(standing.sandbox)]
    if standing.roles:
        parts += [Text(), _table(_ROLES, standing.roles, width), _endpoints(standing)]
    return Group(*parts)


def _conversations(now: Conversations) -> Text:
    of = f" of {now.wanted:,}" if now.wanted else ""
    line = Text.assemble(("accepted ", "dim"), (f"{now.accepted:,}", "bold green"), of)
    _add(line, "rejected", f"{now.rejected:,}", _part(now.rejected, now.accepted + now.rejected))
    if now.rate is not None:
        _add(line, "a minute", f"{60 * now.rate:,.0f}")
    if now.wanted:
        _add(line, "left", lasting(now.seconds_left))
    _add(line, "under way", f"{now.under_way} of {now.limit}" if now.limit else "none")
    if now.turn_seconds is not None:
        _add(line, "an answer", lasting(now.turn_seconds))
    if now.dead_letters:
        line.append(f"  {now.dead_letters:,} dead letters: soliloquy dlq list says why", style="bold red")
    return line


def _cost(standing: Standing) -> Text:
    calls = standing.calls
    line = Text.assemble(("cost ", "dim"), money(calls.cost))
    if calls.cost_each:
        _add(line, "an accepted one", money(calls.cost_each))
    if calls.tokens_each:
        _add(line, "tokens of one", f"{calls.tokens_each:,.0f}")
    return line


def _sandbox(now: Sandbox) -> Text:
    if not now.executors:
        return Text("no executor answers", style="bold red")
    ready = Text(f"{now.ready} of {now.executors} ready", style="" if now.ready == now.executors else "bold red")
    line = Text.assemble(("sandbox ", "dim"), ready)
    _add(line, "jobs/s", pace(now.rate))
    _add(line, "a job", lasting(now.job_seconds))
    _add(line, "in it", str(now.busy))
    for word, count, style in (
        ("failed", now.failed, ""),
        ("refused", now.refused, "yellow"),
        ("died", now.deaths, "bold red"),
    ):
        if count:
            line.append(f"  {word} ", style="dim").append(f"{count:,}", style=style)
    return line


def _endpoints(standing: Standing) -> Text:
    calls = standing.calls
    line = Text()
    if calls.width:
        line = Text.assemble(("calls at once ", "dim"), f"{calls.in_flight} of {calls.width}")
        _add(line, "faults", f"{calls.faults:,}")
    for endpoint in calls.shut:
        line.append(f"  {endpoint} answers nobody and is left in peace", style="bold red")
    return line


def _table(columns: Sequence[Column], rows: Sequence[Stage] | Sequence[Role], width: int) -> Table:
    shown = [column for column in columns if width >= column.from_width]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, column in enumerate(shown):
        table.add_column(column.title, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(column.cell(row) for column in shown))
    return table


def _add(line: Text, word: str, figure: str, aside: str = "") -> None:
    line.append(f"  {word} ", style="dim").append(figure).append(f" ({aside})" if aside else "", style="dim")


def _unreadable(role: Role) -> Text:
    return Text(_part(role.unreadable, role.answers), style="yellow" if role.unreadable else "")


def _part(count: float, whole: float) -> str:
    return f"{100 * count / whole:.1f} %" if whole else "–"


def concern(count: int, style: str) -> Text:
    return Text(f"{count:,}", style=style if count else "dim")


def pace(rate: float | None) -> str:
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def lasting(seconds: float | None) -> str:
    """12 ms, 3.4 s, 5 min, 2 h 10 min."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def money(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 10 else f"{amount:.3g}"
