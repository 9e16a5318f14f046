"""The `soliloquy` command."""

import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.cli.terminal import echo, escape_unprintable
from soliloquy.cli.usage import usage_line

# The exit status of a command that Ctrl-C ended.
INTERRUPTED = 130

# The commands, by what a person wants.
_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Generate and look": {
        "generate": "soliloquy.cli.generate",
        "show": "soliloquy.cli.show",
        "report": "soliloquy.cli.report",
        "compare": "soliloquy.cli.compare",
        "check": "soliloquy.cli.check",
        "verify": "soliloquy.cli.verify",
        "tail": "soliloquy.cli.tail",
        "export": "soliloquy.cli.export",
        "import": "soliloquy.cli.importing",
        "size": "soliloquy.cli.size",
    },
    "Problems and recipes": {
        "problems": "soliloquy.cli.problems",
        "recipes": "soliloquy.cli.recipes",
        "prompts": "soliloquy.cli.prompts",
    },
    "Train and evaluate": {
        "freeze": "soliloquy.cli.freeze",
        "train": "soliloquy.cli.train",
        "retrain": "soliloquy.cli.retrain",
        "adapters": "soliloquy.cli.adapters",
        "evaluate": "soliloquy.cli.evaluate",
        "replicate": "soliloquy.cli.replicate",
    },
    "Models and sandbox": {"model": "soliloquy.cli.model", "sandbox": "soliloquy.cli.sandbox"},
    "Run a cluster": {
        "up": "soliloquy.cli.up",
        "runs": "soliloquy.cli.runs",
        "dlq": "soliloquy.cli.dead_letters",
        "topics": "soliloquy.cli.topics",
        "service": "soliloquy.cli.service",
        "top": "soliloquy.cli.top",
        "observe": "soliloquy.cli.observe",
        "asyncapi": "soliloquy.cli.asyncapi",
    },
}


@click.group(
    cls=LazyGroup,
    sections=_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="soliloquy", message="%(version)s")
def commands() -> None:
    """Generate tutoring conversations whose numbers are right."""


def main() -> None:
    """Runs a command; an error in its options is one line, like every Failure."""
    escape_unprintable()
    try:
        status = commands(standalone_mode=False, prog_name="soliloquy")
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message())
        status = error.exit_code
    except click.UsageError as error:
        echo(usage_line(error), err=True)
        status = error.exit_code
    except click.Abort:
        status = INTERRUPTED
    except SystemExit as end:
        # Click and rich make a broken pipe a failure without a message.
        if isinstance(end.__context__, BrokenPipeError):
            _end_by_pipe()
        raise
    sys.exit(status)


def _end_by_pipe() -> NoReturn:
    """Ends as other programs do whose reader, such as `head`, has seen enough."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.raise_signal(signal.SIGPIPE)
    raise AssertionError("SIGPIPE ended nothing")
