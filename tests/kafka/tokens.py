"""An authority that signs tokens, and gives them to clients over HTTP."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE, ISSUER = "kafka", "https://authority.example"
_KEY = "only"
_LISTENER = "listener.name.client.oauthbearer"
_MODULES = "org.apache.kafka.common.security.oauthbearer"


@dataclass(frozen=True, kw_only=True)
class TokenAuthority:
    folder: Path
    _key: rsa.RSAPrivateKey

    @classmethod
    def founded(cls, folder: Path) -> Self:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        numbers = key.public_key().public_numbers()
        public = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": _KEY}
        public |= {name: _number(value) for name, value in (("n", numbers.n), ("e", numbers.e))}
        (folder / "jwks.json").write_text(json.dumps({"keys": [public]}), "utf-8")
        return cls(folder=folder, _key=key)

    @property
    def keys(self) -> str:
        return (self.folder / "jwks.json").as_uri()

    def settings(self) -> dict[str, str]:
        """Returns the settings of a broker that takes its tokens, and no others."""
        return {
            "listener.name.client.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{_LISTENER}.sasl.jaas.config": f"{_MODULES}.OAuthBearerLoginModule required;",
            f"{_LISTENER}.sasl.server.callback.handler.class": f"{_MODULES}.OAuthBearerValidatorCallbackHandler",
            # Of the whole broker: Kafka 4.1 reads none of a listener, and checks no signature by default.
            "sasl.oauthbearer.jwt.validator.class": f"{_MODULES}.BrokerJwtValidator",
            "sasl.oauthbearer.jwks.endpoint.url": self.keys,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            # A connection ends with its token.
            f"{_LISTENER}.connections.max.reauth.ms": "3600000",
        }

    def token(self, *, seconds: float = 3600.0, audience: str = AUDIENCE) -> str:
        now = time.time()
        claims = {"iss": ISSUER, "aud": audience, "sub": "soliloquy", "iat": int(now), "exp": int(now + seconds)}
        signed = f"{_part({'alg': 'RS256', 'typ': 'JWT', 'kid': _KEY})}.{_part(claims)}"
        return f"{signed}.{_encoded(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    @contextmanager
    def serving(self, client: str, secret: str, *, seconds: float) -> Iterator["TokenServer"]:
        """Gives the client tokens that live so long."""
        login = base64.b64encode(f"{client}:{secret}".encode()).decode()
        given: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:
                form = parse_qs(handler.rfile.read(int(handler.headers["Content-Length"])).decode())
                known = handler.headers["Authorization"] == f"Basic {login}"
                if known and form["grant_type"] == ["client_credentials"]:
                    given.append(form["scope"][0])
                    handler.answer(200, {"access_token": self.token(seconds=seconds), "expires_in": seconds})
                else:
                    handler.answer(401, {"error": "invalid_client", "error_description": f"not {secret}"})

            def answer(handler, status: int, told: dict[str, Any]) -> None:
                handler.send_response(status)
                handler.end_headers()
                content = json.dumps(told).encode()
                # An answer may come in pieces.
                handler.wfile.write(content[:20])
                time.sleep(0.05)
                handler.wfile.write(content[20:])

            def log_message(handler, *_: object) -> None:
                """Says nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever).start()
            try:
                yield TokenServer(url=f"http://127.0.0.1:{server.server_port}/token", given=given)
            finally:
                server.shutdown()


@dataclass(frozen=True, kw_only=True)
class TokenServer:
    url: str
    # The scope of each token.
    given: list[str]


def _part(value: dict[str, Any]) -> str:
    return _encoded(json.dumps(value).encode())


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
