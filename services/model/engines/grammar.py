"""Compiles JSON schemas to grammars that constrain an answer token by token."""

import functools
import json
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
