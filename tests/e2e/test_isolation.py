"""A tenant gets nothing of another: by no route, no RPC, no stream and no file.

The lists of routes and RPCs come from the gateway itself: one that is not in EXPECTED fails the first test.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp
import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from soliloquy.v1 import gateway_pb2
from soliloquy.v1.gateway_pb2 import StartRunRequest
from tests.e2e.chromium import chromium, needs_chromium
from tests.e2e.consoles import Site, gone, signed_in
from tests.e2e.tenants import MARK, OURS, THEIRS, Place, planted

RPCS = {method.name: method for method in gateway_pb2.DESCRIPTOR.services_by_name["RunService"].methods}
# The answers to a tenant that names a thing of another: the answer for a thing that is not there; what is its own or
# everybody's, without the other's; a refusal that every tenant gets.
Answer = Literal["unknown", "own", "refused"]
EXPECTED: dict[str, Answer] = {
    **dict.fromkeys(("ListRuns", "StartRun", "ForecastRun", "WatchRuns"), "own"),
    **dict.fromkeys(("GetRun", "WatchRun", "CancelRun", "PauseRun", "ResumeRun", "DeleteRun"), "unknown"),
    **dict.fromkeys(("ListConversations", "GetConversation", "TailConversations", "ViewConversation"), "unknown"),
    **dict.fromkeys(("ListFiles", "GetFile", "GetReport", "GetExport"), "unknown"),
    **dict.fromkeys(("ListDeadLetters", "ListDeadLetterCauses", "ReplayDeadLetters"), "own"),
    "ReplayDeadLetter": "unknown",
    **dict.fromkeys(("ListAudit", "ListTemplates"), "own"),
    **dict.fromkeys(("GetPipeline", "WatchPipeline"), "refused"),
    **dict.fromkeys(("GetChoices", "GetTraining", "AddProblems"), "own"),
    **dict.fromkeys(("GetV1Session", "PostV1Session", "DeleteV1Session"), "own"),
    **dict.fromkeys(("OfferChat", "StartChat", "ListModels", "Complete"), "own"),
    **dict.fromkeys(("GetChat", "Say", "FinishChat"), "unknown"),
    **dict.fromkeys(("ListAnnotation", "AddAnnotation", "ForgetAnnotator"), "own"),
    **dict.fromkeys(
        ("GetAnnotation", "ConsentToAnnotation", "NextAnnotation", "Annotate", "UndoAnnotation"), "unknown"
    ),
    **dict.fromkeys(("GetDispute", "Adjudicate", "ExportAnnotations"), "unknown"),
    **dict.fromkeys(("ListTeaching", "AddTeaching", "ForgetTeacher"), "own"),
    **dict.fromkeys(("GetTeaching", "ConsentToTeaching", "NextSeat", "GetSeat", "CompareSolutions"), "unknown"),
    **dict.fromkeys(("Calculate", "Teach", "EndSeat", "LeaveSeat", "RateStudent"), "unknown"),
}
JUDGED = {"solvable": "yes", "accurate": "yes", "appropriate": "yes"}
OWN = {"recipe": "soliloquy", "problems": "physics", "conversations": 2}
BODIES: dict[str, Any] = {
    # The id of a request of the other.
    "StartRun": {"request_id": f"{MARK}-done", "request": OWN},
    "PostV1Session": {"token": OURS},
    # The name of a file of the other.
    "AddProblems": {
        "name": f"{MARK}.jsonl",
        "text": json.dumps({"question": "How much is 2 + 2?", "solution": "2 + 2 = 4"}),
    },
    "StartChat": {"recipe": "soliloquy", "bank": "physics"},
    "Say": {"text": "What is the answer?"},
    "FinishChat": {"keep": True},
    "Complete": {"model": "soliloquy", "messages": [{"role": "user", "content": "A 2 kg cart, 4 N. How fast?"}]},
    "AddAnnotation": {"name": "Ours", "scheme": "mathwell", "tasks": [{"item": "1", "shown": {"question": "2 + 2?"}}]},
    "Annotate": {"item": f"{MARK}-item", "values": JUDGED},
    "Adjudicate": {"item": f"{MARK}-item", "values": JUDGED},
    "AddTeaching": {"name": "Ours", "recipe": "mathdial", "bank": "arithmetic", "dialogues": 1},
    "CompareSolutions": {"line": 1, "description": "It adds."},
    "Calculate": {"turn": 1, "code": "2 + 2"},
    "Teach": {"turn": 1, "text": "Hello!", "move": "generic"},
    "RateStudent": {"values": {}},
}
# The least that a stream has to stay silent.
SILENT_SECONDS = 2.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with planted(tmp_path_factory.mktemp("isolation")) as place:
        yield place


@dataclass(frozen=True, kw_only=True)
class Got:
    status: int
    content: str
    headers: str


class Caller:
    def __init__(self, place: Place, session: aiohttp.ClientSession, token: str) -> None:
        self._place = place
        self._session = session
        self._headers = {"authorization": f"Bearer {token}"}

    async def call(self, method: str, path: str, body: Any = None) -> Got:
        """Reads a stream as long as it may have something to say."""
        url, sent = f"{self._place.site.address}{path}", {} if body is None else {"json": body}
        async with self._session.request(method, url, headers=self._headers, **sent) as answer:
            content = b""
            try:
                async with asyncio.timeout(SILENT_SECONDS if answer.content_type == "text/event-stream" else 60.0):
                    async for piece in answer.content.iter_any():
                        content += piece
            except TimeoutError:
                assert answer.content_type == "text/event-stream"
            return Got(status=answer.status, content=content.decode("latin-1"), headers=str(answer.headers))


@pytest.fixture
async def callers(place: Place) -> AsyncIterator[tuple[Caller, Caller]]:
    """One of us, and one of them."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Caller(place, session, OURS), Caller(place, session, THEIRS)


