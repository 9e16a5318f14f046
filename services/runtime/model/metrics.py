"""What the asking of models exports; the labels are names from the settings, and so are few."""

from prometheus_client import Counter, Gauge, Histogram

SECONDS = (0.01, 0.05, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300)

CALLS = Counter("soliloquy_model_calls", "Calls that came to an end.", ("endpoint", "role", "outcome"))
FAULTS = Counter("soliloquy_model_faults", "Faults after which a call was made again.", ("endpoint", "kind"))
TOKENS = Counter("soliloquy_model_tokens", "Tokens of answered calls.", ("endpoint", "role", "kind"))
COST = Counter("soliloquy_model_cost", "What answered calls cost, at the prices of the settings.", ("endpoint", "role"))
CALL = Histogram(
    "soliloquy_model_seconds", "From asking to the answer, waits included.", ("endpoint", "role"), buckets=SECONDS
)
IN_FLIGHT = Gauge("soliloquy_model_in_flight", "Calls that an endpoint is at.", ("endpoint",))
WIDTH = Gauge("soliloquy_model_width", "Calls that an endpoint may be at, as it stands.", ("endpoint",))
SHUT = Gauge("soliloquy_model_shut", "1 while an endpoint that answered nobody is left in peace.", ("endpoint",))
