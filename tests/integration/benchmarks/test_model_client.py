"""`python -m benchmarks model-client` on a small scale."""

import pytest

from benchmarks import model_client
from benchmarks.figures import figure, judged, merged
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.model.fake import FakeServer, FakeSettings, Fate

ENGINE = ScriptedEngine()


async def test_the_overhead_is_of_calls_that_were_answered() -> None:
    fake = FakeServer(ENGINE, FakeSettings())
    async with fake.serving("127.0.0.1:0") as url:
        found = await model_client.overhead(url, calls=48)
    # Each begins with as many calls as there are connections.
    assert fake.fates == {Fate.ANSWERED: 2 * (48 + model_client.IN_FLIGHT)}
    assert all(found[name]["cpu_ms_a_call"] > 0 for name in ("ours", "bare"))
    ratio = found["ours"]["cpu_ms_a_call"] / found["bare"]["cpu_ms_a_call"]
    assert found["of_bare"]["cpu_ms_a_call"] == pytest.approx(ratio)


@pytest.mark.parametrize(("recovery", "reached"), [(9.0, True), (11.0, False)])
def test_figures_are_held_against_their_targets(recovery: float, reached: bool) -> None:
    figures = merged(
        [{"overhead": {"ours": {"cpu_ms_a_call": 0.5}}, "storm": {"lost": 0, "recovery_seconds": recovery}}]
    )
    found = judged(figures, model_client.TARGETS)
    assert all(figure(figures, target["figure"]) == target["measured"] for target in found)
    assert [target["reached"] for target in found] == [True, True, reached]
