"""The metrics of admission."""

from soliloquy.runtime.instruments import counter, gauge

STARTED = counter("soliloquy_conversations_started_total")
UNDER_WAY = gauge("soliloquy_conversations_under_way")
LIMIT = gauge("soliloquy_admission_limit")
