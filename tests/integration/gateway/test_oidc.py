"""Tokens of an OpenID provider: which are taken, for how long, and what becomes of them while the provider is away."""

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey
from yarl import URL

from soliloquy.client import Runs
from soliloquy.runtime.validated_file import CHECK_SECONDS
from soliloquy_services.gateway.access.access import Access, Credentials
from soliloquy_services.gateway.access.oidc import KEEP_SECONDS, LEAST_SECONDS, LEEWAY_SECONDS
from soliloquy_services.gateway.access.tokens import Caller
from soliloquy_services.gateway.http.sign_in import SIGNED_IN
from soliloquy_services.gateway.refusals import Refusal
from tests.integration.gateway.provider import CLIENT, Clock, Key, Provider, admitting, callers, group, rsa, serving
from tests.integration.gateway.site import site
from tests.waiting import until

ADA = Caller(name="oidc:ada", role="operator")


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


async def who(access: Access, token: str) -> Caller | str:
    """The caller, or why there is none."""
    credentials = Credentials(address="192.0.2.7", token=token)
    await access.prepare(credentials)
    try:
        return access.authenticate(credentials)
    except Refusal as refusal:
        return refusal.message


async def test_a_group_gives_its_role_and_its_tenant_and_the_first_of_the_file_decides(
    provider: Provider, tmp_path: Path
) -> None:
    access = admitting(
        tmp_path, provider.issuer, group("heads", "operator", "physics"), group("physicists", "reader", "physics")
    )
    token = provider.token
    assert await who(access, token()) == Caller(name="oidc:ada", role="reader", tenant="physics")
    both = token(groups=["physicists", "heads"])
    assert await who(access, both) == Caller(name="oidc:ada", role="operator", tenant="physics")
    assert await who(access, token(groups="heads", preferred_username=None)) == Caller(
        name="oidc:0042", role="operator", tenant="physics"
    )
    for groups in ([], ["others"], None, 7, [["heads"]], {"heads": 1}):
        assert await who(access, token(groups=groups)) == (
            "no group of oidc:ada is admitted: ask the gateway's operator for an entry"
        )


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ECKey.generate_key("P-256", {"kid": "ec"}), "ES256"),
        (OKPKey.generate_key("Ed25519", {"kid": "ed"}), "Ed25519"),
        (rsa("rsa"), "RS256"),
    ],
    ids=["ES256", "Ed25519", "RS256"],
)
async def test_keys_of_every_public_kind_sign(provider: Provider, tmp_path: Path, key: Any, algorithm: str) -> None:
    # A provider publishes keys that encrypt too.
    provider.keys = [rsa("other"), key]
    assert await who(admitting(tmp_path, provider.issuer), provider.token(key, header={"alg": algorithm})) == ADA


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def signed_with_a_public_key(at: Provider) -> str:
    """Is what a library would take that lets a token choose its algorithm."""
    header = encoded(b'{"alg":"HS256","kid":"first"}')
    signed = f"{header}.{at.token().split('.')[1]}"
    return f"{signed}.{encoded(hmac.digest(at.keys[0].as_pem(private=False), signed.encode(), 'sha256'))}"


def for_any_algorithm(key: Key) -> RSAKey:
    return RSAKey.import_key({name: value for name, value in key.as_dict(private=True).items() if name != "alg"})


