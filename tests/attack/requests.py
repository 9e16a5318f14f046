"""Hooks of Schemathesis: every other valid request names what there is, to get past the look-up."""

import itertools
import os
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

# What the test has started.
_PATHS = {"run": os.environ.get("ATTACKED_RUN", ""), "id": os.environ.get("ATTACKED_CHAT", "")}
_BODIES: dict[str, dict[str, Any]] = {
    "StartRun": {"request": {"recipe": "soliloquy", "problems": "arithmetic", "conversations": "2"}},
    "StartChat": {"recipe": "soliloquy", "bank": "physics", "question": None, "endpoint": "", "model": "", "key": ""},
    "Complete": {"model": "soliloquy", "stream": False},
}
_every_other = itertools.cycle((True, False))


@schemathesis.hook
def before_call(_: Any, case: schemathesis.Case[Any], __: dict[str, Any]) -> None:
    if next(_every_other):
        # In sequences, paths name what an earlier request has made.
        is_linked = case.meta is not None and case.meta.phase.name == TestPhase.STATEFUL
        if _is_valid(case, ParameterLocation.PATH) and not is_linked:
            for name in _PATHS.keys() & case.path_parameters.keys():
                case.path_parameters[name] = _PATHS[name]
        known = _BODIES.get(case.operation.definition.raw.get("operationId", ""), {})
        if _is_valid(case, ParameterLocation.BODY) and isinstance(case.body, dict):
            case.body = {**case.body, **{name: value for name, value in known.items() if name in case.body}}


def _is_valid(case: schemathesis.Case[Any], location: ParameterLocation) -> bool:
    component = case.meta.components.get(location) if case.meta else None
    return component is not None and component.mode.is_positive
