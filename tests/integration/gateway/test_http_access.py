"""Access over HTTP: who is admitted, and what an unknown caller learns."""

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from soliloquy_services.gateway.access.rates import RateLimit
from soliloquy_services.gateway.access.tokens import ROLE_OF
from soliloquy_services.gateway.http.application import HEADERS
from tests.integration.gateway.site import OPERATOR, READER, START, Site, connected, guarded, head, site
from tests.unit.gateway.tokens import entry, written
from tests.waiting import until

JSON = {"content-type": "application/json"}
STRANGE = {"authorization": "Bearer guess"}
# Every call that takes a role, with names that lead nowhere.
NOWHERE = {"{run}": "no-run", "{conversation}": "none", "{id}": "none", "{name}": "none", "{format}": "none"}
NOWHERE |= {"{project}": "none", "{annotator}": "none"}


async def calls(at: Site) -> list[tuple[str, str, str]]:
    """The method, path and name of every call that takes a role, as the document has them."""
    document = (await at.ask("GET", "/openapi.json")).body
    found = []
    for path, methods in document["paths"].items():
        for name, place in NOWHERE.items():
            path = path.replace(name, place)
        found += [
            (method.upper(), path, operation["operationId"])
            for method, operation in methods.items()
            if operation["operationId"] in ROLE_OF
        ]
    assert {"StartRun", "WatchPipeline", "GetFile"} <= {name for _, _, name in found}
    return found


@pytest.mark.parametrize("header", ["Bearer guess", "Bearer ", "Basic b2xnYTp4", "guess", "Bearer \u00ff"])
async def test_a_wrong_token_is_told_from_a_right_one_and_nothing_else(guarded_site: Site, header: str) -> None:
    run = await guarded_site.start()
    told = {
        (answer.status, answer.body["error"]["message"])
        for path in (f"/v1/runs/{run}", "/v1/runs/no-run", "/v1/runs", "/v1/nothing", f"/v1/runs/{run}/watch")
        for answer in [await guarded_site.ask("GET", path, headers={"authorization": header})]
    }
    assert len(told) == 1
    assert told.pop()[0] == 401


async def test_nobody_without_a_token_is_let_in_anywhere(guarded_site: Site) -> None:
    for method, path, name in await calls(guarded_site):
        answer = await guarded_site.ask(method, path)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), name


async def test_a_reader_steers_nothing_and_learns_nothing_by_trying(guarded_site: Site) -> None:
    run = await guarded_site.start()
    for method, path, name in await calls(guarded_site):
        if ROLE_OF[name] == "operator":
            nowhere, there = [
                await guarded_site.ask(method, each, token=READER) for each in (path, path.replace("no-run", run))
            ]
            assert (nowhere.status, nowhere.code) == (403, "denied"), name
            assert there.body == nowhere.body
    assert (await guarded_site.ask("GET", f"/v1/runs/{run}", token=READER)).body["state"] != "RUN_STATE_CANCELLED"


