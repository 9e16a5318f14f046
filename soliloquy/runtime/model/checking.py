"""Asks every endpoint of the settings once, before anything relies on it."""

import asyncio

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import RetryableFault, UnknownModel
from soliloquy.runtime.model.opening import client_for
from soliloquy.runtime.model.settings import Endpoint, Models, described
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

CHECK_SECONDS = 10.0
_QUESTION = GenerateRequest(
    role="check",
    messages=[Message(role="user", text="Reply with the word ok.")],
    sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=16),
)


async def check_endpoints(models: Models) -> list[str]:
    """Returns what keeps endpoints from answering at the moment; raises UnknownModel if one denies its model."""
    remote = {name: endpoint for name, endpoint in models.used.items() if endpoint.engine != "scripted"}
    faults = await asyncio.gather(*(_fault(name, endpoint) for name, endpoint in remote.items()))
    return [fault for fault in faults if fault]


async def _fault(name: str, endpoint: Endpoint) -> str:
    client = client_for(name, endpoint)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await client.ask(_QUESTION, CHECK_SECONDS)
    except TimeoutError:
        return f"{described(name, endpoint)} did not answer within {CHECK_SECONDS:g} s"
    except RetryableFault as fault:
        return f"{described(name, endpoint)} does not answer: {fault}"
    except ModelRefused:
        # It answers; what it says about this question tells nothing about others.
        return ""
    except UnknownModel:
        raise
    except Failure as refused:
        return str(refused)
    finally:
        await client.close()
    return ""
