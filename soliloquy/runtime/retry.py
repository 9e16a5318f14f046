"""Decides what happens to an event whose handler fails."""

from dataclasses import dataclass, replace

from soliloquy.runtime.events import Event
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.failure import Refused as Refused
from soliloquy.runtime.seeds import draw
from soliloquy.runtime.topics import DLQ, RETRY, origin

MAX_ERROR_CHARACTERS = 2000


class Transient(Exception):
    """A fault that is likely to pass within seconds: the stage retries the event in place."""


class CannotServe(Failure):
    """No event can be handled until a person fixes something: the service stops and its events stay in place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How often to retry, and after how many seconds; each wait doubles up to its cap."""

    tries_in_place: int = 3
    pause: float = 0.2
    pause_cap: float = 2.0
    attempts: int = 5
    backoff: float = 5.0
    backoff_cap: float = 300.0
    # The random share of a wait, so that events that failed together do not return together.
    jitter: float = 0.5

    def pause_after(self, event: Event, tries: int) -> float:
        return self._jittered(min(self.pause_cap, self.pause * 2 ** (tries - 1)), event, tries)

    def backoff_after(self, event: Event, attempt: int) -> float:
        return self._jittered(min(self.backoff_cap, self.backoff * 2 ** (attempt - 1)), event, attempt)

    def _jittered(self, seconds: float, event: Event, turn: int) -> float:
        return seconds * (1 - self.jitter * draw("jitter", event.id, turn).random())


def failed(event: Event, error: Exception, policy: RetryPolicy, now: float) -> Event:
    """Returns the event parked for its next attempt, or as a dead letter after the last."""
    attempt = event.attempt + 1
    if attempt >= policy.attempts:
        return dead(event, error)
    not_before = now + policy.backoff_after(event, attempt)
    return replace(parked(event), attempt=attempt, not_before=not_before, error=described(error))


def parked(event: Event) -> Event:
    return replace(event, topic=origin(event.topic) + RETRY)


def replayed(letter: Event) -> Event:
    return replace(letter, topic=origin(letter.topic), attempt=0, not_before=0.0, error="", replayed=True)


def dead(event: Event, error: Exception) -> Event:
    topic = origin(event.topic) + DLQ
    return replace(event, topic=topic, attempt=event.attempt + 1, not_before=0.0, error=described(error))


def described(error: Exception) -> str:
    # A lone surrogate, as file names and other people's errors may have, fits into no record.
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return text[:MAX_ERROR_CHARACTERS]
