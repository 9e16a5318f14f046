"""Writes every dashboard into the chart."""

from deploy.dashboards.board import CHART, boards
from deploy.dashboards.grafana import encoded

for name, board in boards().items():
    path = CHART / f"{name}.json"
    path.write_text(encoded(board), "utf-8")
