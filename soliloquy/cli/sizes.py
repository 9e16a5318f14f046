"""Sizes on the command line: 256MiB, 1GiB."""

import re

import click

BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


class Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([1-9]\d{0,8})(KiB|MiB|GiB)", str(value))
        if match is None:
            self.fail(f"invalid size {value!r}: use a number with a unit, e.g. 512MiB", param, context)
        return int(match[1]) * BYTES[match[2]]


SIZE = Size()
