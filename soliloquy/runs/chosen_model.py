"""Connects a chat with a model that a person has chosen, once the model has answered."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused, StreamingModel
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.keys import Key, checked_key, key_of
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import CountedModel, ModelByRole
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint
from soliloquy.runtime.retry import CannotServe
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

if TYPE_CHECKING:
    from soliloquy_services.gateway.chat.messages import ChosenModel

# The endpoint's name in metrics and messages.
_NAME = "chat"
_FIRST_ANSWER_SECONDS = 30.0
_GREETING = GenerateRequest(
    messages=[Message(role="user", text="Say OK.")],
    sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=16),
)


# Each connection is itself, whatever model it asks.
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConnectedModel:
    model: ModelByRole
    close: Callable[[], Awaitable[None]]


async def connect(chosen: "ChosenModel", models: Models, *, keyed: bool, seconds: float) -> ConnectedModel:
    """Raises a Refusal if the model does not answer.

    `models` has the sampling of each role. Only a `keyed` endpoint may be sent the gateway's own key.
    """
    try:
        table = {"engine": "openai", "base_url": chosen.base_url, "model": chosen.name}
        endpoint = replace(checked_endpoint(table, "endpoint"), timeout=seconds)
        key = key_of(endpoint, _NAME) if keyed and not chosen.key else checked_key(chosen.key, "the key field")
    except Failure as error:
        raise refusal(str(error)) from error
    client = OpenAIClient(_NAME, endpoint, key)
    try:
        await _greet(client, chosen, key)
    except BaseException:
        await client.close()
        raise
    remote = RemoteModel(_NAME, endpoint, client)
    answering: dict[str, StreamingModel] = {endpoint.engine: CountedModel(remote, _NAME, endpoint)}
    return ConnectedModel(model=ModelByRole(models.only_at(endpoint), answering, [remote]), close=remote.close)


async def _greet(client: OpenAIClient, chosen: "ChosenModel", key: Key) -> None:
    """Has the model say a word, so that a wrong address, name or key is known before a chat begins."""
    try:
        async with asyncio.timeout(_FIRST_ANSWER_SECONDS):
            await client.ask(GenerateRequest.FromString(_GREETING.SerializeToString()), _FIRST_ANSWER_SECONDS)
    except TimeoutError:
        waited = f"{chosen.base_url} has not answered within {_FIRST_ANSWER_SECONDS:g} s"
        raise refusal(f"{waited}: try again once the model is loaded", "UNAVAILABLE") from None
    except (RetryableFault, CannotServe, ModelRefused) as error:
        # An endpoint may repeat the key in its answer.
        why = key.without(str(error).encode()).decode()
        raise refusal(f"{chosen.base_url} cannot be asked for {chosen.name!r}: {why}", "UNAVAILABLE") from None


def refusal(message: str, code: str = "INVALID") -> Exception:
    from soliloquy_services.gateway.refusals import Code, Refusal

    return Refusal(Code[code], message)
