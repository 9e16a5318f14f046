"""ScaffoldEval; `protocol.toml` holds its passes, the student's wordings and the signs that the rules look for."""

from collections.abc import Mapping
from typing import Any

from soliloquy.runtime.files import table_beside

PROTOCOL: Mapping[str, Any] = table_beside(__file__, "protocol.toml")
