"""The reply as the student sees it grow: cut out of the answer that is being written."""

from collections.abc import Mapping

from services.gateway.chat.pieces import REPLY_AGAIN, Tell, reply
from soliloquy.recipes.person import VisibleText
from soliloquy.runtime.model import ChunkReceiver
from soliloquy.v1.model_pb2 import GenerateRequest


class Showing:
    """Asked for each answer that begins: what is no reply is not heard, and one that begins anew is taken back."""

    def __init__(self, shown: Mapping[str, VisibleText], tell: Tell) -> None:
        self._shown = shown
        self._tell = tell
        self._text = ""

    def __call__(self, request: GenerateRequest) -> ChunkReceiver | None:
        so_far = self._shown.get(request.prompt)
        if so_far is None:
            return None
        self._take_back()
        raw = ""

        def receive(text: str) -> None:
            nonlocal raw
            raw += text
            visible = so_far(raw).strip()
            if visible.startswith(self._text):
                self._add(visible)

        return receive

    def settle(self, text: str) -> None:
        """The reply as it was taken: what is missing of it, or all of it where other words were shown."""
        if not text.startswith(self._text):
            self._take_back()
        self._add(text)

    def _add(self, text: str) -> None:
        if delta := text[len(self._text) :]:
            self._tell(reply(delta))
            self._text = text

    def _take_back(self) -> None:
        if self._text:
            self._tell(REPLY_AGAIN)
            self._text = ""
