"""Servers and callers whose certificates fit, and do not; callers are "soliloquy-test-client"."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from soliloquy.runtime.tls import ServerTls, Tls
from tests.kafka.certificates import Authority, Certificate

REFUSED = (
    *("no client certificate", "a client of another authority", "an expired client"),
    *("a server's certificate for a client", "a server of another authority", "an expired server"),
    "a server of another name",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Meeting:
    """Certificates that a server and its caller show each other."""

    server: Certificate
    client: Certificate | None
    # By whom the caller's certificate must be signed, and the server's.
    client_ca: Authority
    server_ca: Authority

    @property
    def server_tls(self) -> ServerTls:
        return ServerTls(
            certificate=self.server.certificate, key=self.server.key, client_ca=self.client_ca.own.certificate
        )

    @property
    def tls(self) -> Tls:
        shown = {"certificate": self.client.certificate, "key": self.client.key} if self.client else {}
        return Tls(ca=self.server_ca.own.certificate, **shown)


def meetings_in(folder: Path) -> Mapping[str, Meeting]:
    """Makes a good one, and one for each of REFUSED."""
    authority, stranger, elsewhere = (
        Authority.founded(folder / name) for name in ("authority", "stranger", "elsewhere")
    )
    hosts = ["IP:127.0.0.1"]
    good = Meeting(
        server=authority.sign("broker", hosts),
        client=authority.sign("client"),
        client_ca=authority,
        server_ca=authority,
    )
    return {
        "good": good,
        "no client certificate": replace(good, client=None),
        "a client of another authority": replace(good, client=stranger.sign("client")),
        "an expired client": replace(good, client=authority.sign("client", days="-1")),
        "a server's certificate for a client": replace(good, client=good.server),
        "a server of another authority": replace(good, server=stranger.sign("broker", hosts)),
        "an expired server": replace(good, server=authority.sign("broker", hosts, days="-1")),
        "a server of another name": replace(
            good, server=elsewhere.sign("broker", ["DNS:other.example"]), server_ca=elsewhere
        ),
    }
