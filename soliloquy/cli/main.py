"""The `soliloquy` command."""

import sys

import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.cli.usage import usage_line

# The exit status of a command that Ctrl-C ended.
INTERRUPTED = 130

_MODULES = {
    "generate": "soliloquy.cli.generate",
    "show": "soliloquy.cli.show",
    "report": "soliloquy.cli.report",
    "check": "soliloquy.cli.check",
    "verify": "soliloquy.cli.verify",
    "export": "soliloquy.cli.export",
    "import": "soliloquy.cli.importing",
    "tail": "soliloquy.cli.tail",
    "problems": "soliloquy.cli.problems",
    "recipes": "soliloquy.cli.recipes",
    "freeze": "soliloquy.cli.freeze",
    "train": "soliloquy.cli.train",
    "retrain": "soliloquy.cli.retrain",
    "evaluate": "soliloquy.cli.evaluate",
    "adapters": "soliloquy.cli.adapters",
    "runs": "soliloquy.cli.runs",
    "dlq": "soliloquy.cli.dead_letters",
    "topics": "soliloquy.cli.topics",
    "service": "soliloquy.cli.service",
    "up": "soliloquy.cli.up",
    "top": "soliloquy.cli.top",
    "observe": "soliloquy.cli.observe",
    "asyncapi": "soliloquy.cli.asyncapi",
    "sandbox": "soliloquy.cli.sandbox",
    "model": "soliloquy.cli.model",
}


@click.group(
    cls=LazyGroup,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="soliloquy", message="%(version)s")
def commands() -> None:
    """Generate tutoring conversations whose numbers are right."""


def main() -> None:
    """Runs a command; an error in its options is one line, like every Failure."""
    try:
        status = commands(standalone_mode=False, prog_name="soliloquy")
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = error.exit_code
    except click.UsageError as error:
        click.echo(usage_line(error), err=True)
        status = error.exit_code
    except click.Abort:
        status = INTERRUPTED
    sys.exit(status)
