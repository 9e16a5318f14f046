"""The metrics that the gateway exports."""

from soliloquy.runtime.instruments import counter, gauge, histogram

WATCHERS = gauge("soliloquy_gateway_watchers")
RUNS = gauge("soliloquy_gateway_runs")
REQUESTS = counter("soliloquy_gateway_requests_total")
SECONDS = histogram("soliloquy_gateway_request_seconds")
