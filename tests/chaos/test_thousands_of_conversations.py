"""Five thousand scripted conversations, in one process and without a transport: what is so in all of them."""

import asyncio
import json

import pytest

from services.recipes.soliloquy.codes import ACTIONS
from services.recipes.soliloquy.rules import checked
from services.truth.report import Report
from tests.unit.scripted.growing import grown

SEED = 17
COUNT = 5_000


@pytest.mark.timeout(1800)
def test_five_thousand_conversations_are_sound_and_hold_every_code() -> None:
    report = asyncio.run(_grown())
    found = report.as_json()
    print(json.dumps({name: found[name] for name in ("figures", "codes", "combinations", "most_alike")}, indent=1))
    assert found["faults"] == []
    assert report.unlike_meant == 0
    assert report.figures()["realised_error_rate"] == pytest.approx(0.1, abs=0.005)
    assert report.figures()["bigram_entropy"] >= 3.5
    assert set(report.occurring("evaluation")) == set(ACTIONS)
    assert set(report.occurring("action")) == {str(number) for number in range(1, 13)}
    assert set(report.occurring("state")) == {"q", "r", "t"}


async def _grown() -> Report:
    report = Report()
    for ordinal in range(COUNT):
        conversation = await grown(ordinal, seed=SEED)
        report.add(conversation.id, checked(conversation))
    return report
