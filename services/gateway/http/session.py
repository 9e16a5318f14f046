"""Signing in with a browser: the token becomes a cookie that no script reads and no other site sends."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.access.access import Presented, bearer
from services.gateway.http.answers import answered
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.refusals import Code, Refusal

COOKIE = "soliloquy"
# Of a working day.
_COOKIE_SECONDS = 12 * 3_600
_MOST_BYTES = 4_096


@dataclass(frozen=True, kw_only=True, slots=True)
class SignIn:
    token: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    # Empty for who is not signed in, or need not be.
    name: str
    # reader or operator; empty for who is not signed in.
    role: str
    # Whether a token is needed here.
    needed: bool


def token_of(request: Request) -> str:
    """Of the header or, where there is none, of the cookie; empty without either."""
    if header := request.headers.get("authorization", ""):
        return bearer(header) or "?"
    return unquote(request.cookies.get(COOKIE, ""))


async def look(asked: Asked) -> Response:
    return answered(_session(asked, asked.presented))


async def sign_in(asked: Asked) -> Response:
    body = await asked.body(_MOST_BYTES)
    token = body.get("token")
    if not isinstance(token, str) or not token or body.keys() != {"token"}:
        raise Refusal(Code.INVALID, 'the body is no token: send {"token": ".."}')
    presented = Presented(address=asked.presented.address, token=token)
    with asked.access.admitted(presented, "SignIn"):
        response = answered(_session(asked, presented))
    request = asked.request
    response.set_cookie(
        COOKIE,
        quote(token),
        max_age=_COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        # A proxy that ends TLS says so; whoever lies about it harms nobody but himself.
        secure="https" in (request.scope["scheme"], request.headers.get("x-forwarded-proto")),
    )
    return response


async def sign_out(asked: Asked) -> Response:
    response = answered({})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _session(asked: Asked, presented: Presented) -> dict[str, object]:
    caller = asked.access.caller(presented)
    return {
        "name": caller.name if caller else "",
        "role": caller.role if caller else "",
        "needed": asked.access.is_needed,
    }


ROUTES = (
    Own(method="GET", path="/v1/session", action="", summary="Who one is here.", handler=look, answer=Session),
    Own(
        method="POST",
        path="/v1/session",
        action="",
        summary="Sign in with a token: the answer sets a cookie.",
        handler=sign_in,
        body=SignIn,
        answer=Session,
    ),
    Own(method="DELETE", path="/v1/session", action="", summary="Sign out.", handler=sign_out),
)
