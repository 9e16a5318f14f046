"""Shows the overview in a terminal of any width; columns that do not fit are left out by their rank."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from soliloquy.cli.top.overview import ConversationCounts, EndpointCalls, Overview, RoleCalls, SandboxLoad, StageLoad


class Column(NamedTuple):
    title: str
    cell: Callable[[Any], Text]
    # Columns of the highest rank are left out first.
    rank: int = 0


_STAGES = (
    Column("service", lambda stage: Text(stage.service + (f" x{stage.processes}" if stage.processes > 1 else ""))),
    Column("lag", lambda stage: Text(f"{stage.lag:,}")),
    Column("oldest", lambda stage: Text(_duration(stage.oldest_seconds)), 3),
    Column("done/s", lambda stage: Text(_rate(stage.rate))),
    Column("running", lambda stage: Text(f"{stage.running} of {stage.lanes}"), 2),
    Column("waits", lambda stage: Text(_duration(stage.waits_seconds)), 4),
    Column("works", lambda stage: Text(_duration(stage.works_seconds)), 4),
    Column("again", lambda stage: _concern(stage.retries, "yellow"), 5),
    Column("parked", lambda stage: _concern(stage.parked, "yellow"), 5),
    Column("given up", lambda stage: _concern(stage.given_up, "bold red"), 1),
)
_ROLES = (
    Column("asks the model", lambda role: Text(role.role)),
    Column("asked/s", lambda role: Text(_rate(role.rate))),
    Column("a call", lambda role: Text(_duration(role.call_seconds)), 2),
    Column("tokens/s", lambda role: Text(_rate(role.tokens_per_second)), 3),
    Column("cost", lambda role: Text(_cost(role.cost, role.unpriced)), 4),
    Column("unreadable", lambda role: _unreadable(role), 1),
)
_GAP = 2


def view(overview: Overview, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(line, style="bold red") for line in overview.silent.values()]
    if letters := overview.conversations.dead_letters:
        parts.append(Text(f"{letters:,} dead letters: run soliloquy dlq list", style="bold red"))
    parts += [Text(f"circuit breaker open: {shut}", style="bold red") for shut in overview.calls.shut]
    lines = [_conversations(overview.conversations), _costs(overview.calls), _sandbox(overview.sandbox)]
    parts += [Columns(words, padding=(0, _GAP, 0, 0)) for words in lines]
    tables = [_table(_STAGES, overview.stages, width)]
    if overview.roles:
        tables.append(_table(_ROLES, overview.roles, width))
    return Group(*parts, *(part for table in tables for part in (Text(), table)))


def _conversations(now: ConversationCounts) -> list[Text]:
    words = [_words("accepted", f"{now.accepted:,}", "bold green")]
    words.append(_words("rejected", f"{now.rejected:,} ({_share(now.rejected, now.accepted + now.rejected)})"))
    if now.rate is not None:
        words.append(_words("a minute", f"{60 * now.rate:,.0f}"))
    words.append(_words("under way", f"{now.under_way} of {now.limit}" if now.limit else "none"))
    if now.turn_seconds is not None:
        words.append(_words("an answer", _duration(now.turn_seconds)))
    return words


def _costs(calls: EndpointCalls) -> list[Text]:
    words = [_words("cost", _cost(calls.cost, calls.unpriced))]
    if calls.cached:
        words.append(_words("read from caches", f"{calls.cached:.0%}"))
    if calls.cost_each:
        words.append(_words("an accepted one", _money(calls.cost_each)))
    if calls.tokens_each:
        words.append(_words("its tokens", f"{calls.tokens_each:,.0f}"))
    if calls.width:
        words.append(_words("calls at once", f"{calls.in_flight} of {calls.width:,}"))
        words.append(_words("faults", f"{calls.faults:,}"))
    if calls.batches or calls.unbatched:
        words.append(_words("batches", f"{calls.batches:,} of {calls.batched:,} requests"))
        words.append(_words("for the next", f"{calls.unbatched:,}"))
    return words


def _cost(cost: float, unpriced: int) -> str:
    """Returns the known cost, and how many tokens have no known price."""
    if not unpriced:
        return _money(cost)
    return f"{_money(cost) + ' and ' if cost else ''}{unpriced:,} unpriced tokens"


def _sandbox(now: SandboxLoad) -> list[Text]:
    if not now.executors:
        return [Text("no executor answers", style="bold red")]
    all_ready = now.ready == now.executors
    words = [_words("sandbox", f"{now.ready} of {now.executors} ready", "" if all_ready else "bold red")]
    words += [_words("jobs/s", _rate(now.rate)), _words("a job", _duration(now.job_seconds))]
    counts = {"in it": (now.busy, ""), "failed": (now.failed, ""), "refused": (now.refused, "yellow")}
    counts["died"] = (now.deaths, "bold red")
    return words + [_words(word, f"{count:,}", style) for word, (count, style) in counts.items() if count]


def _table(columns: Sequence[Column], rows: Sequence[StageLoad] | Sequence[RoleCalls], width: int) -> Table:
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


def _words(word: str, figure: str, style: str = "") -> Text:
    return Text.assemble((f"{word} ", "dim"), (figure, style))


def _unreadable(role: RoleCalls) -> Text:
    return Text(_share(role.unreadable, role.answers), style="yellow" if role.unreadable else "")


def _concern(count: int, style: str) -> Text:
    return Text(f"{count:,}", style=style if count else "dim")


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
