"""Says before a run which of its prompts its models have no room for."""

import asyncio

from soliloquy.problems.sources import ProblemSource
from soliloquy.runs.plan import Plan
from soliloquy.runs.rehearsal import NotPlayable, own_sandboxes, rehearsed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.opening import client_for
from soliloquy.runtime.model.settings import Endpoint, described
from soliloquy.v1.model_pb2 import GenerateRequest

# No prompt of a recipe comes near it, so it is not worth the second that a rehearsal takes.
_AMPLE_TOKENS = 16_384
_REHEARSED = 1
# Encodings differ by so much from the estimate.
_SURE = 0.8


async def require_room(plan: Plan, source: ProblemSource) -> None:
    """Raises Failure if a model's context has no room for a prompt of a scripted conversation, and its answer."""
    asked = [(name, one) for name, one in plan.models.used.items() if one.engine != "scripted"]
    told = await asyncio.gather(*(_context_of(name, endpoint) for name, endpoint in asked))
    contexts = {name: tokens for (name, _), tokens in zip(asked, told, strict=True) if 0 < tokens < _AMPLE_TOKENS}
    if not contexts:
        return
    # It loads Arrow.
    from soliloquy.dataset.prompt_reuse import tokens_in

    longest = dict[tuple[str, str], int]()

    def hear(request: GenerateRequest) -> None:
        place = (request.role, request.prompt)
        longest[place] = max(longest.get(place, 0), sum(tokens_in(message.text) for message in request.messages))

    try:
        async with own_sandboxes() as sandbox:
            await rehearsed(plan, source, sandbox, _REHEARSED, hear)
    except NotPlayable:
        # The prompts up to there have been heard.
        pass
    for (role, prompt), tokens in sorted(longest.items(), key=lambda item: -item[1]):
        for member in plan.models.roles.get(role, ()):
            settings = plan.models.for_prompt(member, prompt)
            context = contexts.get(settings.endpoint, 0)
            if context and _SURE * tokens + settings.max_tokens > context:
                raise Failure(
                    f"{described(settings.endpoint, plan.models.endpoints[settings.endpoint])} has a context of "
                    f"{context:,} tokens, but {prompt} has about {tokens:,} and its answer may have "
                    f"{settings.max_tokens:,}: serve it with more context, or give the role {role} another model"
                )


async def _context_of(name: str, endpoint: Endpoint) -> int:
    client = client_for(name, endpoint)
    try:
        return (await client.served()).context_tokens
    finally:
        await client.close()
