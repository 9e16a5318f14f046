"""The `soliloquy` command."""

import sys

import click

from services.cli.failure import INTERRUPTED
from services.cli.lazy import LazyGroup

_MODULES = {
    "generate": "services.cli.generate",
    "show": "services.cli.show",
    "report": "services.cli.report",
    "check": "services.cli.check",
    "verify": "services.cli.verify",
    "export": "services.cli.export",
    "import": "services.cli.importing",
    "tail": "services.cli.tail",
    "problems": "services.cli.problems",
    "freeze": "services.cli.freeze",
    "train": "services.cli.train",
    "retrain": "services.cli.retrain",
    "evaluate": "services.cli.evaluate",
    "adapters": "services.cli.adapters",
    "runs": "services.cli.runs",
    "dlq": "services.cli.dead_letters",
    "topics": "services.cli.topics",
    "service": "services.cli.service",
    "up": "services.cli.up",
    "top": "services.cli.top",
    "observe": "services.cli.observe",
    "asyncapi": "services.cli.asyncapi",
    "sandbox": "services.cli.sandbox",
    "model": "services.cli.model",
    "bench": "services.cli.bench",
}


@click.group(
    cls=LazyGroup,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="soliloquy", message="%(version)s")
def commands() -> None:
    """Grow tutoring conversations whose numbers are right."""


def main() -> None:
    """Runs a command; what is wrong with its options is one line, like everything else that cannot be done."""
    try:
        status = commands(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = error.exit_code
    except click.UsageError as error:
        click.echo(f"soliloquy: {error.format_message().rstrip('.')}: see soliloquy --help", err=True)
        status = error.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except click.Abort:
        status = INTERRUPTED
    sys.exit(status)
