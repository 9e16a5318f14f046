"""Which endpoints of models a person may have a chat ask: a person must not reach hosts through the gateway."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from soliloquy_services.gateway.access.loopback import names_loopback
from soliloquy_services.gateway.refusals import Code, Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenModel:
    """A model that a person names, at an OpenAI-compatible endpoint."""

    # Includes /v1.
    base_url: str
    name: str
    # Stays in memory for as long as the chat, and goes nowhere but to the endpoint.
    key: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointRules:
    # Base URLs that the gateway's operator has listed.
    listed: Sequence[str] = ()
    # Whether a chat may ask any endpoint on this machine: only where all callers are on it, too.
    loopback: bool = False

    def check(self, chosen: ChosenModel) -> None:
        """Raises a Refusal for an endpoint that is neither listed nor, where that suffices, on this machine."""
        if not chosen.name.strip():
            raise Refusal(Code.INVALID, "model: name the model that the endpoint serves, such as qwen2.5:7b")
        if self.lists(chosen.base_url):
            return
        authority = _authority(chosen.base_url)
        if self.loopback and names_loopback(authority):
            return
        allowed = [*self.listed, *(["http://127.0.0.1:PORT/v1"] if self.loopback else [])]
        hint = f"use {' or '.join(allowed)}" if allowed else "none is allowed here"
        raise Refusal(
            Code.DENIED,
            f"endpoint: {chosen.base_url[:200]!r} is not allowed: {hint}, or have the operator start the gateway with "
            "--chat-endpoint URL",
        )

    def lists(self, base_url: str) -> bool:
        return base_url.rstrip("/") in [listed.rstrip("/") for listed in self.listed]


def _authority(url: str) -> str:
    """Returns the host and port of a URL; raises a Refusal for any other text."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and not (parts.username or parts.password or parts.query)
        authority = parts.netloc if plain and parts.hostname and not parts.fragment else ""
    except ValueError:
        authority = ""
    if not authority:
        raise Refusal(Code.INVALID, f"endpoint: {url[:200]!r} is no address of an API: write http://127.0.0.1:11434/v1")
    return authority
