"""Names the accounts of tokens, and says what tokens cost. Exports load it, so it loads no settings itself."""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from soliloquy.runtime.model.settings import Endpoint, Models
    from soliloquy.v1.conversation_pb2 import ModelCall
    from soliloquy.v1.model_pb2 import Completion

# The kinds of tokens. Prompt tokens include those that a cache held and those that were written into it; completion
# tokens include those of thoughts.
KINDS = ("prompt", "cached", "cache_write", "completion", "reasoning")
# Beside the tokens of an account: the dollars that the endpoint itself says.
COST = "cost"
_ALWAYS = ("prompt", "completion")
_MILLION = 1_000_000
_AT = " at "


class Counted(Protocol):
    """A call, a completion: whatever has counts of tokens."""

    prompt_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cost: float


def account(role: str, endpoint: str) -> str:
    """Returns the name under which the tokens of a call are counted."""
    return f"{role}{_AT}{endpoint}" if endpoint else role


def use_of(call: Counted) -> dict[str, float]:
    """Returns the tokens of each kind, and the dollars that the endpoint says."""
    # An endpoint may say that it had cached more than the prompt.
    cached = min(call.cached_tokens, call.prompt_tokens)
    written = min(call.cache_write_tokens, call.prompt_tokens - cached)
    thought = min(call.reasoning_tokens, call.completion_tokens)
    counts = (call.prompt_tokens, cached, written, call.completion_tokens, thought, call.cost)
    return {kind: count for kind, count in zip((*KINDS, COST), counts, strict=True) if count}


def add_use(total: MutableMapping[str, float], used: Mapping[str, float]) -> None:
    for kind, count in used.items():
        total[kind] = total.get(kind, 0) + count


def disjoint(used: Mapping[str, float]) -> dict[str, float]:
    """Returns counts that add up: the prompt without what is cached or written, the completion without thoughts."""
    counts = {kind: used.get(kind, 0) for kind in KINDS}
    counts["prompt"] -= counts["cached"] + counts["cache_write"]
    counts["completion"] -= counts["reasoning"]
    return counts


def waited(calls: Iterable["ModelCall"]) -> float:
    """Returns the seconds of the calls before a first turn: samples of one prompt are asked for together."""
    by_prompt: dict[str, float] = {}
    for call in calls:
        by_prompt[call.prompt] = max(call.seconds, by_prompt.get(call.prompt, 0.0))
    return sum(by_prompt.values())


def as_told(used: Mapping[str, float]) -> dict[str, float]:
    """Returns the counts of an account for people and programs: rare kinds only where there are any."""
    told = {kind: used.get(kind, 0) for kind in KINDS if kind in _ALWAYS or used.get(kind)}
    return told | ({COST: round(used[COST], 9)} if used.get(COST) else {})


def cost_of(endpoint: "Endpoint", used: Mapping[str, float]) -> float | None:
    """Returns what the endpoint says, else its tokens at their price in dollars; None if the price is unknown."""
    if told := used.get(COST):
        return told
    counts = disjoint(used)
    if not any(counts.values()):
        return 0.0
    price = endpoint.price
    if price is None:
        return None
    written = counts["completion"] + counts["reasoning"]
    return (
        counts["prompt"] * price.prompt
        + counts["cached"] * price.of_cached
        + counts["cache_write"] * price.of_cache_write
        + written * price.completion
    ) / _MILLION


def bill_of(endpoint: "Endpoint", completion: "Completion") -> tuple[dict[str, float], float, float]:
    """Returns what all samples of an answer used, their dollars, and their tokens whose price is unknown."""
    used: dict[str, float] = {}
    for sample in (completion, *completion.more):
        add_use(used, use_of(sample))
    cost = cost_of(endpoint, used)
    return used, cost or 0.0, used.get("prompt", 0) + used.get("completion", 0) if cost is None else 0.0


def account_cost(models: "Models", account: str, used: Mapping[str, float]) -> float | None:
    """Returns None where the price is unknown, as for a role of an earlier version."""
    role, _, name = account.partition(_AT)
    if not name and role not in models.roles:
        return used.get(COST)
    endpoint = models.endpoints.get(name) if name else models.asked(role)[0]
    return cost_of(endpoint, used) if endpoint else used.get(COST)


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Returns the sum of what is known; None if nothing is."""
    costs = list(costs)
    known = [one for one in costs if one is not None]
    return sum(known) if known or not costs else None
