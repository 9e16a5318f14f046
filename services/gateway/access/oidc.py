"""Checks the tokens that an OpenID provider signs, by the keys that it publishes."""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey
from pydantic import TypeAdapter, ValidationError

from soliloquy.runtime.authority import NoAnswer, ask, is_safe
from soliloquy.runtime.completions import first_error
from soliloquy.runtime.files import parsed_json
from soliloquy_services.gateway.access.tokens import Oidc
from soliloquy_services.gateway.refusals import RETRY_SECONDS, Code, Refusal

# With a public key alone: a secret that signs could be any text that the provider publishes.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
# By how much the provider's clock may differ.
LEEWAY_SECONDS = 30
# Keys are read again when they are this old, and sooner for a token that names another; never more often than that.
KEEP_SECONDS = 300.0
LEAST_SECONDS = 10.0
# Tokens whose signatures need no second check.
_MOST_CHECKED = 10_000
_LONGEST_NAME = 80

# Raised by a token of any content.
_FLAWS = (JoseError, ValueError, TypeError, RecursionError)

PublicKey = RSAKey | ECKey | OKPKey

_log = logging.getLogger(__name__)
_registry = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """The parts of its discovery document that are used."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str
    token_endpoint: str


_PROVIDER = TypeAdapter(Provider)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claims:
    name: str
    groups: Collection[object]
    expires: float
    nonce: str


class Issuer:
    """Keeps the last keys in force while the provider does not answer."""

    def __init__(self, settings: Oidc, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self._clock = clock
        self._provider: Provider | None = None
        self._keys: list[PublicKey] = []
        self._fault = "its keys were not read yet"
        self._read_at = self._tried_at = float("-inf")
        self._reading: asyncio.Future[None] | None = None
        # By their digests, so that memory holds no token.
        self._checked: OrderedDict[bytes, Claims] = OrderedDict()
        self._rules = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock()),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.audience},
            sub={"essential": True},
            exp={"essential": True},
        )

    @staticmethod
    def signs(token: str) -> bool:
        """Tells a token of a provider from one of the file."""
        return token.startswith("eyJ") and token.count(".") == 2

    async def prepare(self, token: str) -> None:
        """Reads the provider's keys again if this token may need it, and waits only for a key that is not known."""
        if not self.signs(token):
            return
        try:
            is_known = bool(self._candidates(_header(token)))
        except Refusal:
            return
        await self._read_unless(is_known)

    async def provider(self) -> Provider:
        await self._read_unless(self._provider is not None)
        if self._provider is None:
            raise self._unavailable()
        return self._provider

    def claims(self, token: str) -> Claims:
        """Raises Refusal for a token that is not, not yet or no longer good."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        if (claims := self._checked.get(digest)) is None:
            claims = self._checked[digest] = self._verified(token)
            if len(self._checked) > _MOST_CHECKED:
                self._checked.popitem(last=False)
        if self._clock() >= claims.expires + LEEWAY_SECONDS:
            raise Refusal(Code.UNAUTHENTICATED, "this token has expired: sign in again")
        return claims

    async def redeem(self, code: str, verifier: str, redirect_uri: str) -> str:
        """Returns the token that the provider gives for the code of a sign-in."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self.settings.audience,
            "code_verifier": verifier,
        }
        provider = await self.provider()
        try:
            status, content = await ask(provider.token_endpoint, form=form)
        except NoAnswer as error:
            raise Refusal(Code.UNAVAILABLE, f"{provider.token_endpoint} gives no token ({error}): try again") from error
        try:
            return str(parsed_json(content)["id_token"])
        except (ValueError, KeyError, TypeError) as error:
            line = f"{provider.token_endpoint} gives no token: it answers {status}: sign in again"
            raise Refusal(Code.UNAUTHENTICATED, line) from error

    def _verified(self, token: str) -> Claims:
        header = _header(token)
        if not self._keys:
            raise self._unavailable()
        match self._candidates(header):
            case [key]:
                pass
            case []:
                raise self._refused("it is signed with none of the provider's keys")
            case _:
                raise self._refused("it does not say which of the provider's keys signed it")
        try:
            claims = jwt.decode(token, key, algorithms=ALGORITHMS, registry=_registry).claims
            self._rules.validate(claims)
        except _FLAWS as error:
            raise self._refused(str(error)) from error
        name, groups = claims.get(self.settings.name) or claims["sub"], claims.get(self.settings.groups, [])
        if not isinstance(name, str) or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise self._refused(f"its {self.settings.name} is no name")
        return Claims(
            # No entry of the file has a name with a colon.
            name=f"oidc:{name}",
            groups=groups if isinstance(groups, list) else [groups],
            expires=float(claims["exp"]),
            nonce=str(claims.get("nonce", "")),
        )

    def _candidates(self, header: Mapping[str, Any]) -> list[PublicKey]:
        """Returns the keys that may have signed a token with this header; it never brings a key of its own."""
        wanted, algorithm = header.get("kid"), header.get("alg")
        return [
            key for key in self._keys if wanted in (None, key.get("kid")) and key.get("alg", algorithm) == algorithm
        ]

    async def _read_unless(self, is_known: bool) -> None:
        now = self._clock()
        if is_known and now < self._read_at + KEEP_SECONDS:
            return
        if now >= self._tried_at + LEAST_SECONDS:
            self._tried_at = now
            self._reading = asyncio.ensure_future(self._read())
        if self._reading and not is_known:
            # One caller that leaves does not stop what all wait for.
            await asyncio.wait({self._reading})

    async def _read(self) -> None:
        issuer = self.settings.issuer
        try:
            document = await _json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            provider = _PROVIDER.validate_python(document)
            if provider.issuer != issuer:
                raise NoAnswer(f"its discovery document is of {provider.issuer[:200]!r}")
            places = (provider.jwks_uri, provider.authorization_endpoint, provider.token_endpoint)
            if unsafe := next((place for place in places if not is_safe(place)), None):
                raise NoAnswer(f"its discovery document names {unsafe[:200]!r}, which is not https")
            if not (keys := _keys(await _json(provider.jwks_uri))):
                raise NoAnswer(f"{provider.jwks_uri} holds no public key")
        except (NoAnswer, ValidationError) as error:
            self._fault = first_error(error) if isinstance(error, ValidationError) else str(error)
            kept = "the previous keys stay in force" if self._keys else "nobody can sign in with it"
            _log.error("the keys of %s cannot be read (%s): %s", issuer, self._fault, kept)
            return
        if [key.as_dict() for key in keys] != [key.as_dict() for key in self._keys]:
            self._checked.clear()
            _log.info("read %d keys of %s", len(keys), issuer)
        self._provider, self._keys, self._read_at = provider, keys, self._clock()

    def _unavailable(self) -> Refusal:
        line = f"the tokens of {self.settings.issuer} cannot be checked ({self._fault}): try again in a moment"
        return Refusal(Code.UNAVAILABLE, line, retry_after=RETRY_SECONDS)

    def _refused(self, reason: str) -> Refusal:
        line = f"this token is refused ({reason}): sign in again with {self.settings.issuer}"
        return Refusal(Code.UNAUTHENTICATED, line)


def _header(token: str) -> Mapping[str, Any]:
    try:
        header = jws.extract_compact(token.encode("utf-8", "surrogatepass")).headers()
    except _FLAWS as error:
        raise Refusal(Code.UNAUTHENTICATED, f"this token is refused ({error}): sign in again") from error
    if header.get("alg") not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise Refusal(Code.UNAUTHENTICATED, f"this token is refused: have the provider sign with one of {known}")
    return header


async def _json(url: str) -> Any:
    status, content = await ask(url)
    try:
        return parsed_json(content)
    except ValueError as error:
        raise NoAnswer(f"{url} answers {status} and no JSON") from error


def _keys(document: Any) -> list[PublicKey]:
    """Returns the public keys that sign; leaves out those of a kind or a use that is not known."""
    found = []
    for entry in document.get("keys", []) if isinstance(document, dict) else []:
        try:
            key = JWKRegistry.import_key(entry)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue
        if isinstance(key, PublicKey) and key.get("use", "sig") == "sig":
            found.append(key)
    return found
