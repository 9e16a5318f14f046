import pytest

from tests.models import needs_torch

pytestmark = [pytest.mark.thorough, needs_torch]


async def test_an_engine_is_measured_by_adapters_and_callers() -> None:
    from benchmarks.engine import measure

    told: list[str] = []
    measured = await measure(told.append, callers=(2,), adapters=(0, 1), max_tokens=4, rounds=1)
    rates = measured["tokens_per_second"]
    assert {(adapters, callers) for adapters in rates for callers in rates[adapters]} == {
        (adapters, callers) for adapters in ("0_adapters", "1_adapters") for callers in ("c2",)
    }
    assert all(rate["median"] > 0 for callers in rates.values() for rate in callers.values())
    assert told == [f"tiny: 2 callers, {adapters} adapters" for adapters in (0, 1)]
