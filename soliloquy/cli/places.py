"""An option's value that says where a dataset lies."""

from typing import Any

import click

from soliloquy.dataset.place import Place, Unavailable


class _Place(click.ParamType[Place]):
    name = "place"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Place:
        try:
            return Place(value)
        except Unavailable as error:
            self.fail(str(error), parameter, context)


PLACE = _Place()
