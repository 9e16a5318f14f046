"""The reply as it is shown while its answer is written, taken back and written anew."""

import json
from typing import Any

from soliloquy.recipes.recipe import find
from soliloquy.v1.model_pb2 import GenerateRequest
from soliloquy_services.gateway.chat.progress import REPLY_AGAIN, ProgressEvent
from soliloquy_services.gateway.chat.tutor import VisibleReply

SHOWN = find("soliloquy").person.visible_text  # type: ignore[union-attr]
COMPOSING = GenerateRequest(prompt="soliloquy/no_python")


def answer(text: str) -> str:
    return json.dumps({"Thoughts of Tutorbot": "He is wrong.", "Tutorbot Response": text})


class Screen:
    def __init__(self) -> None:
        self.events: list[ProgressEvent] = []

    @property
    def text(self) -> str:
        text = ""
        for piece in self.events:
            text = "" if piece == REPLY_AGAIN else text + piece.data["delta"]
        return text


def heard(showing: VisibleReply, raw: str, **asked: Any) -> None:
    hear = showing(asked.get("request", COMPOSING))
    assert hear
    for start in range(0, len(raw), 3):
        hear(raw[start : start + 3])


def test_a_reply_grows_on_the_screen_and_is_whole_at_the_end() -> None:
    screen = Screen()
    showing = VisibleReply(SHOWN, screen.events.append)
    heard(showing, answer("Well done. What is next?")[:-9])
    assert "Well done. What is next?".startswith(screen.text)
    assert screen.text
    showing.settle("Well done. What is next?")
    assert screen.text == "Well done. What is next?"
    assert REPLY_AGAIN not in screen.events


def test_an_answer_that_is_asked_for_again_takes_back_what_was_shown() -> None:
    screen = Screen()
    showing = VisibleReply(SHOWN, screen.events.append)
    heard(showing, answer("It is 5 m/s."))
    heard(showing, answer("What is v?"))
    showing.settle("What is v?")
    assert screen.text == "What is v?"
    assert screen.events.count(REPLY_AGAIN) == 1


def test_a_reply_that_is_read_otherwise_than_it_was_shown_is_shown_anew() -> None:
    screen = Screen()
    showing = VisibleReply(SHOWN, screen.events.append)
    heard(showing, answer("Well done"))
    showing.settle("Not quite.")
    assert screen.text == "Not quite."


def test_what_is_no_reply_is_not_heard() -> None:
    showing = VisibleReply(SHOWN, Screen().events.append)
    assert showing(GenerateRequest(prompt="soliloquy/deciding")) is None
    assert showing(GenerateRequest(prompt="soliloquy/use_python")) is None
