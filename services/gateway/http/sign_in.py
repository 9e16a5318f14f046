"""Signs browsers in with an OpenID provider: by a code that only this browser can redeem (PKCE)."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.http.session import SIGN_IN, is_secure, keep_token
from soliloquy_services.gateway.refusals import Code, Refusal

if TYPE_CHECKING:
    from soliloquy_services.gateway.access.oidc import Issuer

# The provider's answer comes here: outside /v1/, which no page of another site may call.
SIGNED_IN = "/signed-in"
_COOKIE = "soliloquy-sign-in"
_SECONDS = 600
# The page of the console that the browser comes back to.
_PAGE = "page"
_LONGEST_PAGE = 500
# Browsers keep no longer cookie.
_LONGEST_TOKEN = 4_000


@dataclass(frozen=True, slots=True)
class SignIn:
    issuer: "Issuer"

    def routes(self) -> tuple[HttpRoute, ...]:
        return (
            HttpRoute("GET", SIGN_IN, "", self.begin, media="text/html"),
            HttpRoute("GET", SIGNED_IN, "", self.end, media="text/html"),
        )

    async def begin(self, context: RequestContext) -> Response:
        """Sends the browser to the provider."""
        request, settings = context.request, self.issuer.settings
        provider = await self.issuer.provider()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        query = {
            "response_type": "code",
            "client_id": settings.audience,
            "redirect_uri": _redirect_uri(request),
            "scope": settings.scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in provider.authorization_endpoint else "?"
        response = RedirectResponse(f"{provider.authorization_endpoint}{joint}{urlencode(query)}", 303)
        response.set_cookie(
            _COOKIE,
            ".".join((state, nonce, verifier, quote(request.query_params.get(_PAGE, "")[:_LONGEST_PAGE]))),
            max_age=_SECONDS,
            path=SIGNED_IN,
            httponly=True,
            # The provider's page leads back here, so that a strict one would not be sent.
            samesite="lax",
            secure=is_secure(request),
        )
        return response

    async def end(self, context: RequestContext) -> Response:
        """Redeems the provider's code for a token, which becomes the session's cookie."""
        request, access = context.request, context.access
        query, issuer = request.query_params, self.issuer.settings.issuer
        state, _, rest = request.cookies.get(_COOKIE, "").partition(".")
        nonce, _, rest = rest.partition(".")
        verifier, _, page = rest.partition(".")
        if not verifier or not hmac.compare_digest(state.encode(), query.get("state", "").encode()):
            raise Refusal(Code.INVALID, f"this sign-in was not begun here, or is over: begin again at {SIGN_IN}")
        if error := query.get("error", ""):
            raise Refusal(Code.DENIED, f"{issuer} refuses the sign-in ({error[:80]!r}): ask its administrator")
        if query.get("iss", issuer) != issuer:
            raise Refusal(Code.DENIED, f"the answer is not from {issuer}: begin again at {SIGN_IN}")
        token = await self.issuer.redeem(query.get("code", ""), verifier, _redirect_uri(request))
        credentials = replace(context.credentials, token=token, certificate="")
        await access.prepare(credentials)
        with access.admit(credentials, "SignIn"):
            if not hmac.compare_digest(self.issuer.claims(token).nonce.encode(), nonce.encode()):
                raise Refusal(Code.UNAUTHENTICATED, f"the token is of another sign-in: begin again at {SIGN_IN}")
            if len(token) > _LONGEST_TOKEN:
                line = f"the token has {len(token):,} characters, and a cookie holds {_LONGEST_TOKEN:,}"
                raise Refusal(Code.TOO_LARGE, f"{line}: have the provider leave out claims that the gateway needs not")
        response = RedirectResponse(f"/#/{quote(unquote(page), safe='/?=&%')}", 303)
        response.delete_cookie(_COOKIE, path=SIGNED_IN)
        keep_token(request, response, token)
        return response


def _redirect_uri(request: Request) -> str:
    """The provider compares it with those that are registered."""
    scheme = "https" if is_secure(request) else "http"
    return f"{scheme}://{request.headers.get('host', '')}{SIGNED_IN}"
