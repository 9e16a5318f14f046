"""What becomes of spans that nobody got."""

from services.runtime.instruments import counter

DROPPED = counter("soliloquy_spans_dropped_total")
