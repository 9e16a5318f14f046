"""Prints forecasts of runs: those of this machine and those of a gateway."""

from soliloquy.cli.progress import duration
from soliloquy.cli.summary import cost_line
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.v1.gateway_pb2 import ForecastBasis, Interval, RunForecast

_UNKNOWN = "unknown"


def print_forecast(forecast: RunForecast) -> None:
    shown = table("", "expected", "from", "to")
    counts = {
        "calls": "calls",
        "tokens read": "prompt_tokens",
        "  of them from a cache": "cached_tokens",
        "tokens written": "completion_tokens",
    }
    for name, field in counts.items():
        known = forecast.HasField(field)
        shown.add_row(
            name, *((f"{value:,.0f}" for value in _values(getattr(forecast, field))) if known else [_UNKNOWN])
        )
    if forecast.dollars.expected:
        shown.add_row("USD", *(f"{value:,.4g}" for value in _values(forecast.dollars)))
    known = forecast.HasField("seconds")
    shown.add_row("time", *(map(duration, _values(forecast.seconds)) if known else [_UNKNOWN]))
    open_console().print(shown)
    if forecast.unpriced:
        spent = forecast.dollars.expected if forecast.HasField("dollars") else None
        echo(f"cost: {cost_line(spent, list(forecast.unpriced))}")
    if forecast.basis:
        echo(_basis(forecast))


def _basis(forecast: RunForecast) -> str:
    wanted = f"For {forecast.request.conversations:,} conversations, {forecast.request.in_flight} at once, from "
    told = f"{forecast.accepted} accepted ones about {forecast.problems} problems"
    bounds = "Nine in ten draws of as many problems lie between the bounds."
    if forecast.basis == ForecastBasis.FORECAST_BASIS_FORMER_RUN:
        return f"{wanted}{told} in run {forecast.like}. {bounds}"
    return (
        f"{wanted}{told} that the scripted model played: no such run is over at this gateway. {bounds} Another model's "
        "conversations may be longer or shorter, and caches would make them cheaper: a run of ten tells more."
    )


def _values(interval: Interval) -> tuple[float, float, float]:
    return interval.expected, interval.low, interval.high
