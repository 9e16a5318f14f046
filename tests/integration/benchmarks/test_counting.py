"""The cost of metrics is measured against the same work without them."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from benchmarks.counting import uncounted


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
