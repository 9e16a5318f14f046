"""The cost of metrics is measured against the same work without them."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from benchmarks.counting import measure, uncounted


def test_without_instruments_nothing_is_counted_and_afterwards_all_is() -> None:
    registry = CollectorRegistry()
    counter = Counter("counted", "Counted.", ["name"], registry=registry)
    histogram = Histogram("took", "Took.", registry=registry)
    with uncounted():
        counter.labels("a").inc()
        histogram.observe(1.0)
    assert registry.get_sample_value("counted_total", {"name": "a"}) is None
    assert registry.get_sample_value("took_count") == 0
    counter.labels("a").inc()
    assert registry.get_sample_value("counted_total", {"name": "a"}) == 1


async def test_both_rates_and_the_share_between_them_are_told() -> None:
    figures = await measure(None, pairs=1, batches=1, tell=lambda _: None)
    rates = {name: rate["median"] for name, rate in figures["events_per_cpu_second"].items()}
    assert min(rates.values()) > 0
    assert abs(figures["share_by_difference"]["median"] - (1 - rates["with"] / rates["without"])) < 0.01
    assert 0 < figures["share_of_cpu"]["median"] < 1