STRANGE = rsa("first")
REFUSED: dict[str, tuple[Callable[[Provider], str], str]] = {
    "another audience": (lambda at: at.token(aud="another"), "aud"),
    "no audience": (lambda at: at.token(aud=None), "aud"),
    "another issuer": (lambda at: at.token(iss="https://evil.example"), "iss"),
    "no end": (lambda at: at.token(exp=None), "exp"),
    "not yet": (lambda at: at.token(nbf=9_000_000_000), "not yet valid"),
    "long expired": (lambda at: at.token(exp=1), "expired"),
    "nobody": (lambda at: at.token(sub=None), "sub"),
    "the key of a stranger": (lambda at: at.token(STRANGE), "bad_signature"),
    "an unknown key": (lambda at: at.token(rsa("unknown")), "none of the provider's keys"),
    "no signature": (lambda at: f"{at.token().rpartition('.')[0]}.", "bad_signature"),
    "no algorithm": (
        lambda at: f"eyJhbGciOiJub25lIn0.{at.token().split('.')[1]}.",
        "have the provider sign with one of RS256",
    ),
    "a public key as a secret": (signed_with_a_public_key, "have the provider sign with one of RS256"),
    "a key from elsewhere": (
        lambda at: at.token(STRANGE, header={"kid": None, "jku": "https://evil.example/keys"}),
        "bad_signature",
    ),
    "a path for a key": (lambda at: at.token(header={"kid": "../../dev/null"}), "none of the provider's keys"),
    "a header that must be understood": (lambda at: at.token(header={"crit": ["b64"], "b64": False}), "refused"),
    "a header of another kind": (
        lambda at: encoded(b'{"alg": "RS256", "kid": "first", "crit": 7}') + ".e30.e30",
        "refused",
    ),
    "another algorithm of the same key": (
        lambda at: at.token(for_any_algorithm(at.keys[0]), header={"alg": "PS256"}),
        "none of the provider's keys",
    ),
    "a name of two lines": (lambda at: at.token(preferred_username="ada\nroot"), "no name"),
    "nonsense": (lambda at: "eyJ.x.y", "refused"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_token_that_the_provider_did_not_sign_for_this_gateway_is_refused(
    provider: Provider, tmp_path: Path, case: str
) -> None:
    access = admitting(tmp_path, provider.issuer)
    made, told = REFUSED[case]
    assert await who(access, provider.token()) == ADA
    refusal = await who(access, made(provider))
    assert isinstance(refusal, str)
    assert told in refusal
    assert "\n" not in refusal


async def test_a_token_without_a_key_s_name_is_taken_only_where_there_is_no_choice(
    provider: Provider, tmp_path: Path
) -> None:
    clock = Clock()
    access = admitting(tmp_path, provider.issuer, clock=clock)
    assert await who(access, provider.token(header={"kid": None})) == ADA
    provider.keys.append(rsa("second"))
    clock.ahead += KEEP_SECONDS
    await who(access, provider.token())
    await until(lambda: _refused(access, provider.token(header={"kid": None}), "does not say which"))


async def _refused(access: Access, token: str, told: str) -> bool:
    found = await who(access, token)
    return isinstance(found, str) and told in found


async def test_a_name_of_the_file_cannot_be_taken_by_the_provider(provider: Provider, tmp_path: Path) -> None:
    found = await who(admitting(tmp_path, provider.issuer), provider.token(preferred_username="olga"))
    assert isinstance(found, Caller)
    assert found.name == "oidc:olga"


async def test_a_key_that_follows_another_is_read_at_once_and_not_for_every_unknown_one(
    provider: Provider, tmp_path: Path
) -> None:
    clock = Clock()
    access = admitting(tmp_path, provider.issuer, clock=clock)
    assert await who(access, provider.token()) == ADA
    clock.ahead += LEAST_SECONDS
    provider.keys = [rsa("second")]
    assert await who(access, provider.token()) == ADA
    assert provider.reads == 2
    for number in range(3):
        assert "none of the provider's keys" in str(await who(access, provider.token(header={"kid": str(number)})))
    assert provider.reads == 2


async def test_a_key_that_the_provider_takes_back_signs_nobody_in(provider: Provider, tmp_path: Path) -> None:
    clock = Clock()
    access, token = admitting(tmp_path, provider.issuer, clock=clock), provider.token()
    assert await who(access, token) == ADA
    provider.keys = [rsa("second")]
    clock.ahead += KEEP_SECONDS
    await until(lambda: _refused(access, token, "none of the provider's keys"))


async def test_the_keys_stay_in_force_while_the_provider_is_away(provider: Provider, tmp_path: Path) -> None:
    clock = Clock()
    access = admitting(tmp_path, provider.issuer, clock=clock)
    assert await who(access, provider.token()) == ADA
    provider.up = False
    clock.ahead += KEEP_SECONDS
    lasting = provider.token(exp=9_000_000_000)
    assert await who(access, lasting) == ADA

    async def is_asked() -> bool:
        return provider.reads == 2

    await until(is_asked)
    assert await who(access, lasting) == ADA


async def test_a_provider_that_is_away_at_the_start_locks_nobody_else_out(provider: Provider, tmp_path: Path) -> None:
    provider.up = False
    clock = Clock()
    access = admitting(tmp_path, provider.issuer, clock=clock)
    told = str(await who(access, provider.token()))
    assert told.startswith(f"the tokens of {provider.issuer} cannot be checked (")
    assert told.endswith("try again in a moment")
    provider.up = True
    clock.ahead += LEAST_SECONDS
    assert await who(access, provider.token()) == ADA


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"issuer": "https://evil.example"}, "is of 'https://evil.example'"),
        ({"jwks_uri": "http://keys.example"}, "which is not https"),
        ({"token_endpoint": None}, "token_endpoint"),
    ],
)
async def test_a_discovery_document_of_another_or_with_an_unsafe_place_is_not_followed(
    provider: Provider, tmp_path: Path, document: dict[str, Any], told: str
) -> None:
    provider.document = document
    assert told in str(await who(admitting(tmp_path, provider.issuer), provider.token()))


