"""JSON schemas as grammars that an answer is held to, token by token."""

import functools
import json
from typing import Any

from llguidance import LLMatcher

from services.model.engines.engine import InvalidRequest

# Where any whitespace may stand between tokens, a weak model writes it for ever.
_STYLE = {"whitespace_flexible": False}


@functools.lru_cache(maxsize=256)
def grammar(schema: str) -> str:
    """The grammar of a schema, in llguidance's own notation."""
    try:
        read: Any = json.loads(schema)
        made = LLMatcher.grammar_from_json_schema(read, overrides=_STYLE)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the schema is no JSON schema: {error}") from error
    if problem := LLMatcher.validate_grammar(made):
        raise InvalidRequest(f"the schema cannot be held to: {problem}")
    return str(made)
