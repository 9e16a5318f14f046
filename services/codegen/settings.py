"""What an operator may set for the codegen service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CodegenSettings:
    # Events handled at once; each of them mostly waits for the model.
    max_in_flight: int = 256
