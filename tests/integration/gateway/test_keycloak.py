"""A real OpenID provider signs people and programs in: Keycloak, with a browser before it."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from soliloquy.client import PermissionDenied, Runs
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.oidc import Issuer
from soliloquy_services.gateway.access.tokens import TokenFile
from tests.e2e.chromium import chromium, needs_chromium
from tests.integration.gateway.provider import LIMITS, callers, group
from tests.integration.gateway.site import site
from tests.keycloak import CLIENT, PASSWORD, Keycloak, KeycloakUnavailable, running
from tests.unit.gateway.tokens import OPERATOR
from tests.waiting import until

pytestmark = pytest.mark.thorough
TITLE = "document.querySelector('main h1')?.textContent"


@pytest.fixture(scope="module")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    try:
        with running(tmp_path_factory.mktemp("keycloak")) as keycloak:
            yield keycloak
    except KeycloakUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"no Keycloak, which CI must have: {error}", pytrace=False)
        pytest.skip(f"no Keycloak: {error}")


@needs_chromium
async def test_people_and_programs_sign_in_with_a_real_provider(keycloak: Keycloak, tmp_path: Path) -> None:
    groups = (group("physicists", "operator", "physics"), group("students", "reader"))
    file = TokenFile(callers(tmp_path, keycloak.issuer, *groups))
    assert file.oidc
    assert file.oidc.audience == CLIENT
    people = {"ada": "physicists", "bob": "students", "eve": "strangers"}
    access = Access(file, Issuer(file.oidc), limits=LIMITS)
    async with site(tmp_path, admitting=access) as at:
        await asyncio.to_thread(keycloak.add_realm, people, [f"{at.http}/signed-in"])
        # A program takes its access token from the provider.
        assert (await at.ask("GET", "/v1/session", token=await asyncio.to_thread(keycloak.token, "bob"))).body == {
            "name": "oidc:bob",
            "role": "reader",
            "tenant": "",
            "needed": True,
            "sign_in": "/sign-in",
        }
        with Runs(at.grpc, token=await asyncio.to_thread(keycloak.token, "ada")) as runs:
            started: Any = await asyncio.to_thread(
                lambda: runs.start(recipe="soliloquy", problems="arithmetic", conversations=1)
            )
            assert started.requested_by == "oidc:ada"
        with (
            Runs(at.grpc, token=await asyncio.to_thread(keycloak.token, "eve")) as runs,
            pytest.raises(PermissionDenied, match="no group of oidc:eve is admitted"),
        ):
            await asyncio.to_thread(lambda: list(runs.list()))
        # Its tokens are for others: of another realm, and of another client.
        other = await asyncio.to_thread(keycloak.token, "admin", "master", "admin-cli")
        assert (await at.ask("GET", "/v1/runs", token=other)).status == 401

        async with chromium(tmp_path / "profile", offline=False) as page:
            await page.open(f"{at.http}/")
            await page.click("main a", "Sign in with your account")
            await page.until("document.querySelector('#kc-login')")
            await page.fill("#username", "ada")
            await page.fill("#password", PASSWORD)
            await page.evaluate("document.querySelector('#kc-login').click()")
            await page.until(f"{TITLE} === 'Runs'")
            assert "oidc:ada" in await page.evaluate("document.getElementById('session').textContent")
            await page.until(f"document.querySelector('main').textContent.includes({started.name!r})")
            # The provider signs in whom it knows once a token is over, and leads back.
            await page.evaluate("location.hash = '#/training'")
            await page.until(f"{TITLE} === 'Training'")
            await page.evaluate("performance.mark('before')")
            over = "fetch('/v1/session', { method: 'DELETE' }).then(() => { location.hash = '#/training?again'; })"
            await page.evaluate(f"void {over}")

            async def is_back() -> bool:
                # It leaves for the provider meanwhile.
                with suppress(RuntimeError):
                    is_anew = "!performance.getEntriesByName('before').length"
                    return bool(await page.evaluate(f"{is_anew} && {TITLE} === 'Training'"))
                return False

            await until(is_back)
            await page.click("#session button", "Sign out")
            await page.until(f"{TITLE} === 'Sign in'")
            # The tokens of the file stay beside it.
            await page.fill("#token", OPERATOR)
            await page.press("Enter")
            await page.until("document.getElementById('session').textContent.includes('olga')")
            # The browser's own line on the call that found the token over.
            assert all("401" in complaint for complaint in page.complaints)
