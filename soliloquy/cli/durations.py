"""Durations on the command line: 200ms, 1.5s, 2m."""

import re

import click

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|)", str(value))
        if match is None:
            self.fail(f"invalid duration {value!r}: use a number with a unit, e.g. 200ms, 1.5s or 2m", param, context)
        return float(match[1]) * SECONDS[match[2]]


DURATION = Duration()
