"""A command that cannot do what it was asked: one clear line, exit status 2."""

from typing import IO, Any

import click

INTERRUPTED = 130


class Failure(click.ClickException):
    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"soliloquy: {self.format_message()}", err=True, file=file)
