"""Compiles JSON schemas to grammars that constrain an answer token by token."""

import functools
import json
from collections.abc import Sequence
from typing import Any

from llguidance import LLMatcher

from soliloquy_services.model.engines.engine import InvalidRequest

# With free whitespace between tokens, a weak model writes whitespace for ever.
_STYLE = {"whitespace_flexible": False}


@functools.lru_cache(maxsize=256)
def grammar(schema: str) -> str:
    """Returns the schema's grammar in llguidance's notation."""
    try:
        parsed: Any = json.loads(schema)
        compiled = LLMatcher.grammar_from_json_schema(parsed, overrides=_STYLE)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"invalid JSON schema: {error}") from error
    if problem := LLMatcher.validate_grammar(compiled):
        raise InvalidRequest(f"unsupported schema: {problem}")
    return str(compiled)


MOST_STOPS = 16


class Stops:
    def __init__(self, texts: Sequence[str]) -> None:
        if len(texts) > MOST_STOPS or not all(texts):
            raise InvalidRequest(f"stop has {len(texts)} texts: use at most {MOST_STOPS}, none of them empty")
        self._texts = texts
        self._held = ""
        self.met = False

    def more(self, piece: str) -> str:
        """Returns what the answer has more, but for an end that a stop may begin with."""
        found = self._held + piece
        # The stop that ends first, so that pieces of any size give the same answer.
        if places := [(place + len(text), place) for text in self._texts if (place := found.find(text)) >= 0]:
            self.met, self._held = True, ""
            return found[: min(places)[1]]
        held = max((_begun(text, found) for text in self._texts), default=0)
        self._held = found[len(found) - held :]
        return found[: len(found) - held]

    def rest(self) -> str:
        held, self._held = self._held, ""
        return held


def _begun(stop: str, text: str) -> int:
    """Returns how many characters of the stop are at the end of the text."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
