"""Everything that the gateway serves over HTTP, as one application."""

import asyncio
from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from services.gateway.access.access import Access
from services.gateway.http.assets import mounts, page
from services.gateway.http.choices import choices
from services.gateway.http.console import conversation_view, watch_pipeline
from services.gateway.http.dispatcher import RouteDispatcher
from services.gateway.http.files import files
from services.gateway.http.headers import SecurityHeaders
from services.gateway.http.openapi import OpenApiDocument
from services.gateway.http.routes import RPC_ROUTES, HttpRoute, Route
from services.gateway.http.session import ROUTES as SESSION
from services.gateway.http.training import training
from services.gateway.service import Gateway
from services.gateway.settings import GatewaySettings


def application(
    gateway: Gateway, settings: GatewaySettings, access: Access, stopping: asyncio.Event, more: Iterable[HttpRoute] = ()
) -> Starlette:
    """`more` adds routes; streams end when `stopping` is set."""
    dispatcher = RouteDispatcher(gateway, access, stopping)
    offered: tuple[Route, ...] = (
        *RPC_ROUTES,
        watch_pipeline(gateway),
        conversation_view(gateway),
        *files(gateway, settings.datasets),
        choices(gateway, settings.models),
        training(settings.adapters, settings.evaluations),
        *SESSION,
        *more,
    )
    routes = (*offered, OpenApiDocument(offered).route(), page())
    served = Starlette(
        routes=[*dispatcher.starlette_routes(routes), *mounts()],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers={HTTPException: dispatcher.not_found},
    )
    # A trailing slash makes another path, with no redirect.
    served.router.redirect_slashes = False
    return served
