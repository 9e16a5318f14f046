"""The `soliloquy` command."""

import sys

import click

from services.cli.asyncapi import asyncapi
from services.cli.bench import bench
from services.cli.dead_letters import dlq
from services.cli.generate import INTERRUPTED, generate
from services.cli.sandbox import sandbox
from services.cli.service import service
from services.cli.show import show
from services.cli.topics import topics
from services.cli.up import up


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="soliloquy", message="%(version)s")
def commands() -> None:
    """Grow tutoring conversations whose numbers are right."""


for command in (generate, show, dlq, topics, service, up, asyncapi, sandbox, bench):
    commands.add_command(command)


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
