"""Writes the chart's topics, for KafkaTopics: `python -m deploy.topics_file`."""

import json
from pathlib import Path

from soliloquy.runtime.topics import is_spread, shapes

FILE = Path(__file__).parent / "helm/soliloquy/files/topics.yaml"
_HEADER = "# Every topic, from soliloquy/runtime/topics.toml: `python -m deploy.topics_file` writes this file.\n"


def text() -> str:
    rows = (
        {
            "name": shape.topic,
            # The chart's value says it for spread topics.
            "partitions": 0 if is_spread(shape.topic) else shape.partitions,
            "replicas": shape.replication,
            "config": dict(sorted(shape.configs.items())),
        }
        for shape in shapes()
    )
    return _HEADER + "".join(f"- {json.dumps(row)}\n" for row in rows)


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
