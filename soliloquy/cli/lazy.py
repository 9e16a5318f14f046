"""Imports each command only when it runs, so that none waits for the imports of the others."""

import ast
import gc
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Group
from soliloquy.cli.terminal import echo
from soliloquy.runtime.extensions import missing_extra
from soliloquy.runtime.failure import Failure, first_error


class LazyGroup(Group):
    def __init__(
        self,
        *arguments: Any,
        modules: Mapping[str, str] = {},
        sections: Mapping[str, Mapping[str, str]] = {},
        **options: Any,
    ) -> None:
        """`modules` maps the name of each command to its module, `sections` those of a long help to such maps."""
        super().__init__(*arguments, **options)
        self._sections = sections or {"Commands": modules}
        self._modules = {name: module for section in self._sections.values() for name, module in section.items()}

    def invoke(self, ctx: click.Context) -> Any:
        """A Failure, of a task too, ends the command with one line and the exit status of its kind."""
        try:
            return super().invoke(ctx)
        except (Failure, ExceptionGroup, ModuleNotFoundError) as error:
            first = first_error(error)
            failure = missing_extra(first) if isinstance(first, ModuleNotFoundError) else first
            if not isinstance(failure, Failure):
                raise
            echo(f"soliloquy: {failure}", err=True)
            ctx.exit(failure.exit_code)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as unknown:
            # Click knows only commands that are imported.
            raise click.NoSuchCommand(unknown.command_name, possibilities=self._modules, ctx=ctx) from unknown

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._modules:
            return None
        # Modules leave no garbage, and the search for it takes a tenth of a command's start; later ones skip them.
        gc.disable()
        try:
            module = import_module(self._modules[name])
        finally:
            gc.freeze()
            gc.enable()
        [command] = [vars(module)[function] for function in _functions(name) if function in vars(module)]
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them; reads their docstrings from the source."""
        width = formatter.width - max(map(len, self._modules)) - 6
        for title, section in self._sections.items():
            commands = [(name, click.Command(name, help=_docstring(module, name))) for name, module in section.items()]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(width)) for name, command in commands])


def _functions(name: str) -> tuple[str, str]:
    """Returns the possible names of a command's function; `list` and `import` are taken in Python."""
    name = name.replace("-", "_")
    return f"{name}_", name


def _docstring(module: str, name: str) -> str | None:
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).read_text("utf-8")
    # To parse the whole module would take most of the list's time.
    function = re.search(rf"^def (?:{'|'.join(_functions(name))})\(.*?(?=^[@\w#]|\Z)", source, re.MULTILINE | re.DOTALL)
    assert function is not None
    [parsed] = ast.parse(function[0]).body
    assert isinstance(parsed, ast.FunctionDef)
    return ast.get_docstring(parsed)
