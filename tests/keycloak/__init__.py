"""Keycloak on this machine, with a realm of one client: a real OpenID provider for tests."""

import contextlib
import json
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tests import cache, maven
from tests.kafka import processes
from tests.kafka.jars import KafkaUnavailable, java

POM = Path(__file__).with_name("pom.xml")
REALM, CLIENT, PASSWORD = "lab", "soliloquy-console", "a-password"
_ADMIN = "admin"
_START_SECONDS = 180.0
# The parts that are chosen when it is built.
_BUILD = ("--db=dev-mem", "--cache=local")


class KeycloakUnavailable(Exception):
    """No Keycloak can be started on this machine."""


@dataclass(frozen=True, kw_only=True)
class Keycloak:
    url: str

    @property
    def issuer(self) -> str:
        return f"{self.url}/realms/{REALM}"

    def add_realm(self, users: Mapping[str, str], redirects: list[str]) -> None:
        """Adds people with a group each, and a public client that may lead back to these addresses."""
        groups = {"name": "groups", "protocol": "openid-connect", "protocolMapper": "oidc-group-membership-mapper"}
        audience = {"name": "audience", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper"}
        claim = {"claim.name": "groups", "full.path": "false", "id.token.claim": "true", "access.token.claim": "true"}
        added = {"included.client.audience": CLIENT, "access.token.claim": "true", "id.token.claim": "false"}
        client = {
            "clientId": CLIENT,
            "publicClient": True,
            "directAccessGrantsEnabled": True,
            "redirectUris": redirects,
            "attributes": {"pkce.code.challenge.method": "S256"},
            "protocolMappers": [groups | {"config": claim}, audience | {"config": added}],
        }
        people = [
            {
                "username": name,
                "enabled": True,
                "email": f"{name}@lab.example",
                "firstName": name,
                "lastName": name,
                "groups": [group],
                "credentials": [{"type": "password", "value": PASSWORD}],
            }
            for name, group in users.items()
        ]
        realm = {
            "realm": REALM,
            "enabled": True,
            "sslRequired": "none",
            "groups": [{"name": name} for name in set(users.values())],
            "users": people,
            "clients": [client],
        }
        self._admin("POST", "", realm)

    def leave_group(self, user: str) -> None:
        [found] = self._admin("GET", f"/{REALM}/users?username={user}")
        for group in self._admin("GET", f"/{REALM}/users/{found['id']}/groups"):
            self._admin("DELETE", f"/{REALM}/users/{found['id']}/groups/{group['id']}")

    def token(self, user: str, realm: str = REALM, client: str = CLIENT) -> str:
        """An access token, as a program gets one."""
        form = {"grant_type": "password", "client_id": client, "username": user, "password": PASSWORD}
        url = f"{self.url}/realms/{realm}/protocol/openid-connect/token"
        return str(_asked(urllib.request.Request(url, urllib.parse.urlencode(form).encode()))["access_token"])

    def _admin(self, method: str, path: str, body: Any = None) -> Any:
        token = self.token(_ADMIN, "master", "admin-cli")
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        content = json.dumps(body).encode() if body is not None else None
        return _asked(urllib.request.Request(f"{self.url}/admin/realms{path}", content, headers, method=method))


def _asked(request: urllib.request.Request) -> Any:
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Keycloak]:
    """Raises KeycloakUnavailable."""
    place = installed()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    options = (
        "--http-enabled=true",
        "--http-host=127.0.0.1",
        f"--http-port={url.rpartition(':')[2]}",
        f"--hostname={url}",
    )
    admin = (
        f"KC_BOOTSTRAP_ADMIN_USERNAME={_ADMIN}",
        f"KC_BOOTSTRAP_ADMIN_PASSWORD={PASSWORD}",
        "JAVA_OPTS_APPEND=-Xmx512m",
    )
    log = folder / "keycloak.log"
    process = processes.start(["env", *admin, str(place / "bin/kc.sh"), "start", "--optimized", *options], log)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(url):
            is_over = process.poll() is not None or time.monotonic() > deadline
            assert not is_over, log.read_text("utf-8")[-3000:]
            time.sleep(0.2)
        yield Keycloak(url=url)
    finally:
        processes.end([process], seconds=20.0)


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/realms/master", timeout=30) as answer:
        return bool(answer.status == 200)
    return False


def installed() -> Path:
    """Returns the folder of the server; raises KeycloakUnavailable."""
    try:
        java()
    except KafkaUnavailable as error:
        raise KeycloakUnavailable(str(error)) from error
    folder = cache.place("keycloak", POM)
    if (why := cache.failure(folder, _fetch)) is not None:
        raise KeycloakUnavailable(why)
    [place] = folder.glob("keycloak-*/")
    return place


def _fetch(folder: Path) -> str | None:
    if (why := maven.jars(POM, folder)) is not None:
        return why
    [packed] = folder.glob("*.zip")
    with ZipFile(packed) as archive:
        archive.extractall(folder)
    packed.unlink()
    [place] = folder.glob("keycloak-*/")
    program = place / "bin/kc.sh"
    program.chmod(0o755)
    done = subprocess.run([str(program), "build", *_BUILD], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"Keycloak was not built: {(done.stdout + done.stderr).strip()[-500:]}"
