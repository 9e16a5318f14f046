"""Writes the table in the chart's README, from the `# --` lines of values.yaml, and the defaults for templates.

Templates cannot read values.yaml itself. Run `python -m deploy.values_table`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_CHART = Path(__file__).parent / "helm/soliloquy"
VALUES = _CHART / "values.yaml"
PAGE = _CHART / "README.md"
DEFAULTS = _CHART / "files/defaults.yaml"
_BEGIN, _END = "<!-- values -->", "<!-- /values -->"
_KEY = re.compile(r"(?P<indent> *)(?P<name>[\w./-]+):(?: |$)")
_DOC = re.compile(r" *# -- (?P<text>.*)")


@dataclass(frozen=True, kw_only=True)
class Value:
    path: str
    default: Any
    told: str


def values() -> Iterator[Value]:
    """Yields every documented value."""
    text = VALUES.read_text("utf-8")
    defaults = yaml.safe_load(text)
    above: list[tuple[int, str]] = []
    told = ""
    for line in text.splitlines():
        if doc := _DOC.fullmatch(line):
            told = doc["text"]
        elif key := _KEY.match(line):
            above = [*((indent, name) for indent, name in above if indent < len(key["indent"]))]
            above.append((len(key["indent"]), key["name"]))
            names = [name for _, name in above]
            default = defaults
            for name in names:
                default = default[name]
            if told:
                yield Value(path=".".join(names), default=default, told=told)
            told = ""


def page() -> str:
    head, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    rows = "".join(f"| `{value.path}` | {_default(value.default)} | {_cell(value.told)} |\n" for value in values())
    return f"{head}{_BEGIN}\n| value | default | |\n| --- | --- | --- |\n{rows}{_END}{tail}"


def defaults() -> str:
    head = "# values.yaml for templates: `python -m deploy.values_table` writes this file.\n"
    values = yaml.safe_load(VALUES.read_text("utf-8"))
    return head + "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())


def _default(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return "" if value in ("", None, {}, []) else f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    DEFAULTS.write_text(defaults(), "utf-8")
