"""A client of a hosted model comes through its faults, which take real time."""

import asyncio

import pytest

from soliloquy.runtime.model import ListenedModel, remote
from soliloquy_services.model.fake import FakeServer, FakeSettings, Fate
from tests.unit.model.hosted import ENGINE, asking
from tests.unit.runtime.model.streams import KeptStreams
from tests.unit.scripted.driver import opening, played

# So few of what a call is not made for ever that none is given up.
STORM = FakeSettings(throttled=0.4, failed=0.03, truncated=0.03, malformed=0.03, retry_after="0")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(remote, "PAUSE_CAP_SECONDS", 0.01)


async def test_in_a_storm_of_all_troubles_no_call_is_lost_and_no_word_is_changed() -> None:
    fake = FakeServer(ENGINE, STORM)
    alone = await played(ENGINE, seed=5)
    async with asking(fake) as model:
        assert await asyncio.gather(*(played(model, seed=5) for _ in range(20))) == [alone] * 20
    assert all(fake.fates[fate] > 5 for fate in Fate if fate is not Fate.HUNG)


async def test_sockets_that_hang_cost_a_deadline_and_no_call() -> None:
    fake = FakeServer(ENGINE, FakeSettings(hung=0.2, seed=3))
    async with asking(fake, timeout=0.2) as model:
        said = await asyncio.gather(*(model.generate(opening(seed)) for seed in range(10)))
    assert len({completion.text for completion in said}) > 1
    assert fake.fates[Fate.HUNG] > 0


async def test_a_dialogue_that_somebody_hears_comes_through_a_storm_as_any_other() -> None:
    alone = await played(ENGINE, seed=5)
    async with asking(FakeServer(ENGINE, STORM)) as model:
        heard = KeptStreams()
        assert await played(ListenedModel(model, heard), seed=5) == alone
    assert alone[-1][1] in "".join(heard.answers[-1])
