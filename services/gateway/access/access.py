"""Who calls, and whether they may: the same for HTTP and gRPC."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.gateway import metrics
from services.gateway.access.audit import Call, tell
from services.gateway.access.rate import LIMITS, Buckets, Limits, counted_as
from services.gateway.access.roles import ROLE_OF, Role, allowed, is_steering
from services.gateway.access.tokens import Token, Tokens
from services.gateway.callers import CALLER
from services.gateway.refusals import Code, Refusal

_REFUSED = (Code.UNAUTHENTICATED, Code.DENIED, Code.TOO_MANY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Presented:
    """What a caller shows of itself."""

    address: str
    token: str = ""
    # The common name of its certificate, which the authority of the settings has signed.
    certificate: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    name: str
    role: Role


# Who is on this machine, where no tokens are needed.
ANYONE = Caller(name="", role="operator")


class Access:
    """Without tokens everybody is an operator: for addresses that only this machine can reach."""

    def __init__(
        self, tokens: Tokens | None, *, limits: Limits = LIMITS, clock: Callable[[], float] | None = None
    ) -> None:
        self._tokens = tokens
        timed = {"clock": clock} if clock else {}
        self._calls = Buckets(limits.calls, **timed)
        self._steering = Buckets(limits.steering, **timed)
        self._strangers = Buckets(limits.strangers, **timed)

    @property
    def is_needed(self) -> bool:
        return self._tokens is not None

    def caller(self, presented: Presented) -> Caller | None:
        """None for who shows nothing that is known."""
        if self._tokens is None:
            return ANYONE
        found = self._found(self._tokens, presented)
        return Caller(name=found.name, role=found.role) if found else None

    def known(self, presented: Presented) -> Caller:
        """Raises Refusal for who is not."""
        if caller := self.caller(presented):
            return caller
        _take(self._strangers, counted_as(presented.address), "calls without a right token come from here")
        if presented.token:
            raise Refusal(Code.UNAUTHENTICATED, "this token is not known: ask whoever runs the gateway for one")
        if presented.certificate:
            raise Refusal(Code.UNAUTHENTICATED, f"nobody is called {presented.certificate!r}, as your certificate says")
        raise Refusal(Code.UNAUTHENTICATED, "a token is needed: send it as 'authorization: Bearer TOKEN'")

    @contextmanager
    def admitted(self, presented: Presented, action: str, target: str = "") -> Iterator[Call]:
        """Raises Refusal for who may not call this, or not as often; tells the audit log what it is to know."""
        call, began = Call(who=presented.address, what=action, target=target), time.perf_counter()
        try:
            caller = self.known(presented)
            call.who = caller.name or presented.address
            self._permit(caller, action, call.who)
            # Each call is a task of its own: nothing is to be put back.
            CALLER.set(caller.name)
            yield call
            call.outcome = "done"
        except Refusal as refusal:
            call.outcome = refusal.code
            raise
        except (asyncio.CancelledError, GeneratorExit):
            call.outcome = "left"
            raise
        finally:
            metrics.REQUESTS.labels(action, call.outcome).inc()
            if not call.streamed:
                metrics.SECONDS.labels(action).observe(time.perf_counter() - began)
            if is_steering(action) or call.outcome in _REFUSED:
                tell(call)

    def check(self, presented: Presented) -> None:
        """Of a stream that was let in: raises Refusal where its caller is known no longer."""
        if self.caller(presented) is None:
            raise Refusal(Code.UNAUTHENTICATED, "this token was taken away: ask whoever runs the gateway for another")

    def _found(self, tokens: Tokens, presented: Presented) -> Token | None:
        if presented.token:
            return tokens.with_token(presented.token)
        return tokens.with_name(presented.certificate) if presented.certificate else None

    def _permit(self, caller: Caller, action: str, who: str) -> None:
        counted = caller.name or counted_as(who)
        _take(self._calls, counted, "calls are made")
        if not allowed(caller.role, action):
            needed = ROLE_OF.get(action, "nobody")
            raise Refusal(
                Code.DENIED, f"{action} takes the role {needed}, and {caller.name} has the role {caller.role}"
            )
        if is_steering(action):
            _take(self._steering, counted, "calls that start or change something are made")


def bearer(header: str) -> str:
    """The token of an Authorization header; empty where it holds none."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _take(buckets: Buckets, who: str, what: str) -> None:
    if wait := buckets.take(who):
        raise Refusal(Code.TOO_MANY, f"too many {what}: wait {wait:.1f} s", retry_after=wait)
