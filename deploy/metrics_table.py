"""`deploy/METRICS.md`, from the table that the instruments are made from: `python -m deploy.metrics_table`."""

from pathlib import Path

from soliloquy.runtime.instruments import Metric, schema

PAGE = Path(__file__).with_name("METRICS.md")

_HEAD = """\
# Metrics

What the services say at `/metrics`, by who says it. [The dashboards](dashboards/README.md) show it, and the alerts of
[RUNBOOK.md](RUNBOOK.md) follow from it. Made by `make docs` from [metrics.toml](../soliloquy/runtime/metrics.toml):
change it there.

Every service also has what its libraries export, under their own names: `faststream_*` (batches of the Kafka client),
`process_*` and `python_*` (the process). Ray has `ray_*` on a port of its own.
"""


def page() -> str:
    exporters = dict.fromkeys(metric.by for metric in schema().values())
    return _HEAD + "".join(_section(exporter) for exporter in exporters)


def _section(exporter: str) -> str:
    rows = "\n".join(_row(metric) for metric in schema().values() if metric.by == exporter)
    return f"\n## {exporter}\n\n| metric | type | unit | labels | |\n| --- | --- | --- | --- | --- |\n{rows}\n"


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    told = f"{metric.help} Raw: on no dashboard and in no rule." if metric.raw else metric.help
    return f"| `{metric.name}` | {metric.type} | {metric.unit} | {labels} | {told} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
