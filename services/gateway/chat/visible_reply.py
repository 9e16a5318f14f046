"""Shows the student the reply while the model writes it, cut out of the whole answer."""

from collections.abc import Mapping

from services.gateway.chat.progress import REPLY_AGAIN, Report, reply
from soliloquy.recipes.person import VisibleText
from soliloquy.runtime.model import ChunkReceiver
from soliloquy.v1.model_pb2 import GenerateRequest


class VisibleReply:
    """Listens to the answers that hold a reply; a second answer takes the first one back."""

    def __init__(self, visible_texts: Mapping[str, VisibleText], report: Report) -> None:
        self._visible_texts = visible_texts
        self._report = report
        self._text = ""

    def __call__(self, request: GenerateRequest) -> ChunkReceiver | None:
        visible_text = self._visible_texts.get(request.prompt)
        if visible_text is None:
            return None
        self._take_back()
        raw = ""

        def receive(text: str) -> None:
            nonlocal raw
            raw += text
            visible = visible_text(raw).strip()
            if visible.startswith(self._text):
                self._add(visible)

        return receive

    def settle(self, text: str) -> None:
        """Shows the rest of the final reply, or all of it where other words were shown."""
        if not text.startswith(self._text):
            self._take_back()
        self._add(text)

    def _add(self, text: str) -> None:
        if delta := text[len(self._text) :]:
            self._report(reply(delta))
            self._text = text

    def _take_back(self) -> None:
        if self._text:
            self._report(REPLY_AGAIN)
            self._text = ""