def routes(at: Site) -> list[tuple[str, str, str]]:
    document = at.call("GET", "/openapi.json")
    return [
        (method.upper(), path, operation["operationId"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_route_and_every_rpc_is_in_the_list(place: Place) -> None:
    assert {name for _, _, name in routes(place.site)} | set(RPCS) == set(EXPECTED)


def filled(path: str, names: Mapping[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda found: names[found[1]], path)


async def test_no_route_tells_a_tenant_of_another(place: Place, callers: tuple[Caller, Caller]) -> None:
    ours, _ = callers
    for method, path, name in routes(place.site):
        names, body = place.names(path), BODIES.get(name, {} if method == "POST" else None)
        got = await ours.call(method, filled(path, names), body)
        sent = [*names.values(), *place.sent(name)]
        assert not place.revealed(got.headers + got.content, *sent), name
        match EXPECTED[name]:
            case "unknown":
                strange = {"run": "no-run", "id": "none", "project": "nothing"}
                nowhere = await ours.call(method, filled(path, names | strange), body)
                told = got.content
                for kind, name_of in strange.items():
                    told = told.replace(names[kind], name_of)
                assert (got.status, told) == (404, nowhere.content), name
            case "own":
                assert got.status in (200, 201), (name, got.content)
            case "refused":
                assert got.status == 403, name


async def test_the_same_calls_show_their_owner_what_they_name(place: Place, callers: tuple[Caller, Caller]) -> None:
    _, theirs = callers
    for method, path, name in routes(place.site):
        if method == "GET" and EXPECTED[name] == "unknown":
            got = await theirs.call(method, filled(path, place.names(path)))
            assert got.status == 200, (name, got.content)
            # The others would show it too; the manifest has numbers alone.
            assert place.revealed(got.headers + got.content) or name in ("ListFiles", "GetFile", "GetDispute"), name
    for path in ("/v1/runs", "/v1/dead-letters", "/v1/dead-letters/causes", "/v1/choices", "/v1/training", "/v1/audit"):
        got = await theirs.call("GET", path)
        assert MARK in got.content, path
    running = json.loads((await theirs.call("GET", f"/v1/runs/{place.running}")).content)
    assert (running["state"], running["tenant"]) == ("RUN_STATE_RUNNING", "chemistry")


async def test_what_is_a_tenants_own_and_what_is_everybodys_is_there(
    place: Place, callers: tuple[Caller, Caller]
) -> None:
    ours, _ = callers
    offered = [one["name"] for one in json.loads((await ours.call("GET", "/v1/choices")).content)["problems"]]
    assert "physics/ours.jsonl" in offered
    trained = json.loads((await ours.call("GET", "/v1/training")).content)
    for kind in ("adapters", "evaluations"):
        assert {one["name"] for one in trained[kind]} == {"ours", "everybodys"}
    start = {"request_id": "own", "request": OWN | {"problems": "physics/ours.jsonl"}}
    started = json.loads((await ours.call("POST", "/v1/runs", start)).content)
    # No number tells how many others have a run of this name.
    assert (started["name"], started["tenant"]) == ("physics/ours.jsonl, 2 conversations", "physics")
    stolen = await ours.call(
        "POST", "/v1/runs", {"request_id": "x", "request": OWN | {"problems": f"chemistry/{MARK}.jsonl"}}
    )
    assert stolen.status == 400
    forecast = json.loads((await ours.call("POST", "/v1/runs?dry_run", {"request_id": "x", "request": OWN})).content)
    assert (forecast["basis"], forecast["like"]) == ("FORECAST_BASIS_REHEARSAL", "")


async def test_an_open_stream_tells_a_tenant_nothing_of_what_another_does(
    place: Place, callers: tuple[Caller, Caller]
) -> None:
    ours, theirs = callers
    watching = asyncio.create_task(ours.call("GET", "/v1/runs/watch"))
    changes = [await theirs.call("POST", f"/v1/runs/{place.running}/{turn}") for turn in ("pause", "resume")]
    assert [change.status for change in changes] == [200, 200]
    got = await watching
    assert got.content.startswith("retry: 1000\n\nevent: runs\n")
    assert not place.revealed(got.content)


async def test_no_rpc_tells_a_tenant_of_another(place: Place) -> None:
    host, _, port = place.site.address.removeprefix("http://").partition(":")
    async with grpc.aio.insecure_channel(f"{host}:{int(port) + 1}") as channel:
        for name, method in RPCS.items():
            code, content = await _called(channel, method, place)
            assert not place.revealed(content, *place.names("").values(), *place.sent(name)), name
            expected = {"unknown": {"NOT_FOUND"}, "own": {"OK", "DEADLINE_EXCEEDED"}, "refused": {"PERMISSION_DENIED"}}
            assert code in expected[EXPECTED[name]], (name, code, content)


async def _called(channel: grpc.aio.Channel, method: MethodDescriptor, place: Place) -> tuple[str, str]:
    """Calls an RPC with the other's names; returns the status, and all that came."""
    request, names = GetMessageClass(method.input_type)(), place.names("")
    for field in method.input_type.fields:
        if field.name in ("run", "conversation", "id") and EXPECTED[method.name] == "unknown":
            setattr(request, field.name, names[field.name])
    if isinstance(request, StartRunRequest):
        request.request.recipe, request.request.problems, request.request.conversations = "soliloquy", "physics", 2
        request.request_id = f"{MARK}-done"
    make = channel.unary_stream if method.server_streaming else channel.unary_unary
    path = f"/{method.containing_service.full_name}/{method.name}"
    call: Any = make(
        path, request_serializer=type(request).SerializeToString, response_deserializer=lambda content: content
    )(
        request,
        metadata=(("authorization", f"Bearer {OURS}"),),
        timeout=SILENT_SECONDS if method.server_streaming else 60.0,
    )
    content = b""
    try:
        if method.server_streaming:
            async for piece in call:
                content += piece
        else:
            content = await call
    except grpc.aio.AioRpcError as error:
        return error.code().name, content.decode("latin-1") + (error.details() or "")
    return "OK", content.decode("latin-1")


@needs_chromium
async def test_no_page_of_the_console_tells_a_tenant_of_another(place: Place, tmp_path: Path) -> None:
    pages = {"runs": "Runs", "chat": "Chat", "dead-letters": "Dead letters", "training": "Training", "audit": "Audit"}
    async with chromium(tmp_path, offline=False) as page:
        await signed_in(page, place.site, OURS)
        assert await page.evaluate("document.querySelector('[data-page=pipeline]').hidden")
        assert "operator, physics" in await page.evaluate("document.getElementById('session').textContent")
        for name, title in pages.items():
            await gone(page, name, title)
            await asyncio.sleep(0.5)
            shown = await page.evaluate("document.documentElement.outerHTML")
            assert not place.revealed(shown, *place.names("").values(), *place.sent("ListAudit")), name
        await page.evaluate(f"location.hash = '#/runs/{place.done}'")
        await page.until("document.querySelector('main').textContent.includes('there is no run')")


async def test_what_nobody_owns_is_shown_to_the_installation_alone(
    place: Place, callers: tuple[Caller, Caller]
) -> None:
    ours, theirs = callers
    lost = f"{MARK}-lost"
    assert lost in json.dumps(place.site.call("GET", "/v1/dead-letters"))
    for caller in (ours, theirs):
        assert lost not in (await caller.call("GET", "/v1/dead-letters")).content
        assert (await caller.call("GET", "/metrics")).status == 404
    every = {run["tenant"] for run in place.site.call("GET", "/v1/runs")["runs"]}
    assert {"physics", "chemistry"} <= every
