"""Records traces while a process serves."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from soliloquy.runtime.extensions import NotInstalled


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSettings:
    # URL of an OTLP collector over HTTP; empty records nothing.
    url: str = ""
    # The share of conversations, chosen by id.
    share: float = 1.0


def recorded_traces(settings: TraceSettings) -> AbstractContextManager[None]:
    if not settings.url:
        return nullcontext()
    try:
        from soliloquy.runtime.traces.export import sending
    except ModuleNotFoundError as error:
        raise NotInstalled(str(error.name), "otlp") from error
    return sending(settings.url, settings.share)
