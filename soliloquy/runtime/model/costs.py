"""Names the accounts of tokens, and says what tokens cost. Exports load it, so it loads no settings itself."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soliloquy.runtime.model.settings import Endpoint, Models

_MILLION = 1_000_000
_AT = " at "


def account(role: str, endpoint: str) -> str:
    """Returns the name under which the tokens of a call are counted."""
    return f"{role}{_AT}{endpoint}" if endpoint else role


def account_cost(models: "Models", account: str, prompt_tokens: int, completion_tokens: int) -> float:
    """Returns 0 for a role that the settings do not know, such as one of an earlier version."""
    role, _, name = account.partition(_AT)
    if not name and role not in models.roles:
        return 0.0
    endpoint = models.endpoints.get(name) if name else models.asked(role)[0]
    return cost(endpoint, prompt_tokens, completion_tokens) if endpoint else 0.0


def cost(endpoint: "Endpoint", prompt_tokens: int, completion_tokens: int) -> float:
    return (prompt_tokens * endpoint.prompt_price + completion_tokens * endpoint.completion_price) / _MILLION
