"""Metrics of model calls. Labels are names from the settings, so there are few."""

from soliloquy.runtime.metrics import counter, gauge, histogram

CALLS = counter("soliloquy_model_calls_total")
FAULTS = counter("soliloquy_model_faults_total")
TOKENS = counter("soliloquy_model_tokens_total")
COST = counter("soliloquy_model_cost_total")
UNPRICED = counter("soliloquy_model_unpriced_tokens_total")
ANSWERS = counter("soliloquy_model_answers_total")
CALL = histogram("soliloquy_model_seconds")
IN_FLIGHT = gauge("soliloquy_model_in_flight")
WIDTH = gauge("soliloquy_model_width")
SHUT = gauge("soliloquy_model_shut")
BATCHES = gauge("soliloquy_model_batches")
BATCHED = gauge("soliloquy_model_batched_requests")
UNBATCHED = gauge("soliloquy_model_unbatched_requests")
