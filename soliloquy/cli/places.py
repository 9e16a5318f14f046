"""Places of datasets on the command line: a folder, or the URL of an object store."""

from typing import Any

import click

from soliloquy.dataset.storage import Storage, StorageUnavailable


class _Place(click.ParamType[Storage]):
    name = "place"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Storage:
        try:
            return Storage(value)
        except StorageUnavailable as error:
            self.fail(str(error), parameter, context)


PLACE = _Place()
