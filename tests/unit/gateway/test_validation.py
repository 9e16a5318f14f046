from typing import Any

import pytest
from grpc import StatusCode

from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.validation import RUN_LIMITS, validated


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


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            asked(request_id=""),
            "invalid request_id '': send a unique id of up to 128 letters, digits and .:_-",
        ),
        (asked(request_id="../x"), "invalid request_id '../x'"),
        (asked(request_id="x" * 129), "invalid request_id 'xxx"),
        (StartRunRequest(request_id="one"), "request is missing: send at least recipe, problems and conversations"),
        (asked(recipe="../soliloquy"), "invalid recipe '../soliloquy': use one of mathdial, mathwell,"),
        (asked(conversations=0), "invalid conversations 0: send 1 to 1000000"),
        (asked(conversations=-1), "invalid conversations -1"),
        (asked(conversations=2**60), f"invalid conversations {2**60}"),
        (asked(in_flight=-5), "invalid in_flight -5: send 1 to 4096"),
        (asked(name="x" * 81), "invalid name 'xxx"),
        (asked(name="two\nlines"), "invalid name 'two\\nlines': send up to 80 printable characters on one line"),
        (asked(name="right\u202eto left"), "invalid name 'right\\u202eto left'"),
        (asked(max_turns=1), "invalid max_turns 1: send 2 to 200"),
        (asked(max_attempts=1_000), "invalid max_attempts 1000: send 1 to 100"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(wrong: StartRunRequest, sentence: str) -> None:
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
