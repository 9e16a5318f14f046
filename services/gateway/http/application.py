"""The whole of what the gateway serves over HTTP, as one application."""

import asyncio
from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from services.gateway.access.access import Access
from services.gateway.http.assets import mounts, page
from services.gateway.http.choices import choices
from services.gateway.http.console import conversation_view, watch_pipeline
from services.gateway.http.endpoints import Endpoints
from services.gateway.http.files import files
from services.gateway.http.headers import SecurityHeaders
from services.gateway.http.openapi import Described
from services.gateway.http.routes import RPCS, Own, Route
from services.gateway.http.session import ROUTES as SESSION
from services.gateway.http.training import training
from services.gateway.service import Gateway
from services.gateway.settings import GatewaySettings


def application(
    gateway: Gateway, settings: GatewaySettings, access: Access, stopping: asyncio.Event, more: Iterable[Own] = ()
) -> Starlette:
    """`more` is what is offered besides; streams end when `stopping` is set."""
    endpoints = Endpoints(gateway, access, stopping)
    offered: tuple[Route, ...] = (
        *RPCS,
        watch_pipeline(gateway),
        conversation_view(gateway),
        *files(gateway, settings.datasets),
        choices(gateway, settings.models),
        training(settings.adapters, settings.evaluations),
        *SESSION,
        *more,
    )
    routes = (*offered, Described(offered).route(), page())
    served = Starlette(
        routes=[*endpoints.places(routes), *mounts()],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers={HTTPException: endpoints.nowhere},
    )
    # A path with a slash more is another path, not a detour.
    served.router.redirect_slashes = False
    return served
