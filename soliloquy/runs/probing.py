"""Finds out what an endpoint with OpenAI's API can do, and how it answers the prompts of a recipe."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.endpoint_facts import EndpointFacts, endpoint_facts
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.plan import problems_of
from soliloquy.runs.prompt_trials import PromptTrial, prompt_trials
from soliloquy.runtime.model.dialects import dialect_of
from soliloquy.runtime.model.keys import key_of
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import checked_endpoint, shipped_models

# The endpoint's name in the settings.
_NAME = "probed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    facts: EndpointFacts
    trials: Sequence[PromptTrial]
    # How the schema of each prompt was sent.
    forms: Mapping[str, str]
    # A file for --model-settings.
    settings: str


async def probe_endpoint(base_url: str, model: str, recipe: str, problems: str) -> Probe:
    """Raises Failure for an endpoint that does not answer."""
    from soliloquy_services.executor.pool import SandboxPool
    from soliloquy_services.executor.settings import SandboxSettings

    endpoint = checked_endpoint({"engine": "openai", "base_url": base_url, "model": model}, "--base-url")
    models = shipped_models().only_at(endpoint)
    source, scripted = problems_of(problems, recipe), scripted_model(ModelSettings(problems=[problems]))
    pool = SandboxPool(SandboxSettings(sandboxes=1, spares=0))
    client = OpenAIClient(_NAME, endpoint, key_of(endpoint, _NAME))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.close)
        found = await endpoint_facts(client, model)
        stack.push_async_callback(pool.stop)
        await pool.start()
        on_trial = await stack.enter_async_context(open_models(models, lambda: scripted, None))
        tried = prompt_trials(
            recipe,
            source,
            scripted=scripted,
            on_trial=on_trial,
            handlers=lambda model: conversation_handlers(model, pool),
        )
        trials = [trial async for trial in tried]
        forms = {trial.call.prompt: client.attempt(trial.requests[0]).form.name for trial in trials}
    if found.dialect != dialect_of("", base_url, model).name:
        endpoint = replace(endpoint, dialect=found.dialect)
    return Probe(facts=found, trials=trials, forms=forms, settings=settings_of(endpoint, trials, models))


def settings_of(endpoint: Endpoint, trials: Sequence[PromptTrial], models: Models) -> str:
    """Returns a file for --model-settings, with more room for the roles whose answers were cut off."""
    doublings: dict[str, int] = {}
    for trial in trials:
        asked = max(request.extra_room for request in trial.requests)
        doublings[trial.call.role] = max(asked, doublings.get(trial.call.role, 0))
    told = {"engine": "openai", "base_url": endpoint.base_url, "model": endpoint.model}
    if endpoint.dialect:
        told["dialect"] = endpoint.dialect
    lines = [f"[endpoints.{_NAME}]", *(f"{name} = {json.dumps(value)}" for name, value in told.items())]
    for role, times in doublings.items():
        if times:
            lines += ["", f"[roles.{role}]", f"max_tokens = {models.roles[role][0].max_tokens << times}"]
    return "\n".join(lines) + "\n"
