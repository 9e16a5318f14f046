"""Writes `deploy/METRICS.md` from the table that defines the instruments: `python -m deploy.metrics_table`."""

from pathlib import Path

from soliloquy.runtime.metrics import Metric, schema

PAGE = Path(__file__).with_name("METRICS.md")

_HEAD = """\
# Metrics

The metrics that services export at `/metrics`, by exporter. [The dashboards](dashboards/README.md) show them, and
the alerts in [RUNBOOK.md](RUNBOOK.md) use them. `make docs` writes this page from
[metrics.toml](../soliloquy/runtime/metrics.toml): edit that file.

Services also export their libraries' metrics: `faststream_*` (batches of the Kafka client), `process_*` and `python_*`
(the process). The model service exports vLLM's `vllm:*` beside its own, if that is the engine, and Ray `ray_*` on
another port; the chart has Prometheus keep what rules and dashboards read of both
([scraped.yaml](helm/soliloquy/files/scraped.yaml)).
"""


def page() -> str:
    exporters = dict.fromkeys(metric.by for metric in schema().values())
    return _HEAD + "".join(_section(exporter) for exporter in exporters)


def _section(exporter: str) -> str:
    rows = "\n".join(_row(metric) for metric in schema().values() if metric.by == exporter)
    return f"\n## {exporter}\n\n| metric | type | unit | labels | |\n| --- | --- | --- | --- | --- |\n{rows}\n"


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.type} | {metric.unit} | {labels} | {metric.help} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
