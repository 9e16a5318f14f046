"""Checks that dashboards query existing metrics and describe healthy panels."""

import json

import pytest

from deploy.dashboards.board import CHART, COLUMNS, Board, Panel, boards
from deploy.dashboards.grafana import encoded
from soliloquy.runtime.metrics import schema
from tests.unit.deploy.queries import exported, filled, named, ruled
from tests.unit.rules import rulebook

BOARDS = boards()


def panels_of(board: Board) -> list[Panel]:
    return [panel for panels in board.row.values() for panel in panels]


PANELS = [
    pytest.param(panel, id=f"{name}: {panel.title}") for name, board in BOARDS.items() for panel in panels_of(board)
]


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_asks_for_what_there_is(panel: Panel) -> None:
    for query in panel.ask.values():
        assert named(filled(query)) <= exported()


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_good_looks_like(panel: Panel) -> None:
    assert len(panel.good) > 20
    assert panel.good.endswith(".")


def test_every_metric_is_on_a_dashboard_or_in_a_rule() -> None:
    asked = ruled().union(
        *(
            named(filled(query))
            for board in BOARDS.values()
            for panel in panels_of(board)
            for query in panel.ask.values()
        )
    )
    seen = {name for name in schema() if any(name in (word, word.rpartition("_")[0]) for word in asked)}
    assert {*schema()} == seen


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_a_dashboard_can_be_found_again_and_leaves_no_hole(board: Board) -> None:
    made = json.loads(encoded(board))
    assert made["uid"] == board.uid
    panels = [panel for panel in made["panels"] if panel["type"] != "row"]
    assert [panel["title"] for panel in panels] == [panel.title for panel in panels_of(board)]
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])
    for y in {panel["gridPos"]["y"] for panel in panels}:
        assert sum(panel["gridPos"]["w"] for panel in panels if panel["gridPos"]["y"] == y) == COLUMNS


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_a_dashboard_is_of_whichever_prometheus_is_chosen(board: Board) -> None:
    made = json.loads(encoded(board))
    assert made["templating"]["list"][0] | {"type": "datasource", "name": "datasource"} == made["templating"]["list"][0]
    asked = [panel | target for panel in made["panels"] for target in panel.get("targets", [])]
    assert {source["datasource"]["uid"] for source in asked} == {"${datasource}"}


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_every_query_is_of_the_chosen_cluster_namespace_and_release(board: Board) -> None:
    made = json.loads(encoded(board))
    variables = [variable["name"] for variable in made["templating"]["list"]]
    assert variables[1:4] == ["cluster", "namespace", "release"]
    for panel in made["panels"]:
        for target in panel.get("targets", []):
            for one in rulebook.named(filled(target["expr"])):
                metric = one.metric or ""
                # What others export of namespaces has no release.
                known = {"release"} if not metric.startswith(("soliloquy:gpu", "soliloquy:volume")) else set()
                assert {"cluster", "namespace"} | known <= one.labels, metric


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_lines_of_histograms_show_exemplars(board: Board) -> None:
    made = json.loads(encoded(board))
    lines = [panel for panel in made["panels"] if panel["type"] == "timeseries"]
    for target in (target for panel in lines for target in panel["targets"]):
        assert target["exemplar"] == ("_bucket" in target["expr"])


def test_the_chart_has_the_dashboards_as_their_files_say() -> None:
    """`make dashboards` writes these files."""
    assert {path.stem: path.read_text("utf-8") for path in CHART.glob("*.json")} == {
        name: encoded(board) for name, board in BOARDS.items()
    }
