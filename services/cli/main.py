"""The `soliloquy` command."""

import click

from services.cli.dead_letters import dlq
from services.cli.generate import generate
from services.cli.show import show


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="soliloquy", message="%(version)s")
def main() -> None:
    """Grow tutoring conversations whose numbers are right."""


main.add_command(generate)
main.add_command(show)
main.add_command(dlq)
