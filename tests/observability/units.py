"""Formats numbers in the units of the dashboards, as Grafana does."""

_STEPS = ((31_536_000, "years"), (86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))


def told(value: float, unit: str, digits: int | None) -> str:
    match unit:
        case "s" | "dtdurations":
            size, name = next((step for step in _STEPS if abs(value) >= step[0]), (1, "s"))
            return f"{_rounded(value / size, digits)} {name}"
        case "percentunit":
            return f"{_rounded(100 * value, digits)} %"
        case "short" | "none":
            return _rounded(value, digits)
        case _:
            return f"{_rounded(value, digits)} {unit.removeprefix('suffix:')}"


def _rounded(value: float, digits: int | None) -> str:
    if digits is not None:
        return f"{value:,.{digits}f}"
    if abs(value) >= 10_000:
        return f"{value / 1000:,.3g} k"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