async def test_whoever_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    admitting = guarded(
        tmp_path, calls=RateLimit(burst=2, per_second=0.1), strangers=RateLimit(burst=1, per_second=0.1)
    )
    async with site(tmp_path, admitting=admitting) as at:
        answers = [await at.ask("GET", "/v1/runs", token=READER) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert 1 <= int(answers[2].headers["retry-after"]) <= 10
        guesses = [await at.ask("GET", "/v1/runs", headers=STRANGE) for _ in range(2)]
        assert [answer.status for answer in guesses] == [401, 429]


async def test_a_stranger_who_asks_too_often_waits_and_nobody_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.http.application.REFUSAL_SECONDS", 1.0)
    async with site(tmp_path, admitting=guarded(tmp_path, visitors=RateLimit(burst=1, per_second=0.1))) as at:
        assert (await at.ask("GET", "/")).status == 200
        began = time.monotonic()
        refused = asyncio.create_task(at.ask("GET", "/"))
        assert (await at.ask("GET", "/v1/runs", token=READER)).status == 200
        assert not refused.done()
        assert (await refused).status == 429
        assert time.monotonic() - began >= 1.0


async def test_the_wait_of_a_refused_stranger_ends_when_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The test would reach its limit before.
    monkeypatch.setattr("soliloquy_services.gateway.http.application.REFUSAL_SECONDS", 3600.0)

    def answering() -> int:
        return sum("run_asgi" in str(task.get_coro()) for task in asyncio.all_tasks())

    async with site(tmp_path, admitting=guarded(tmp_path, visitors=RateLimit(burst=1, per_second=0.1))) as at:
        assert (await at.ask("GET", "/")).status == 200
        _, stranger = await connected(at)
        stranger.write(head("GET", "/"))
        await until(lambda: answering() == 1)
        stranger.close()
        await until(lambda: answering() == 0)


async def test_every_answer_keeps_a_browser_from_running_what_is_not_the_consoles(guarded_site: Site) -> None:
    for method, path in (
        ("GET", "/"),
        ("GET", "/v1/runs"),
        ("GET", "/none"),
        ("PUT", "/v1/runs"),
        ("GET", "/openapi.json"),
    ):
        headers = (await guarded_site.ask(method, path)).headers
        assert HEADERS.items() <= {name.lower(): value for name, value in headers.items()}.items(), path
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';" in policy
    assert "unsafe" not in policy


async def test_a_token_becomes_a_cookie_that_no_script_reads(guarded_site: Site) -> None:
    refused = await guarded_site.ask("POST", "/v1/session", {"token": "guess"})
    assert (refused.status, "set-cookie" in refused.headers) == (401, False)
    assert (await guarded_site.ask("GET", "/v1/session")).body == {
        "name": "",
        "role": "",
        "tenant": "",
        "needed": True,
        "sign_in": "",
    }
    signed_in = await guarded_site.ask("POST", "/v1/session", {"token": READER})
    assert signed_in.body == {"name": "rita", "role": "reader", "tenant": "", "needed": True, "sign_in": ""}
    cookie = signed_in.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    async with aiohttp.ClientSession(cookies={"soliloquy": READER}) as session:
        async with session.get(f"{guarded_site.http}/v1/runs") as answer:
            assert answer.status == 200
        async with session.post(f"{guarded_site.http}/v1/runs", json={}) as answer:
            assert answer.status == 403
        async with session.delete(f"{guarded_site.http}/v1/session") as answer:
            assert 'soliloquy="";' in answer.headers["set-cookie"]


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": 7}, {"token": "x", "role": "operator"}])
async def test_what_is_no_token_signs_nobody_in(guarded_site: Site, body: Any) -> None:
    assert (await guarded_site.ask("POST", "/v1/session", body)).status == 400


async def test_a_token_that_no_text_can_be_signs_nobody_in(guarded_site: Site) -> None:
    assert (await guarded_site.ask("POST", "/v1/session", b'{"token": "\\ud800"}', headers=JSON)).status == 400


async def test_tokens_cannot_be_guessed_by_asking_who_is_signed_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with site(tmp_path, admitting=guarded(tmp_path, strangers=RateLimit(burst=2, per_second=0.1))) as at:
        with caplog.at_level(logging.INFO, "soliloquy_services.gateway"):
            answers = [await at.ask("GET", "/v1/session", headers=STRANGE) for _ in range(4)]
        assert (await at.ask("GET", "/v1/session", token=READER)).body["name"] == "rita"
    assert [answer.status for answer in answers] == [200, 200, 429, 429]
    assert answers[0].body == {"name": "", "role": "", "tenant": "", "needed": True, "sign_in": ""}
    told = [vars(record)["fields"]["outcome"] for record in caplog.records if record.name.endswith("audit")]
    assert told == ["unauthenticated", "unauthenticated", "too_many", "too_many"]


@pytest.mark.parametrize("site_of_page", ["cross-site", "same-site"])
async def test_a_page_of_another_site_reads_nothing_without_naming_itself(open_site: Site, site_of_page: str) -> None:
    headers = {"sec-fetch-site": site_of_page}
    for method, path in (("GET", "/v1/runs"), ("POST", "/v1/runs"), ("DELETE", "/v1/session")):
        answer = await open_site.ask(method, path, headers=headers)
        assert (answer.status, answer.code) == (403, "denied"), path
    assert (await open_site.ask("GET", "/", headers=headers)).status == 200
    assert (await open_site.ask("GET", "/v1/runs", headers={"sec-fetch-site": "none"})).status == 200


async def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_only(guarded_site: Site) -> None:
    answer = await guarded_site.ask("POST", "/v1/session", {"token": READER}, headers={"x-forwarded-proto": "https"})
    assert "secure" in answer.headers["set-cookie"].lower()


async def test_a_name_that_was_made_to_point_here_reaches_nothing(open_site: Site) -> None:
    port = open_site.http.rpartition(":")[2]
    answer = await open_site.ask("GET", "/v1/runs", headers={"host": f"evil.example:{port}"})
    assert (answer.status, answer.code) == (403, "denied")
    assert (await open_site.ask("GET", "/v1/runs", headers={"host": f"localhost:{port}"})).status == 200


async def test_a_page_of_another_site_may_not_ask_in_somebodys_name(open_site: Site) -> None:
    body = {"request_id": "one", "request": START}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        answer = await open_site.ask("POST", "/v1/runs", body, headers={"origin": origin})
        assert (answer.status, answer.code) == (403, "denied")
    assert (await open_site.ask("POST", "/v1/runs", body, headers={"origin": open_site.http})).status == 201


async def test_the_audit_log_has_a_line_for_each_call_that_steers_and_each_that_is_refused(
    guarded_site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    guarded_site.collecting.open.clear()
    with caplog.at_level(logging.INFO, "soliloquy_services.gateway"):
        run = await guarded_site.start()
        await guarded_site.ask("POST", f"/v1/runs/{run}/pause", token=READER)
        await guarded_site.ask("POST", f"/v1/runs/{run}/pause", token=OPERATOR)
        await guarded_site.ask("POST", "/v1/runs", {"request_id": "two", "request": {}}, token=OPERATOR)
        await guarded_site.ask("GET", f"/v1/runs/{run}", token=READER)
        await guarded_site.ask("POST", "/v1/session", {"token": "guess"})
    told = [vars(record)["fields"] for record in caplog.records if record.name.endswith("audit")]
    assert [tuple(fields.values()) for fields in told] == [
        ("olga", "StartRun", "one", "done"),
        ("rita", "PauseRun", run, "denied"),
        ("olga", "PauseRun", run, "done"),
        ("olga", "StartRun", "two", "invalid"),
        ("127.0.0.1", "SignIn", "", "unauthenticated"),
    ]
    assert READER not in caplog.text
    assert OPERATOR not in caplog.text


async def test_a_browser_whose_token_is_taken_away_is_shown_no_more(guarded_site: Site, tmp_path: Path) -> None:
    guarded_site.collecting.open.clear()
    run = await guarded_site.start(conversations=50)
    headers = {"authorization": f"Bearer {READER}"}
    async with guarded_site.session.get(f"{guarded_site.http}/v1/runs/{run}/watch", headers=headers) as answer:
        await answer.content.readuntil(b"event: run\n")
        written(tmp_path, entry("olga", "operator", OPERATOR))
        await until(lambda: refused(guarded_site))
        guarded_site.collecting.open.set()
        rest = await answer.text()
    assert rest.partition("event: error\n")[2].startswith('data: {"code":"unauthenticated"')


async def refused(at: Site) -> bool:
    return (await at.ask("GET", "/v1/runs", token=READER)).status == 401
