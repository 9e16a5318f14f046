"""Converts a board to Grafana's JSON."""

import re
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.dashboards.board import COLUMNS, Board, Panel

# The Prometheus that the viewer selects.
SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
# Every process that is scraped.
_TARGETS = 'up{job=~".*soliloquy.*"'
# Every board and each of its queries is narrowed down by these, each choice by those before it.
_PLACE = {
    "cluster": f"label_values({_TARGETS}}}, cluster)",
    "namespace": f'label_values({_TARGETS}, cluster=~"$cluster"}}, namespace)',
    "release": f'label_values({_TARGETS}, cluster=~"$cluster", namespace=~"$namespace"}}, release)',
}
# Metrics by their first word. The kubelet's and the GPUs', recorded in platform.yaml, know no release.
_METRIC = re.compile(r"\b((?:soliloquy|ray|faststream|vllm)[_:][a-zA-Z0-9_:]+)(\{)?")
_WITHOUT_RELEASE = ("soliloquy:gpu", "soliloquy:volume")
# Objectives are those of the Prometheus.
_EVERYWHERE = ("soliloquy:slo_target:",)


def encoded(board: Board) -> str:
    return JSONEncoder(sort_keys=True, indent=1).encode(_dashboard(board).build()) + "\n"


def _dashboard(board: Board) -> dashboard.Dashboard:
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags(["soliloquy"])
        .link(_siblings())
        .editable()
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for name, query in {**_PLACE, **{name: placed(query) for name, query in board.choices.items()}}.items():
        made = made.with_variable(_choice(name, query))
    for name, text in board.entries.items():
        first = model.VariableOption(text=text, value=text, selected=True)
        made = made.with_variable(dashboard.TextBoxVariable(name).default_value(text).current(first))
    for each in _placed(board):
        made = made.with_row(each) if isinstance(each, dashboard.Row) else made.with_panel(each)
    return made


def _siblings() -> dashboard.DashboardLink:
    link = dashboard.DashboardLink("Soliloquy").type(model.DashboardLinkType.DASHBOARDS)
    return link.tags(["soliloquy"]).as_dropdown(True).keep_time(True)


def _choice(name: str, query: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .datasource(SOURCE)
        .query(query)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(model.VariableOption(text="All", value="$__all", selected=True))
    )


def placed(query: str) -> str:
    """Narrows every metric of a query down to what is chosen at the top of the board."""

    def narrowed(found: re.Match[str]) -> str:
        metric, selects = found[1], found[2]
        if metric.startswith(_EVERYWHERE):
            return found[0]
        labels = [label for label in _PLACE if label != "release" or not metric.startswith(_WITHOUT_RELEASE)]
        chosen = ", ".join(f'{label}=~"${label}"' for label in labels)
        return f"{metric}{{{chosen}, " if selects else f"{metric}{{{chosen}}}"

    return _METRIC.sub(narrowed, query)


def _placed(board: Board) -> Iterator[dashboard.Row | stat.Panel | timeseries.Panel]:
    """Places panels left to right, top to bottom, with ids in the order of the file."""
    number, y = 0, 0
    for title, panels in board.row.items():
        number += 1
        yield dashboard.Row(title).id(number).grid_pos(model.GridPos(x=0, y=y, w=COLUMNS, h=1))
        y += 1
        for line in _lines(panels):
            x, high = 0, max(panel.high for panel in line)
            for panel in line:
                number += 1
                yield _drawn(panel).id(number).grid_pos(model.GridPos(x=x, y=y, w=panel.wide, h=high))
                x += panel.wide
            y += high


def _lines(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Splits panels into lines that fit the grid."""
    lines: list[list[Panel]] = [[]]
    for panel in panels:
        if sum(other.wide for other in lines[-1]) + panel.wide > COLUMNS:
            lines.append([])
        lines[-1].append(panel)
    return lines


def _drawn(panel: Panel) -> stat.Panel | timeseries.Panel:
    made = _number(panel) if panel.draw == "numbers" else _series(panel)
    made = made.title(panel.title).description(panel.good).datasource(SOURCE).unit(panel.unit).no_value(panel.nothing)
    made = made.thresholds(_thresholds(panel)).mappings(_mappings(panel))
    if panel.least is not None:
        made = made.min(panel.least)
    if panel.digits is not None:
        made = made.decimals(panel.digits)
    if panel.most is not None:
        made = made.max(panel.most)
    for letter, (legend, query) in zip(ascii_uppercase, panel.ask.items(), strict=False):
        target = prometheus.Dataquery().ref_id(letter).expr(placed(query)).legend_format(legend).datasource(SOURCE)
        target = target.format(PromQueryFormat.TIME_SERIES)
        # Only histograms have exemplars: the traces of some of what they count.
        target = target.exemplar("_bucket" in query) if panel.draw != "numbers" else target
        made = made.with_target(target.instant() if panel.draw == "numbers" else target.range())
    return made


def _number(panel: Panel) -> stat.Panel:
    several = len(panel.ask) > 1 or any("{{" in legend for legend in panel.ask)
    shown = options.BigValueTextMode.VALUE_AND_NAME if several else options.BigValueTextMode.VALUE
    return (
        stat.Panel()
        .graph_mode(options.BigValueGraphMode.NONE)
        .color_mode(options.BigValueColorMode.VALUE)
        .text_mode(shown)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    )


def _series(panel: Panel) -> timeseries.Panel:
    made = (
        timeseries.Panel()
        .draw_style(options.GraphDrawStyle.LINE)
        .line_width(1 if panel.draw == "areas" else 2)
        .fill_opacity(30 if panel.draw == "areas" else 0)
        .show_points(options.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .display_mode(options.LegendDisplayMode.LIST)
            .placement(options.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING))
    )
    if panel.draw == "areas":
        made = made.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL).group("A"))
    return made


def _thresholds(panel: Panel) -> dashboard.ThresholdsConfig:
    steps = [model.Threshold(value=None, color="text")]
    if panel.red_from is not None:
        steps = [model.Threshold(value=None, color="green"), model.Threshold(value=panel.red_from, color="red")]
    if panel.red_below is not None:
        steps = [model.Threshold(value=None, color="red"), model.Threshold(value=panel.red_below, color="green")]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps)


def _mappings(panel: Panel) -> list[model.ValueMapping]:
    """Maps missing values and NaN (0 / 0) to the panel's text."""
    none = model.DashboardSpecialValueMapOptions(
        match=model.SpecialValueMatch.NULL_AND_NAN, result=model.ValueMappingResult(text=panel.nothing)
    )
    words = {value: model.ValueMappingResult(text=word) for value, word in panel.words.items()}
    return [*([model.ValueMap(options=words)] if words else []), model.SpecialValueMap(options=none)]