async def test_a_stream_ends_with_its_token_or_its_group_and_says_so_in_one_line(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.http.answers.HEARTBEAT_SECONDS", 0.2)
    clock = Clock()
    async with site(tmp_path, admitting=admitting(tmp_path, provider.issuer, clock=clock)) as at:
        headers = {"authorization": f"Bearer {provider.token()}"}

        async def rest(answer: aiohttp.ClientResponse) -> str:
            return (await answer.text()).partition("event: error\n")[2]

        async with at.session.get(f"{at.http}/v1/runs/watch", headers=headers) as answer:
            await answer.content.readuntil(b"event: runs\n")
            clock.ahead += 300 + LEEWAY_SECONDS
            line = 'data: {"code":"unauthenticated","message":"the stream ends: this token has expired: sign in again"}'
            assert (await rest(answer)).strip() == line
        clock.ahead = 0.0
        async with at.session.get(f"{at.http}/v1/runs/watch", headers=headers) as answer:
            await answer.content.readuntil(b"event: runs\n")
            callers(tmp_path, provider.issuer, group("others", "operator"))
            assert "the stream ends: no group of oidc:ada is admitted" in await rest(answer)


async def test_a_program_s_token_is_taken_over_grpc_and_its_owner_is_named(provider: Provider, tmp_path: Path) -> None:
    async with site(tmp_path, admitting=admitting(tmp_path, provider.issuer)) as at:
        async with at.session.post(
            f"{at.http}/v1/runs",
            json={
                "request_id": "one",
                "request": {"recipe": "soliloquy", "problems": "arithmetic", "conversations": 1},
            },
            headers={"authorization": f"Bearer {provider.token()}"},
        ) as answer:
            started = await answer.json()
        assert started["requested_by"] == "oidc:ada"
        with Runs(at.grpc, token=provider.token()) as runs:
            assert [run.id for run in await asyncio.to_thread(lambda: list(runs.list()))] == [started["id"]]


async def signed_in(
    provider: Provider, http: str, session: aiohttp.ClientSession, page: str = "", **claims: Any
) -> Any:
    """Goes through the sign-in as a browser does, and returns the last answer."""
    async with session.get(f"{http}/sign-in", params={"page": page}, allow_redirects=False) as answer:
        asked = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.headers["location"].startswith(f"{provider.issuer}/authorization_endpoint?")
    provider.given = {"nonce": asked["nonce"][0], **claims}
    back = URL(asked["redirect_uri"][0]).with_query(code="c0de", state=asked["state"][0])
    async with session.get(back, allow_redirects=False) as answer:
        await answer.read()
    return answer, asked


async def test_a_browser_signs_in_by_a_code_that_nobody_else_can_redeem(provider: Provider, tmp_path: Path) -> None:
    async with (
        site(tmp_path, admitting=admitting(tmp_path, provider.issuer)) as at,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        assert (await at.ask("GET", "/v1/session")).body["sign_in"] == "/sign-in"
        answer, asked = await signed_in(provider, at.http, browser, "runs/a.b-c?q=x y")
        assert (answer.status, answer.headers["location"]) == (303, "/#/runs/a.b-c?q=x%20y")
        assert (asked["code_challenge_method"], asked["client_id"]) == (["S256"], [CLIENT])
        [form] = provider.redeemed
        assert (form["code"], form["redirect_uri"]) == ("c0de", f"{at.http}{SIGNED_IN}")
        assert len(form["code_verifier"]) >= 43
        [kept] = [cookie for cookie in answer.headers.getall("set-cookie") if cookie.startswith("soliloquy=ey")]
        assert "httponly" in kept.lower()
        assert "samesite=strict" in kept.lower()
        async with browser.get(f"{at.http}/v1/session") as session:
            assert await session.json() == {
                "name": "oidc:ada",
                "role": "operator",
                "tenant": "",
                "needed": True,
                "sign_in": "/sign-in",
            }


async def test_a_sign_in_that_another_browser_began_or_a_token_of_another_sign_in_is_refused(
    provider: Provider, tmp_path: Path
) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        site(tmp_path, admitting=admitting(tmp_path, provider.issuer)) as at,
        aiohttp.ClientSession(cookie_jar=jar) as browser,
    ):
        stolen = await at.ask("GET", f"{SIGNED_IN}?code=x&state=y")
        assert (stolen.status, "was not begun here" in stolen.message) == (400, True)
        replayed, _ = await signed_in(provider, at.http, browser, nonce="another")
        assert (replayed.status, "of another sign-in" in await replayed.text()) == (401, True)
        groupless, _ = await signed_in(provider, at.http, browser, groups=[])
        assert (groupless.status, "no group of oidc:ada" in await groupless.text()) == (401, True)
        vast, _ = await signed_in(provider, at.http, browser, filler="x" * 4_000)
        assert (vast.status, "a cookie holds 4,000" in await vast.text()) == (413, True)
        assert not [cookie for cookie in jar if cookie.key == "soliloquy"]


async def test_a_change_of_the_groups_takes_effect_without_a_restart(provider: Provider, tmp_path: Path) -> None:
    access = admitting(tmp_path, provider.issuer)
    assert await who(access, provider.token()) == ADA
    callers(tmp_path, provider.issuer, group("physicists", "reader", "physics"))

    async def is_reader() -> bool:
        return await who(access, provider.token()) == Caller(name="oidc:ada", role="reader", tenant="physics")

    await until(is_reader, seconds=5 * CHECK_SECONDS)
