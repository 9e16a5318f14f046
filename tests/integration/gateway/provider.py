"""An OpenID provider on this machine, whose keys and answers a test changes."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.oidc import Issuer
from soliloquy_services.gateway.access.tokens import TokenFile
from tests.integration.gateway.site import ROOMY
from tests.unit.gateway.tokens import OPERATOR, entry, written

Key = RSAKey | ECKey | OKPKey
CLIENT = "soliloquy-console"
LIMITS = dict.fromkeys(("calls", "steering", "strangers", "visitors"), ROOMY)


def rsa(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


@dataclass(kw_only=True)
class Clock:
    ahead: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@dataclass(kw_only=True)
class Provider:
    issuer: str = ""
    keys: list[Key] = field(default_factory=lambda: [rsa("first")])
    # Discovery documents that were read; the provider is away while it is not `up`.
    reads: int = 0
    up: bool = True
    # Overrides of the discovery document.
    document: dict[str, Any] = field(default_factory=dict)
    # The forms that codes were redeemed with, and the claims of the token that is given for them.
    redeemed: list[dict[str, str]] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)

    def token(self, key: Key | None = None, *, header: dict[str, Any] | None = None, **claims: Any) -> str:
        key, now = key or self.keys[0], int(time.time())
        usual = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "0042",
            "exp": now + 300,
            "preferred_username": "ada",
            "groups": ["physicists"],
        }
        named = {"alg": "RS256", "kid": key.kid} | (header or {})
        chosen = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.encode({k: v for k, v in named.items() if v is not None}, chosen, key, algorithms=[named["alg"]])

    async def discovery(self, _: web.Request) -> web.Response:
        self.reads += 1
        if not self.up:
            raise web.HTTPServiceUnavailable
        places = {name: f"{self.issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        return web.json_response({"issuer": self.issuer, **places, **self.document})

    async def jwks(self, _: web.Request) -> web.Response:
        return web.json_response({"keys": [key.as_dict(private=False) for key in self.keys]})

    async def redeem(self, request: web.Request) -> web.Response:
        self.redeemed.append({name: str(value) for name, value in (await request.post()).items()})
        return web.json_response({"id_token": self.token(**self.given)})


@asynccontextmanager
async def serving() -> AsyncIterator[Provider]:
    provider, app = Provider(), web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.discovery)
    app.router.add_get("/jwks_uri", provider.jwks)
    app.router.add_post("/token_endpoint", provider.redeem)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        [address] = runner.addresses
        provider.issuer = f"http://127.0.0.1:{address[1]}"
        yield provider
    finally:
        await runner.cleanup()


def oidc(issuer: str) -> str:
    return f'[oidc]\nissuer = "{issuer}"\naudience = "{CLIENT}"\n'


def group(name: str, role: str, tenant: str = "") -> str:
    return f'[[group]]\nname = "{name}"\nrole = "{role}"\ntenant = "{tenant}"\n'


def callers(folder: Path, issuer: str, *groups: str) -> Path:
    usual = (group("physicists", "operator"), group("students", "reader"))
    return written(folder, oidc(issuer), entry("olga", "operator", OPERATOR), *(groups or usual))


def admitting(folder: Path, issuer: str, *groups: str, clock: Clock | None = None) -> Access:
    file = TokenFile(callers(folder, issuer, *groups))
    assert file.oidc
    return Access(file, Issuer(file.oidc, clock or Clock()), limits=LIMITS)
