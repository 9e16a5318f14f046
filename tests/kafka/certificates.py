"""A certificate authority for one cluster, and the certificates that it signs."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from tests.kafka.jars import KafkaUnavailable

_EXTENSIONS = Path(__file__).with_name("certificates.cnf")
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_DAYS = "2"


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    certificate: Path
    key: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Authority:
    folder: Path
    own: Certificate

    @classmethod
    def founded(cls, folder: Path) -> Self:
        folder.mkdir(parents=True, exist_ok=True)
        own = _paths(folder, "authority")
        made = ["-days", _DAYS, "-keyout", str(own.key), "-out", str(own.certificate)]
        _openssl("req", "-x509", *_request("authority"), "-extensions", "authority", *made)
        return cls(folder=folder, own=own)

    def sign(
        self, kind: Literal["broker", "client"], hosts: Iterable[str] = (), *, name: str = "", days: str = _DAYS
    ) -> Certificate:
        """`hosts` are subject alternative names: DNS:localhost, IP:127.0.0.1; negative `days` are over."""
        name = name or kind
        signed = _paths(self.folder, name if days == _DAYS else f"{name}{days}")
        request = self.folder / f"{name}.csr"
        _openssl("req", "-new", *_request(name), "-keyout", str(signed.key), "-out", str(request))
        by = ["-CA", str(self.own.certificate), "-CAkey", str(self.own.key), "-CAcreateserial", "-days", days]
        extensions = ["-extfile", str(_EXTENSIONS), "-extensions", kind]
        files = ["-in", str(request), "-out", str(signed.certificate)]
        _openssl("x509", "-req", *by, *extensions, *files, hosts=hosts)
        return signed


def _paths(folder: Path, kind: str) -> Certificate:
    return Certificate(certificate=folder / f"{kind}.pem", key=folder / f"{kind}.key")


def _request(name: str) -> list[str]:
    return ["-config", str(_EXTENSIONS), "-subj", f"/CN=soliloquy-test-{name}", *_NEW_KEY]


def _openssl(*arguments: str, hosts: Iterable[str] = ()) -> None:
    path = shutil.which("openssl")
    if path is None:
        raise KafkaUnavailable("openssl is missing: install it, it makes the certificates of a broker that speaks TLS")
    environment = {**os.environ, "HOSTS": ",".join(hosts) or "DNS:localhost"}
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise KafkaUnavailable(f"openssl {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
