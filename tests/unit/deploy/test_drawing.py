"""Checks pictures of dashboards: small enough for the repository, with every number in its unit."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.dashboards.board import boards
from deploy.dashboards.grafana import encoded
from tests.observability.asking import Line
from tests.observability.units import told

MOST_BYTES = 300_000


def answered(query: str, now: bool) -> Sequence[Line]:
    """Answers with two series, one with a gap, and with nothing for one query."""
    if "rounds" in query:
        return []
    times = [1.8e9] if now else [1.8e9 + 2 * number for number in range(100)]
    waves = [[(at, 5 + math.sin(at / 20 + series)) for at in times] for series in range(2)]
    waves[1][0] = (times[0], math.nan)
    return [({"service": f"service-{number}"}, points) for number, points in enumerate(waves)]


def test_a_picture_of_a_dashboard_is_small(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install 'soliloquy[train]'")
    from tests.observability.drawing import draw

    draw(json.loads(encoded(boards()["training"])), answered, (1.8e9, 1.8e9 + 200), tmp_path / "drawn.png")
    picture = (tmp_path / "drawn.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert 10_000 < len(picture) < MOST_BYTES


@pytest.mark.parametrize(
    ("value", "unit", "digits", "words"),
    [
        (0.0123, "s", None, "12.3 ms"),
        (90, "dtdurations", None, "1.5 min"),
        (0, "s", None, "0 s"),
        (0.256, "percentunit", None, "25.6 %"),
        (12_345, "suffix:/s", None, "12.3 k /s"),
        (12_345, "short", 0, "12,345"),
        (0.00789, "none", 4, "0.0079"),
    ],
)
def test_a_number_is_told_in_its_unit(value: float, unit: str, digits: int | None, words: str) -> None:
    assert told(value, unit, digits) == words


@pytest.mark.parametrize("picture", sorted(boards()))
def test_the_pictures_in_the_docs_are_small(picture: str) -> None:
    assert (Path(__file__).parents[3] / "deploy" / "docs" / f"{picture}.png").stat().st_size < MOST_BYTES
