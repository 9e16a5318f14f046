"""Numbers with units on the command line: durations such as 200ms, 1.5s, 2m, and sizes such as 256MiB, 1GiB."""

import re

import click

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}
BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|)", str(value))
        if match is None:
            self.fail(f"invalid duration {value!r}: use a number with a unit, e.g. 200ms, 1.5s or 2m", param, context)
        return float(match[1]) * SECONDS[match[2]]


class Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([1-9]\d{0,8})(KiB|MiB|GiB)", str(value))
        if match is None:
            self.fail(f"invalid size {value!r}: use a number with a unit, e.g. 512MiB", param, context)
        return int(match[1]) * BYTES[match[2]]


DURATION = Duration()
SIZE = Size()
