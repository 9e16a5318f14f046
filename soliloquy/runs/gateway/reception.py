"""The gateway put together: how its runs are planned, who may ask, and what it offers besides."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from services.gateway.access.certificates import BadCertificates
from services.gateway.access.loopback import OpenToOthers
from services.gateway.access.tokens import BadTokens
from services.gateway.app import access, answering
from services.gateway.chat.settings import ChatSettings
from services.gateway.service import Gateway
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runs.failure import Failure
from soliloquy.runs.gateway.chatting import chat_routes
from soliloquy.runs.gateway.plans import Plans
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.transports.port import Transport


@dataclass(frozen=True, kw_only=True, slots=True)
class Reception:
    gateway: Gateway
    # Where others reach it.
    addresses: Sequence[str]


@asynccontextmanager
async def receiving(orders: GatewayAssignment, model: ModelSettings, transport: Transport) -> AsyncIterator[Reception]:
    """Raises Failure for what no start anew would mend."""
    settings = orders.settings
    plans = Plans(models=settings.models, noise=model.noise, files=orders.problem_files)
    async with AsyncExitStack() as opened:
        try:
            admitting = access(settings)
            gateway = Gateway(transport, plans, settings)
            await opened.enter_async_context(gateway.at_work())
            chat = chat_routes(model, orders.sandbox, transport, ChatSettings())
            more = await opened.enter_async_context(chat) if orders.sandbox else ()
            addresses = await opened.enter_async_context(answering(gateway, settings, admitting, more))
        except (BadTokens, OpenToOthers, BadCertificates) as error:
            raise Failure(str(error)) from error
        yield Reception(gateway=gateway, addresses=addresses)
