import math
from typing import Any

import pytest
from grpc import StatusCode

from soliloquy.runtime.completions import CommonChatRequest
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.chat.messages import ChatState
from soliloquy_services.gateway.http.openapi import Schemas
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.requests import RUN_LIMITS, page, validated
from tests.cases import each_case


def asked(request_id: str = "one", **fields: Any) -> StartRunRequest:
    request = RunRequest(recipe="soliloquy", problems="physics", conversations=5)
    for name, value in fields.items():
        setattr(request, name, value)
    return StartRunRequest(request=request, request_id=request_id)


def test_what_is_left_out_has_the_usual_value() -> None:
    request = validated(asked(max_turns=7))
    assert (request.in_flight, request.max_turns, request.max_attempts) == (64, 7, 10)
    assert validated(StartRunRequest(request=request, request_id="one")) == request


def test_a_name_is_kept_without_the_spaces_around_it() -> None:
    assert validated(asked(name="  Übung 3 <b>  ")).name == "Übung 3 <b>"


@each_case
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(fields: dict[str, Any] | None, sentence: str) -> None:
    wrong = StartRunRequest(request_id="one") if fields is None else asked(**fields)
    with pytest.raises(Refusal) as refused:
        validated(wrong)
    assert refused.value.code == Code.INVALID
    assert refused.value.message.startswith(sentence)
    assert len(refused.value.message) < 300


def test_every_limit_is_of_a_field_and_holds_its_usual_value() -> None:
    assert RUN_LIMITS.keys() <= {field.name for field in RunRequest.DESCRIPTOR.fields}
    assert all(
        bounds["least"] <= bounds.get("usual", bounds["least"]) <= bounds["most"] for bounds in RUN_LIMITS.values()
    )


def test_every_refusal_has_a_status_over_http_and_over_grpc() -> None:
    assert all(400 <= code.http_status < 600 and code.grpc_status in StatusCode.__members__ for code in Code)


ROWS = [(float(second // 2), f"run-{second}") for second in range(7)]
NOW = 1_764_236_001.2345678
# Neighbours that differ by the least that two times can, and times that no clock has.
CLOSE = [(time, "run") for time in (NOW, math.nextafter(NOW, 0), math.nextafter(NOW, math.inf), 1e-7, -1.0, 1e300)]
# Ids of letters that others wrote.
FOREIGN = [(2.0, name) for name in ("urn:uuid:1", "a b", "1:2", "\u0660\n", "")]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("rows", [ROWS, CLOSE, FOREIGN], ids=["usual", "close", "foreign"])
def test_pages_hold_every_row_once_with_the_latest_first(rows: list[tuple[float, str]], size: int) -> None:
    seen, token = [], ""
    for _ in rows:
        chosen, token = page(rows, lambda row: row, size, token)
        seen += chosen
        if not token:
            break
    assert (seen, token) == (sorted(rows, reverse=True), "")


def test_a_row_that_comes_meanwhile_repeats_none() -> None:
    first, token = page(ROWS, lambda row: row, 3, "")
    rest, _ = page([*ROWS, (9.0, "later")], lambda row: row, 10, token)
    assert first + rest == sorted(ROWS, reverse=True)


@pytest.mark.parametrize("token", ["x", "1", ":a", "nan:a", "1e400:a", "1" * 400 + ":a", "\u0661:a"])
def test_a_forged_token_is_refused(token: str) -> None:
    with pytest.raises(Refusal, match="invalid page_token") as refused:
        page(ROWS, lambda row: row, 3, token)
    assert refused.value.code == Code.INVALID


@pytest.mark.parametrize("size", [-1, 501])
def test_a_page_of_another_size_than_there_are_is_refused(size: int) -> None:
    with pytest.raises(Refusal, match="send 1 to 500"):
        page(ROWS, lambda row: row, size, "")


def test_a_message_of_a_chat_and_one_of_a_completion_are_told_apart() -> None:
    schemas = Schemas()
    schemas.of(ChatState)
    schemas.of(CommonChatRequest)
    fields = {name: set(schema["properties"]) for name, schema in schemas.referenced.items()}
    assert fields["ChatMessage"] == {"role", "text"}
    assert fields["RequestMessage"] == {"role", "content"}
