"""The gateway's answers over HTTP to valid requests."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from soliloquy.recipes.prompts import own_texts
from tests.integration.gateway.site import START, Site, connected, head, site
from tests.waiting import until


async def events(at: Site, path: str) -> AsyncGenerator[tuple[str, Any], None]:
    async with at.session.get(f"{at.http}{path}") as answer:
        assert answer.status == 200
        assert answer.content_type == "text/event-stream"
        name = ""
        async for line in answer.content:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            if field == "data":
                yield name, json.loads(value)


async def test_a_run_takes_prompts_of_its_own(open_site: Site) -> None:
    own = own_texts("soliloquy")["deciding.txt"] + "Be brief."
    body = {"request_id": "prompted", "request": {**START, "prompts": {"deciding.txt": own}}}
    started = await open_site.ask("POST", "/v1/runs", body)
    assert (started.status, started.body.get("changed_prompts")) == (201, ["deciding.txt"]), started.body
    refused = await open_site.ask("POST", "/v1/runs", {**body, "request": {**START, "prompts": {"deciding.txt": 3}}})
    assert (refused.status, refused.message) == (400, "request.prompts.deciding.txt is 3: send a string")


async def test_a_run_is_started_once_watched_to_its_end_and_its_conversations_are_read(open_site: Site) -> None:
    body = {"request_id": "one", "request": START}
    first, second = [await open_site.ask("POST", "/v1/runs", body) for _ in range(2)]
    assert (first.status, second.status) == (201, 200)
    run = first.body["id"]
    assert second.body["id"] == run
    told = [each async for each in events(open_site, f"/v1/runs/{run}/watch")]
    assert {name for name, _ in told[:-1]} == {"run"}
    assert told[-1] == ("end", {})
    assert told[-2][1]["state"] == "RUN_STATE_FINISHED"
    assert told[-2][1]["progress"]["accepted"] == "3"
    listed = await open_site.ask("GET", f"/v1/runs/{run}/conversations?verdict=VERDICT_ACCEPTED&page_size=2")
    assert (len(listed.body["conversations"]), listed.body["total"]) == (2, "3")
    rest = await open_site.ask(
        "GET", f"/v1/runs/{run}/conversations?page_size=2&page_token={listed.body['next_page_token']}"
    )
    assert len(rest.body["conversations"]) == 1
    assert not rest.body["next_page_token"]


async def test_a_tail_tells_what_finishes_from_then_on(open_site: Site) -> None:
    open_site.collecting.open.clear()
    run = await open_site.start()
    tail = events(open_site, f"/v1/runs/{run}/conversations/tail")
    first = asyncio.ensure_future(anext(tail))
    await until(lambda: open_site.gateway._tails.readers == 1)
    open_site.collecting.open.set()
    name, finished = await first
    assert (name, finished["run"], finished["accepted"]) == ("conversation", run, True)
    await tail.aclose()


async def test_the_pipeline_is_shown_once_a_second(open_site: Site) -> None:
    pictures = events(open_site, "/v1/pipeline/watch")
    (name, first), (_, second) = [await anext(pictures) for _ in range(2)]
    await pictures.aclose()
    assert name == "pipeline"
    assert second["at"] - first["at"] >= 0.9


async def test_hundreds_watch_at_once(open_site: Site) -> None:
    open_site.collecting.open.clear()
    run = await open_site.start()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        watching = [
            asyncio.create_task(session.get(f"{open_site.http}/v1/runs/{run}/watch", timeout=aiohttp.ClientTimeout(60)))
            for _ in range(250)
        ]
        answers = await asyncio.gather(*watching)
        open_site.collecting.open.set()
        texts = await asyncio.gather(*(answer.text() for answer in answers))
    assert all(text.endswith("event: end\ndata: {}\n\n") for text in texts)


async def test_streams_end_with_the_gateway_so_that_browsers_come_back(tmp_path: Path) -> None:
    async with asyncio.timeout(120):
        async with site(tmp_path) as at:
            at.collecting.open.clear()
            run = await at.start()
            reader, writer = await connected(at)
            writer.write(head("GET", f"/v1/runs/{run}/watch"))
            begun = await reader.readuntil(b"event: run\n")
        rest = await reader.read()
    writer.close()
    assert b"retry: 1000\n\n" in begun
    # ConversationReader as an answer, and not told to be the end of the run.
    assert rest.endswith(b"\r\n0\r\n\r\n")
    assert b"event: end" not in rest


async def test_choices_are_what_a_run_may_be_started_with(open_site: Site) -> None:
    choices = (await open_site.ask("GET", "/v1/choices")).body
    tutoring = {recipe["name"]: recipe["tutoring"] for recipe in choices["recipes"]}
    assert tutoring["soliloquy"]
    [rules] = [recipe["rules"] for recipe in choices["recipes"] if recipe["name"] == "soliloquy"]
    assert rules["empty"] == "a message without a word"
    assert not tutoring["mathwell"]
    assert {"name": "physics", "kind": "bank"} in choices["problems"]
    assert choices["limits"]["max_turns"] == {"usual": 20, "least": 2, "most": 200}
    assert choices["languages"] == {"de": "German"}
    assert choices["models"]["tutor"] == "scripted"
    body = {"request_id": "chosen", "request": {"problems": choices["problems"][0]["name"], **choices["defaults"]}}
    assert (await open_site.ask("POST", "/v1/runs", body)).status == 201


async def test_it_is_an_openapi_document_with_the_words_of_the_contract(open_site: Site) -> None:
    document = (await open_site.ask("GET", "/openapi.json")).body
    validate(document)
    status = document["components"]["schemas"]["RunStatus"]["properties"]
    assert status["id"]["description"] == "Identifies the run: `run` in all requests."
    assert "until it is over" in document["paths"]["/v1/runs/{run}/watch"]["get"]["summary"]


def checked(document: Any, method: str, path: str, status: int, body: Any, media: str = "application/json") -> None:
    """Raises where the document does not say that this is answered."""
    schema = document["paths"][path][method]["responses"][str(status)]["content"][media]["schema"]
    Draft202012Validator({**schema, "components": document["components"]}).validate(body)


async def test_every_answer_is_as_it_says(open_site: Site) -> None:
    document = (await open_site.ask("GET", "/openapi.json")).body
    run = await open_site.start()
    [*_] = [told async for told in events(open_site, f"/v1/runs/{run}/watch")]
    listed = await open_site.ask("GET", f"/v1/runs/{run}/conversations")
    places = {"{run}": run, "{conversation}": listed.body["conversations"][0]["id"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "text/event-stream" not in operation["responses"].get("200", {}).get("content", {}):
                place = path
                for name, value in places.items():
                    place = place.replace(name, value)
                answer = await open_site.ask(method.upper(), place)
                if answer.headers["content-type"] == "application/json":
                    checked(document, method, path, answer.status, answer.body)


async def test_what_is_started_steered_and_watched_is_as_it_says(open_site: Site) -> None:
    document = (await open_site.ask("GET", "/openapi.json")).body
    open_site.collecting.open.clear()
    body = {"request_id": "one", "request": START}
    for status in (201, 200):
        answer = await open_site.ask("POST", "/v1/runs", body)
        assert answer.status == status
        checked(document, "post", "/v1/runs", status, answer.body)
    run = answer.body["id"]
    for path in ("/v1/runs/{run}/pause", "/v1/runs/{run}/resume"):
        answer = await open_site.ask("POST", path.replace("{run}", run))
        assert answer.status == 200
        checked(document, "post", path, 200, answer.body)
    open_site.collecting.open.set()
    streams = {"/v1/runs/{run}/watch": "run", "/v1/runs/watch": "runs", "/v1/pipeline/watch": "pipeline"}
    for path, name in streams.items():
        told = events(open_site, path.replace("{run}", run))
        event, shown = await anext(told)
        await told.aclose()
        assert event == name
        checked(document, "get", path, 200, shown, "text/event-stream")
