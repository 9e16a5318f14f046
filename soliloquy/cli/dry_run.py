"""Prints what a run would take."""

from soliloquy.cli.progress import duration
from soliloquy.cli.runs_view import to_json
from soliloquy.cli.summary import cost_line
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.runtime.model.spending import Budget
from soliloquy.v1.gateway_pb2 import ForecastBasis, Interval, RunForecast

_COUNTS = {
    "calls": "calls",
    "tokens read": "prompt_tokens",
    "  of them from a cache": "cached_tokens",
    "tokens written": "completion_tokens",
}


def tell_forecast(forecast: RunForecast, *, as_json: bool) -> None:
    if as_json:
        echo(to_json(forecast))
        return

    def cells(field: str, form: str = "{:,.0f}") -> list[str]:
        if not forecast.HasField(field):
            return ["unknown"]
        return [duration(value) if field == "seconds" else form.format(value) for value in _values(forecast, field)]

    rows = [(name, *cells(field)) for name, field in _COUNTS.items()]
    if forecast.dollars.expected:
        rows.append(("USD", *cells("dollars", "{:,.4g}")))
    rows.append(("time", *cells("seconds")))
    open_console().print(table("", "expected", "from", "to", rows=rows))
    if forecast.unpriced:
        spent = forecast.dollars.expected if forecast.HasField("dollars") else None
        echo(f"cost: {cost_line(spent, list(forecast.unpriced))}")
    echo(_basis(forecast))


def _values(forecast: RunForecast, field: str) -> tuple[float, float, float]:
    interval: Interval = getattr(forecast, field)
    return interval.expected, interval.low, interval.high


def _basis(forecast: RunForecast) -> str:
    wanted = (
        f"For {forecast.request.conversations:,} conversations, {forecast.request.in_flight} at once, from "
        f"{forecast.accepted} accepted ones about {forecast.problems} problems"
    )
    bounds = "Nine in ten draws of as many problems lie between the bounds."
    if forecast.basis != ForecastBasis.FORECAST_BASIS_REHEARSAL:
        return f"{wanted} in {'run ' if forecast.basis else ''}{forecast.like}. {bounds}"
    return (
        f"{wanted} that the scripted model played: no such run is over at this gateway. {bounds} Another model's "
        "conversations may be longer or shorter, and caches would make them cheaper: a run of ten tells more."
    )


def tell_pilot(forecast: RunForecast, budget: Budget, *, as_json: bool) -> None:
    """Tells the first prompts, what the run would take, and how much of it a budget allows."""
    for name, text in sorted(forecast.prompts.items()) if not as_json else ():
        echo(f"--- {name}\n{text}\n")
    tell_forecast(forecast, as_json=as_json)
    if as_json or not budget.is_set:
        return
    tokens = forecast.prompt_tokens.expected + forecast.completion_tokens.expected
    limits = [(budget.dollars, forecast.dollars.expected), (budget.tokens, tokens)]
    share = min((limit / wanted for limit, wanted in limits if limit is not None and wanted), default=1.0)
    enough = f" for about {share * forecast.request.conversations:,.0f} conversations" if share < 1 else ""
    echo(f"The budget of {budget} is enough{enough}.")
