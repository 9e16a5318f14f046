"""What becomes of spans that nobody got."""

from soliloquy.runtime.instruments import counter

DROPPED = counter("soliloquy_spans_dropped_total")
# There before the first of each, so that a dashboard shows none and not nothing at all.
for reason in ("queue_full", "refused"):
    DROPPED.labels(reason)
