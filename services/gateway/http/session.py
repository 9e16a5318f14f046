"""Signs browsers in: the token becomes a cookie that no script can read and no other site can send."""

from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import ConfigDict, Field, with_config
from starlette.requests import Request
from starlette.responses import Response

from soliloquy_services.gateway.access.access import Credentials, bearer
from soliloquy_services.gateway.http.answers import json_response
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal

COOKIE = "soliloquy"
# A working day.
_COOKIE_SECONDS = 12 * 3_600
_MOST_BYTES = 4_096


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True, slots=True)
class SignIn:
    token: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    # Empty for a caller who is not signed in, or need not be.
    name: str
    # reader or operator; empty for a caller who is not signed in.
    role: str
    # Whether the gateway requires a token.
    needed: bool


def token_of(request: Request) -> str:
    """Takes the token from the header or else from the cookie; empty without either."""
    if header := request.headers.get("authorization", ""):
        return bearer(header) or "?"
    return unquote(request.cookies.get(COOKIE, ""))


async def show_session(context: RequestContext) -> Session:
    """Tells who is signed in."""
    access, credentials = context.access, context.credentials
    if not credentials.token and not credentials.certificate:
        return _session(context, credentials)
    try:
        with access.admit(credentials, "GetSession"):
            return _session(context, credentials)
    except Refusal as refusal:
        # A browser whose token was revoked is asked for another.
        if refusal.code is not Code.UNAUTHENTICATED:
            raise
        return Session(name="", role="", needed=access.requires_token)


async def sign_in(context: RequestContext) -> Response:
    """Sign in with a token: the answer sets a cookie."""
    body = await context.body(_MOST_BYTES)
    token = body.get("token")
    if not isinstance(token, str) or not token or body.keys() != {"token"}:
        raise Refusal(Code.INVALID, 'the body holds no token: send {"token": ".."}')
    credentials = replace(context.credentials, token=token, certificate="")
    with context.access.admit(credentials, "SignIn"):
        response = json_response(_session(context, credentials))
    request = context.request
    response.set_cookie(
        COOKIE,
        quote(token),
        max_age=_COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        # A proxy that ends TLS sets the header; a caller who forges it harms only itself.
        secure="https" in (request.scope["scheme"], request.headers.get("x-forwarded-proto")),
    )
    return response


async def sign_out(context: RequestContext) -> Response:
    """Sign out."""
    response = json_response({})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _session(context: RequestContext, credentials: Credentials) -> Session:
    caller = context.access.caller(credentials)
    return Session(
        name=caller.name if caller else "", role=caller.role if caller else "", needed=context.access.requires_token
    )


ROUTES = (
    HttpRoute("GET", "/v1/session", "", show_session, answer=Session),
    HttpRoute("POST", "/v1/session", "", sign_in, body=SignIn, answer=Session),
    HttpRoute("DELETE", "/v1/session", "", sign_out),
)
