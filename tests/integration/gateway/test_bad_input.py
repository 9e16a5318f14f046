"""An invalid request over HTTP is refused with the right status and one clear sentence, and changes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.cases import each_case
from tests.integration.gateway.site import OPERATOR, START, Site, guarded, head, site, told

# Refused requests change nothing, so one gateway serves all tests.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with site(tmp_path_factory.mktemp("gateway")) as opened:
        yield opened


async def test_what_is_not_known_is_not_found(at: Site) -> None:
    run = await at.start("unknown")
    for path in (
        "/v1/runs/no-run",
        "/v1/runs/no-run/watch",
        "/v1/runs/no-run/conversations",
        "/v1/runs/no-run/conversations/tail",
        "/v1/runs/no-run/conversations/none",
        "/v1/runs/no-run/files",
        "/v1/runs/no-run/files/manifest.json",
        f"/v1/runs/{run}/conversations/none",
        f"/v1/runs/{run}/files/none",
    ):
        answer = await at.ask("GET", path)
        assert (answer.status, answer.code) == (404, "unknown"), path
        assert "\n" not in answer.message
    for path in ("/v1/runs/no-run/cancel", "/v1/runs/no-run/pause", "/v1/dead-letters/none/replay"):
        assert (await at.ask("POST", path)).status == 404, path


@each_case
async def test_a_forged_question_is_refused_in_one_sentence(at: Site, query: str, told: str) -> None:
    answer = await at.ask("GET", f"/v1/runs?{query}")
    assert (answer.status, answer.code) == (400, "invalid")
    assert told in answer.message
    assert "\n" not in answer.message


async def test_forged_places_in_a_list_of_conversations_are_refused(at: Site) -> None:
    run = await at.start("paged")
    for token in ("x", "-1", "9" * 40, "1;drop table finished", "%F0%9F%A6%8A"):
        answer = await at.ask("GET", f"/v1/runs/{run}/conversations?page_token={token}")
        assert (answer.status, answer.code) == (400, "invalid"), token


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"recipe": "none"}, "recipe"),
        ({"problems": "../../etc/passwd"}, "problems"),
        ({"problems": 7}, "request.problems is 7: send a string"),
        ({"conversations": 0}, "conversations"),
        ({"conversations": "many"}, 'request.conversations is "many": send a whole number'),
        ({"conversations": 2**63}, f"request.conversations is {2**63}: send a smaller number"),
        ({"conversations": True}, "request.conversations is true: send a whole number"),
        ({"conversations": 1.5}, "request.conversations is 1.5: send a whole number"),
        ({"max_turns": 1}, "max_turns"),
        ({"max_turns": None}, "request.max_turns is null"),
        ({"enrich": "yes"}, 'request.enrich is "yes": send true or false'),
        ({"seed": -1}, "request.seed is -1: send a whole number from 0"),
        ({"colour": "red"}, "unknown field 'request.colour'"),
        ({"inFlight": 3}, "unknown field 'request.inFlight'"),
    ],
)
async def test_settings_that_make_no_run_are_named(at: Site, settings: dict[str, Any], told: str) -> None:
    answer = await at.ask("POST", "/v1/runs", {"request_id": "refused", "request": {**START, **settings}})
    assert (answer.status, answer.code) == (400, "invalid")
    assert told in answer.message
    assert at.gateway._runs.asked("refused", "") is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        b'{"request_id": NaN}',
        b'{"request_id": "\\ud800"}',
        b"\xff\xfe\xfd",
        b"[" * 100_000,
        b'{"request":' * 50_000,
        b'{"request_id": ' + b"9" * 5_000 + b"}",
        b'{"request": []}',
        b'{"request_id": "one", "request": null}',
        b'{"' + b"x" * 1_000_000 + b'": 1}',
        b'{"request_id": ' + b'["' + b"x" * 1_000_000 + b'"]}',
    ],
    ids=range(14),
)
async def test_a_body_that_is_none_is_refused(at: Site, body: bytes) -> None:
    answer = await at.ask("POST", "/v1/runs", body, headers={"content-type": "application/json"})
    assert (answer.status, answer.code) == (400, "invalid")
    assert "\n" not in answer.message
    assert len(answer.message) < 300


async def test_a_form_of_another_site_is_no_request(at: Site) -> None:
    body = json.dumps({"request_id": "one", "request": START}).encode()
    answer = await at.ask("POST", "/v1/runs", body, headers={"content-type": "text/plain"})
    assert (answer.status, answer.message) == (400, "the body's type is text/plain: send application/json")


async def test_the_same_id_with_other_settings_is_refused(at: Site) -> None:
    await at.start("twice")
    answer = await at.ask("POST", "/v1/runs", {"request_id": "twice", "request": {**START, "seed": 9}})
    assert (answer.status, answer.code) == (409, "exists")


async def test_a_path_leads_to_nothing_but_what_is_listed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("only mine", "utf-8")
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        (tmp_path / "data" / run).mkdir(parents=True)
        (tmp_path / "data" / run / "unlisted").write_text("only mine", "utf-8")
        for name in (
            "unlisted",
            "../../secret",
            "..%2f..%2fsecret",
            "%2e%2e/%2e%2e/secret",
            "..%5c..%5csecret",
            "%252e%252e%252fsecret",
            "/etc/passwd",
            "%2fetc%2fpasswd",
            "accepted/../../../secret",
            "manifest.json%00",
        ):
            for path in (
                f"/v1/runs/{run}/files/{name}",
                f"/assets/soliloquy/web/{name}",
                f"/v1/runs/..%2f{run}/files/unlisted",
            ):
                answer = await told(at, head("GET", path, "connection: close"))
                assert b" 404 " in answer.partition(b"\r\n")[0], path
                assert b"root:" not in answer
                assert b"only mine" not in answer


@pytest.mark.parametrize(
    "sent",
    [
        head("GET", "/v1/none", "connection: close").replace(b"localhost", b"[::1"),
        head("GET", "/v1/runs", "connection: close").replace(b"localhost", b"127.0.0.1, evil.example"),
        b"GET /v1/runs HTTP/1.0\r\n\r\n",
        head("GET", "http://evil.example/v1/none", "connection: close"),
        head("GET", "/v1/runs/%ff%00%0d%0a", "connection: close"),
        head("GET", "/v1/runs?page_size=%ff&&&=&%00", "connection: close"),
        head("POST", "/v1/runs", "content-length: -1"),
        head("POST", "/v1/runs", "content-length: 2", "transfer-encoding: chunked", "connection: close") + b"0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
    ids=range(9),
)
async def test_a_request_that_is_none_is_no_failure_of_the_gateway(at: Site, sent: bytes) -> None:
    answer = await told(at, sent)
    status = int(answer.split(b" ", 2)[1])
    assert 400 <= status < 500, answer
    assert (await at.ask("GET", "/v1/runs")).status == 200


async def test_what_is_not_offered_is_told_with_what_is(at: Site) -> None:
    answer = await at.ask("DELETE", "/v1/runs")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")
    assert (await at.ask("OPTIONS", "/v1/runs")).status == 405
    assert (await at.ask("GET", "/v1/none")).status == 404
    assert (await at.ask("GET", "/v1/runs/")).status == 404


@pytest.mark.parametrize(
    "body", [b'{"request_id": "a", "request_id": "b"}', b'{"request": {"seed": 1, "seed": 2}, "request_id": "a"}']
)
async def test_a_field_that_is_given_twice_is_refused(at: Site, body: bytes) -> None:
    answer = await at.ask("POST", "/v1/runs", body, headers={"content-type": "application/json"})
    assert (answer.status, "is there twice: remove one" in answer.message) == (400, True)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"request_id": one}', "the body: not JSON: a value is missing or not in quotes (character 16)"),
        (b'{"request_id": "one"} {}', "the body: not JSON: the text goes on after the object ends (character 23)"),
        (b'{"request_id": NaN}', "the body: not JSON: NaN is no number of JSON"),
        (b"\xff{}", "the body is not UTF-8 (byte 1): "),
        (b"null", 'the body is null: send a JSON object, such as {"name": "value"}'),
    ],
)
async def test_the_fault_of_a_body_is_named_in_our_words(at: Site, body: bytes, told: str) -> None:
    answer = await at.ask("POST", "/v1/runs", body, headers={"content-type": "application/json"})
    assert (answer.status, answer.message[: len(told)]) == (400, told)


async def test_of_equal_requests_at_once_one_creates_the_run(tmp_path: Path) -> None:
    body = {"request_id": "one", "request": START}
    async with site(tmp_path, admitting=guarded(tmp_path)) as roomy:
        answers = await asyncio.gather(*(roomy.ask("POST", "/v1/runs", body, token=OPERATOR) for _ in range(50)))
    assert sorted(answer.status for answer in answers) == [200] * 49 + [201]
    assert len({answer.body["id"] for answer in answers}) == 1
