"""The option that names webhooks; the environment has the secret that signs what they are told."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from soliloquy.cli.command import option
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text

if TYPE_CHECKING:
    from soliloquy_services.gateway.settings import WebhookSettings

# Or the file that holds it, in the variable of this name with _FILE.
SECRET = "SOLILOQUY_WEBHOOK_SECRET"
WEBHOOKS = option(
    f"Tell this URL of the end of each run, signed with {SECRET} or what {SECRET}_FILE holds. Repeatable.",
    "--webhook",
    metavar="URL",
)


def webhook_settings(urls: Sequence[str]) -> "WebhookSettings":
    """Raises UsageError and Failure."""
    from soliloquy_services.gateway.settings import WebhookSettings

    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.fragment:
            raise click.UsageError(f"invalid --webhook {url!r}: use https://HOST/PATH, without a password")
    return WebhookSettings(urls=urls, secret=_secret() if urls else "")


def _secret() -> str:
    secret = os.environ.get(SECRET, "")
    if file := os.environ.get(f"{SECRET}_FILE"):
        try:
            secret = read_regular_text(Path(file)).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"{SECRET}_FILE: {file} cannot be read ({error})") from error
    if not secret:
        raise click.UsageError(f"--webhook requires {SECRET}, or {SECRET}_FILE")
    return secret
