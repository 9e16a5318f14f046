"""Asks every endpoint of the settings once, before anything relies on it."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import RetryableFault, TimedOut, UnknownModel
from soliloquy.runtime.model.opening import client_for
from soliloquy.runtime.model.recording import FILE
from soliloquy.runtime.model.settings import ANY_MODEL, Endpoint, Models, described
from soliloquy.runtime.model.spending import BudgetUsed, Spending, billed
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

CHECK_SECONDS = 10.0
_REMOTE = ("openai", "ray")
_QUESTION = GenerateRequest(
    role="check",
    messages=[Message(role="user", text='Reply with {"ok": true}.')],
    # So that the form in which the endpoint takes schemas is known.
    schema='{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}',
    sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=16),
)


async def check_endpoints(models: Models) -> list[str]:
    """Returns what keeps endpoints from answering at the moment; raises UnknownModel if one denies its model."""
    faults = await _faults(models)
    if unknown := next((fault for fault in faults.values() if isinstance(fault, UnknownModel)), None):
        raise unknown
    return [str(fault) for fault in faults.values()]


async def require_endpoints(
    models: Models,
    record: Path | None,
    findings: Path | None = None,
    spending: Spending | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Raises Failure if an endpoint refuses every call until a person fixes something; other faults may pass.

    A fallback has to answer: nothing else tells that it is away before it is needed. Where answers are
    recorded, only model services are asked, which have to say what weights they serve: other answers may all be there.
    `tell` hears a line about each endpoint that answers.
    """
    engines = ("ray",) if record and (record / FILE).exists() else _REMOTE
    for name, fault in (await _faults(models, findings, spending, engines, tell)).items():
        if isinstance(fault, Failure):
            raise Failure(str(fault))
        if name in models.reserves:
            raise Failure(f"{fault}: start this fallback, or remove it from the settings of the roles")


async def _faults(
    models: Models,
    findings: Path | None = None,
    spending: Spending | None = None,
    engines: Collection[str] = _REMOTE,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Exception]:
    remote = {name: endpoint for name, endpoint in models.used.items() if endpoint.engine in engines}
    asked = (_fault(name, endpoint, findings, spending, tell) for name, endpoint in remote.items())
    faults = await asyncio.gather(*asked)
    return {name: fault for name, fault in zip(remote, faults, strict=True) if fault}


async def _fault(
    name: str,
    endpoint: Endpoint,
    findings: Path | None,
    spending: Spending | None,
    tell: Callable[[str], None],
) -> Exception | None:
    client = client_for(name, endpoint, findings)
    question = GenerateRequest.FromString(_QUESTION.SerializeToString())
    try:
        # It answers; what it says about this question tells nothing about others.
        with suppress(ModelRefused), billed(spending, name, endpoint, question) as bill:
            async with asyncio.timeout(CHECK_SECONDS):
                answer = await client.ask(question, CHECK_SECONDS)
            bill(answer)
            place = endpoint.base_url or endpoint.address
            thinks = ["thinks first"] if answer.reasoning or answer.reasoning_tokens else []
            known = [*client.manners(question), *thinks, f"{endpoint.max_concurrency} calls at once"]
            tell(f"{name}: {answer.model} at {place} {'; '.join(known)}")
        other = (await client.served()).name
        if other and endpoint.model not in (other, ANY_MODEL):
            return UnknownModel(
                f"{described(name, endpoint)} serves {other!r}, and answers as if it were this model: name that"
            )
    except TimeoutError:
        return TimedOut(f"{described(name, endpoint)} did not answer within {CHECK_SECONDS:g} s")
    except RetryableFault as fault:
        return type(fault)(f"{described(name, endpoint)} does not answer: {fault}")
    except BudgetUsed:
        # It ends a run that has begun, with what it spent; the endpoint is not to blame.
        return None
    except Failure as refused:
        return refused
    finally:
        await client.close()
    return None
