"""Commands that are imported when they are run: each starts without what the others need."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    def __init__(self, *arguments: Any, modules: Mapping[str, str], **options: Any) -> None:
        """`modules` tells by a command's name in which module it has that name."""
        super().__init__(*arguments, **options)
        self._modules = modules

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._modules:
            return None
        # Some names are words of Python's own: list, import.
        module, name = import_module(self._modules[name]), name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_", None) or getattr(module, name)
        return command
