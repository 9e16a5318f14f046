"""The standing in a terminal of any width: what does not fit is left out, the least telling first."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from soliloquy.cli.top.standing import Calls, Conversations, Role, Sandbox, Stage, Standing


class Column(NamedTuple):
    title: str
    cell: Callable[[Any], Text]
    # Those of the highest rank go first where there is no room for all.
    rank: int = 0


_STAGES = (
    Column("service", lambda stage: Text(stage.service + (f" x{stage.processes}" if stage.processes > 1 else ""))),
    Column("lag", lambda stage: Text(f"{stage.lag:,}")),
    Column("oldest", lambda stage: Text(_lasting(stage.oldest_seconds)), 3),
    Column("done/s", lambda stage: Text(_pace(stage.rate))),
    Column("running", lambda stage: Text(f"{stage.running} of {stage.lanes}"), 2),
    Column("waits", lambda stage: Text(_lasting(stage.waits_seconds)), 4),
    Column("works", lambda stage: Text(_lasting(stage.works_seconds)), 4),
    Column("again", lambda stage: _concern(stage.retries, "yellow"), 5),
    Column("parked", lambda stage: _concern(stage.parked, "yellow"), 5),
    Column("given up", lambda stage: _concern(stage.given_up, "bold red"), 1),
)
_ROLES = (
    Column("asks the model", lambda role: Text(role.role)),
    Column("asked/s", lambda role: Text(_pace(role.rate))),
    Column("a call", lambda role: Text(_lasting(role.call_seconds)), 2),
    Column("tokens/s", lambda role: Text(_pace(role.tokens)), 3),
    Column("cost", lambda role: Text(_money(role.cost)), 4),
    Column("unreadable", lambda role: _unreadable(role), 1),
)
_GAP = 2


def view(standing: Standing, width: int) -> RenderableType:
    parts = [Text(line, style="bold red") for line in standing.silent.values()]
    if letters := standing.conversations.dead_letters:
        parts.append(Text(f"{letters:,} dead letters: soliloquy dlq list says why", style="bold red"))
    parts += [Text(f"{shut} answers nobody and is left in peace", style="bold red") for shut in standing.calls.shut]
    told = [_conversations(standing.conversations), _costs(standing.calls), _sandbox(standing.sandbox)]
    parts += [_wrapped(words, width) for words in told]
    tables = [_table(_STAGES, standing.stages, width)]
    if standing.roles:
        tables.append(_table(_ROLES, standing.roles, width))
    return Group(*parts, *(part for table in tables for part in (Text(), table)))


def _conversations(now: Conversations) -> list[Text]:
    told = [_words("accepted", f"{now.accepted:,}" + (f" of {now.wanted:,}" if now.wanted else ""), "bold green")]
    told.append(_words("rejected", f"{now.rejected:,} ({_part(now.rejected, now.accepted + now.rejected)})"))
    if now.rate is not None:
        told.append(_words("a minute", f"{60 * now.rate:,.0f}"))
    if now.wanted:
        told.append(_words("left", _lasting(now.seconds_left)))
    told.append(_words("under way", f"{now.under_way} of {now.limit}" if now.limit else "none"))
    if now.turn_seconds is not None:
        told.append(_words("an answer", _lasting(now.turn_seconds)))
    return told


def _costs(calls: Calls) -> list[Text]:
    told = [_words("cost", _money(calls.cost))]
    if calls.cost_each:
        told.append(_words("an accepted one", _money(calls.cost_each)))
    if calls.tokens_each:
        told.append(_words("its tokens", f"{calls.tokens_each:,.0f}"))
    if calls.width:
        told.append(_words("calls at once", f"{calls.in_flight} of {calls.width:,}"))
        told.append(_words("faults", f"{calls.faults:,}"))
    return told


def _sandbox(now: Sandbox) -> list[Text]:
    if not now.executors:
        return [Text("no executor answers", style="bold red")]
    sound = now.ready == now.executors
    told = [_words("sandbox", f"{now.ready} of {now.executors} ready", "" if sound else "bold red")]
    told += [_words("jobs/s", _pace(now.rate)), _words("a job", _lasting(now.job_seconds))]
    counts = {"in it": (now.busy, ""), "failed": (now.failed, ""), "refused": (now.refused, "yellow")}
    counts["died"] = (now.deaths, "bold red")
    return told + [_words(word, f"{count:,}", style) for word, (count, style) in counts.items() if count]


def _table(columns: Sequence[Column], rows: Sequence[Stage] | Sequence[Role], width: int) -> Table:
    cells = [[column.cell(row) for row in rows] for column in columns]
    wide = [max(map(cell_len, [column.title, *map(str, below)])) for column, below in zip(columns, cells, strict=True)]
    shown = list(range(len(columns)))
    while sum(wide[place] + _GAP for place in shown) - _GAP > width and len(shown) > 1:
        shown.remove(max(shown, key=lambda place: columns[place].rank))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place in shown:
        table.add_column(columns[place].title, justify="right" if place else "left", no_wrap=True)
    for row in range(len(rows)):
        table.add_row(*(cells[place][row] for place in shown))
    return table


def _wrapped(words: Sequence[Text], width: int) -> Text:
    """Side by side, in as many lines as it takes to tear none apart."""
    text, reached = Text(), 0
    for each in words:
        if reached and reached + _GAP + each.cell_len > width:
            text.append("\n")
            reached = 0
        elif reached:
            text.append(" " * _GAP)
            reached += _GAP
        text.append(each)
        reached += each.cell_len
    return text


def _words(word: str, figure: str, style: str = "") -> Text:
    return Text.assemble((f"{word} ", "dim"), (figure, style))


def _unreadable(role: Role) -> Text:
    return Text(_part(role.unreadable, role.answers), style="yellow" if role.unreadable else "")


def _concern(count: int, style: str) -> Text:
    return Text(f"{count:,}", style=style if count else "dim")


def _part(count: float, whole: float) -> str:
    return f"{100 * count / whole:.1f} %" if whole else "–"


def _pace(rate: float | None) -> str:
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _lasting(seconds: float | None) -> str:
    """12 ms, 3.4 s, 5 min, 2 h 10 min."""
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
