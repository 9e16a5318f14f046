"""Counts dropped spans."""

from soliloquy.runtime.instruments import counter

DROPPED = counter("soliloquy_spans_dropped_total")
# Create the labels up front, so that dashboards show 0 and not nothing.
for reason in ("queue_full", "refused"):
    DROPPED.labels(reason)
