"""Signs browsers in: the token becomes a cookie that no script can read and no other site can send."""

from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import ConfigDict, Field, with_config
from starlette.requests import Request
from starlette.responses import Response

from soliloquy_services.gateway.access.access import bearer
from soliloquy_services.gateway.access.tokens import Caller
from soliloquy_services.gateway.http.answers import json_response
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal

COOKIE = "soliloquy"
SIGN_IN = "/sign-in"
# A working day.
_COOKIE_SECONDS = 12 * 3_600
_MOST_BYTES = 4_096


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True, slots=True)
class TokenSignIn:
    token: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    # Empty for a caller who is not signed in, or need not be.
    name: str
    # annotator, reader or operator; empty for a caller who is not signed in.
    role: str
    # The tenant whose runs it sees; empty for the installation, which sees all.
    tenant: str
    # Whether the gateway requires a token.
    needed: bool
    # The path at which a browser signs in with the OpenID provider; empty without one.
    sign_in: str


def token_of(request: Request) -> str:
    """Takes the token from the header or else from the cookie; empty without either."""
    if header := request.headers.get("authorization", ""):
        return bearer(header) or "?"
    return unquote(request.cookies.get(COOKIE, ""))


async def show_session(context: RequestContext) -> Session:
    """Tells who is signed in."""
    access, credentials = context.access, context.credentials
    if not credentials.token and not credentials.certificate:
        return _session(context, access.caller(credentials))
    try:
        with access.admit(credentials, "GetSession"):
            return _session(context, access.caller(credentials))
    except Refusal as refusal:
        # A browser whose token was revoked is asked for another.
        if refusal.code is not Code.UNAUTHENTICATED:
            raise
        return _session(context, None)


async def sign_in(context: RequestContext) -> Response:
    """Sign in with a token: the answer sets a cookie."""
    body = await context.body(_MOST_BYTES)
    token = body.get("token")
    if not isinstance(token, str) or not token or body.keys() != {"token"}:
        raise Refusal(Code.INVALID, 'the body holds no token: send {"token": ".."}')
    credentials = replace(context.credentials, token=token, certificate="")
    await context.access.prepare(credentials)
    with context.access.admit(credentials, "SignIn"):
        response = json_response(_session(context, context.access.caller(credentials)))
    keep_token(context.request, response, token)
    return response


def keep_token(request: Request, response: Response, token: str) -> None:
    response.set_cookie(
        COOKIE, quote(token), max_age=_COOKIE_SECONDS, httponly=True, samesite="strict", secure=is_secure(request)
    )


def is_secure(request: Request) -> bool:
    """Whether the browser speaks TLS; a caller who forges the header, which a proxy sets, harms only itself."""
    return "https" in (request.scope["scheme"], request.headers.get("x-forwarded-proto"))


async def sign_out(context: RequestContext) -> Response:
    """Sign out."""
    response = json_response({})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _session(context: RequestContext, caller: Caller | None) -> Session:
    return Session(
        name=caller.name if caller else "",
        role=caller.role if caller else "",
        tenant=caller.tenant if caller else "",
        needed=context.access.requires_token,
        sign_in=SIGN_IN if context.access.issuer else "",
    )


ROUTES = (
    HttpRoute("GET", "/v1/session", "", show_session, answer=Session),
    HttpRoute("POST", "/v1/session", "", sign_in, body=TokenSignIn, answer=Session),
    HttpRoute("DELETE", "/v1/session", "", sign_out),
)
