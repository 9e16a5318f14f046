"""The pages about the commands and the run file, from the options that the commands declare."""

from collections.abc import Iterable, Iterator

import click

from deploy.site.markdown import code, prose, table
from soliloquy.cli.command import ALL
from soliloquy.cli.generate import generate
from soliloquy.cli.main import commands


class _Page(click.HelpFormatter):
    """Writes a command's help as Markdown."""

    def __init__(self) -> None:
        super().__init__(width=500)

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"**{heading}**\n\n")

    def write_text(self, text: str) -> None:
        self.write("".join(f"{prose(paragraph)}\n\n" for paragraph in text.split("\n\n")))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        self.write(table(("", ""), ((code(name), prose(text)) for name, text in rows)))


def commands_page() -> str:
    return "# Commands\n\n`--help` of each command prints the same, and `--help-all` its rare options.\n\n" + "".join(
        _sections(commands, click.Context(commands, info_name="soliloquy"))
    )


def _sections(command: click.Command, context: click.Context, depth: int = 2) -> Iterator[str]:
    page = _Page()
    context.meta[ALL] = True
    command.format_help(context, page)
    yield f"{'#' * min(depth, 4)} {context.command_path}\n\n{page.getvalue()}"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _sections(below, click.Context(below, parent=context, info_name=name), depth + 1)


def run_file_page() -> str:
    context = click.Context(generate, info_name="generate")
    options = (one for one in generate.params if isinstance(one, click.Option) and one.name != "model_settings")
    rows = [
        (code(str(one.name)), code(one.make_metavar(context)), _default(one), prose(one.help or "")) for one in options
    ]
    return f"""\
# Run file

`soliloquy generate run.toml` reads the options of a run from TOML, and `soliloquy init` writes such a file. The command
line overrides it, and an unknown key is refused. The manifest of a dataset is a run file, too.

{table(("key", "value", "default", ""), rows)}
The table `[models]` has the [model settings](../soliloquy/runtime/model/README.md): endpoints, and a model for each
role.
"""


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    return code(str(option.default)) if isinstance(option.default, str | int | float) and option.default != "" else ""
