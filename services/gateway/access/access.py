"""Authenticates, authorises and audits callers, over HTTP and gRPC alike."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from soliloquy.runtime.metrics import counter, histogram
from soliloquy.v1.events_pb2 import CallAudited
from soliloquy_services.gateway.access.rates import RATE_LIMITS, RateLimits, TokenBuckets, rate_key
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.access.tokens import (
    INSTALLATION,
    ROLE_OF,
    Caller,
    TokenFile,
    allowed,
    is_audited,
    is_steering,
)
from soliloquy_services.gateway.refusals import Code, Refusal

if TYPE_CHECKING:
    from soliloquy_services.gateway.access.oidc import Issuer

REQUESTS = counter("soliloquy_gateway_requests_total")
SECONDS = histogram("soliloquy_gateway_request_seconds")
# The name of the current caller's token or certificate, set on admission; empty where none is required.
CALLER: ContextVar[str] = ContextVar("caller", default="")
# Targets are cut in the audit log: a caller may name anything.
_LONGEST = 200
_REFUSED = (Code.UNAUTHENTICATED, Code.DENIED, Code.TOO_MANY)

# A refused stranger waits before its answer: it would come again as soon as it has one.
REFUSAL_SECONDS = 5.0
# A name of its own, by which operators can filter.
_audit_log = logging.getLogger("soliloquy_services.gateway.access.audit")


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """The proof of identity that a caller presents."""

    address: str
    token: str = ""
    # The common name of a certificate that the configured authority signed.
    certificate: str = ""


# Every caller on this machine, where no token is required.
ANYONE = Caller(name="", role="operator")


@dataclass(kw_only=True, slots=True)
class AuditRecord:
    """One call, logged when it is over."""

    # The token's name; the address until the token is known.
    who: str
    what: str
    tenant: str = ""
    # The run, dead letter or chat that the call names, once it is parsed.
    target: str = ""
    # "done", a refusal's code, "left" where the caller disconnected, or "failed".
    outcome: str = "failed"
    streamed: bool = False


class Access:
    """Without tokens every caller is an operator: only for addresses that no other machine can reach."""

    def __init__(
        self,
        tokens: TokenFile | None,
        issuer: "Issuer | None" = None,
        *,
        limits: RateLimits = RATE_LIMITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        # Signs callers in, besides the entries of the file; None without a provider.
        self.issuer = issuer
        # Is called with each audited call.
        self.on_audit: Callable[[CallAudited], None] = lambda _: None
        self._buckets = {name: TokenBuckets(limit, clock) for name, limit in limits.items()}

    @property
    def requires_token(self) -> bool:
        return self._tokens is not None

    async def prepare(self, credentials: Credentials) -> None:
        """Comes before all that follows: a provider may have to be asked for the key of a token."""
        if self.issuer:
            await self.issuer.prepare(credentials.token)

    def caller(self, credentials: Credentials) -> Caller | None:
        """Returns None for unknown credentials."""
        try:
            return self.identify(credentials)
        except Refusal:
            return None

    def identify(self, credentials: Credentials) -> Caller:
        """Raises Refusal for unknown credentials."""
        if self._tokens is None:
            return ANYONE
        if token := credentials.token:
            if entry := self._tokens.with_token(token):
                return entry
            if self.issuer and self.issuer.signs(token):
                claims = self.issuer.claims(token)
                if caller := self._tokens.with_groups(claims.name, claims.groups):
                    return caller
                line = f"no group of {claims.name} is admitted: ask the gateway's operator for an entry"
                raise Refusal(Code.UNAUTHENTICATED, line)
            raise Refusal(Code.UNAUTHENTICATED, "this token is not known: ask the gateway's operator for one")
        if name := credentials.certificate:
            if named := self._tokens.with_name(name):
                return named
            line = f"the certificate's name {name!r} is not known: ask the gateway's operator"
            raise Refusal(Code.UNAUTHENTICATED, line)
        raise Refusal(Code.UNAUTHENTICATED, "a token is required: send it as 'authorization: Bearer TOKEN'")

    def authenticate(self, credentials: Credentials) -> Caller:
        """Returns the caller; raises Refusal for unknown credentials, and for too many of them from an address."""
        try:
            return self.identify(credentials)
        except Refusal:
            self._take("strangers", rate_key(credentials.address), "calls without a valid token from this address")
            raise

    @contextmanager
    def admit(self, credentials: Credentials, action: str, target: str = "") -> Iterator[AuditRecord]:
        """Counts and audits one call; raises Refusal for a caller who may not make it, or not as often."""
        call, began = AuditRecord(who=credentials.address, what=action, target=target), time.perf_counter()
        try:
            caller = self.authenticate(credentials)
            call.who, call.tenant = caller.name or credentials.address, caller.tenant
            self._permit(caller, action, call.who)
            # Each call is a task of its own, so the variables need no reset.
            CALLER.set(caller.name)
            TENANT.set(caller.tenant)
            yield call
            call.outcome = "done"
        except Refusal as refusal:
            call.outcome = refusal.code
            raise
        except (asyncio.CancelledError, GeneratorExit):
            call.outcome = "left"
            raise
        finally:
            REQUESTS.labels(action, call.outcome).inc()
            if not call.streamed:
                SECONDS.labels(action).observe(time.perf_counter() - began)
            if is_audited(action) or call.outcome in _REFUSED:
                self._audit(call)

    def pace(self, credentials: Credentials) -> None:
        """Counts a request before it is looked at; raises Refusal for an unknown caller with too many."""
        if self.caller(credentials) is None:
            self._take("visitors", rate_key(credentials.address), "requests without a valid token from this address")

    def recheck(self, credentials: Credentials, call: AuditRecord) -> None:
        """Raises Refusal where the caller of an open stream may no longer make it, or its token has expired."""
        try:
            caller = self.identify(credentials)
            _require_role(caller, call.what)
            if caller.tenant != call.tenant:
                raise Refusal(Code.UNAUTHENTICATED, f"{caller.name} belongs to another tenant by now: call again")
        except Refusal as refusal:
            raise Refusal(refusal.code, f"the stream ends: {refusal.message}") from None

    def _audit(self, call: AuditRecord) -> None:
        """Tells of each call that changes something, and of each that was refused."""
        fields = {"who": call.who, "what": call.what, "target": _plain(call.target), "outcome": call.outcome}
        fields |= {"tenant": call.tenant} if call.tenant else {}
        _audit_log.info("audit", extra={"fields": fields})
        self.on_audit(CallAudited(at=time.time(), **fields))

    def _take(self, kind: str, who: str, what: str) -> None:
        if wait := self._buckets[kind].take(who):
            raise Refusal(Code.TOO_MANY, f"too many {what}: wait {wait:.1f} s", retry_after=wait)

    def _permit(self, caller: Caller, action: str, who: str) -> None:
        counted = caller.name or rate_key(who)
        self._take("calls", counted, "calls")
        _require_role(caller, action)
        if is_steering(action):
            self._take("steering", counted, "calls that start or change something")


def _require_role(caller: Caller, action: str) -> None:
    if not allowed(caller.role, action):
        needed = ROLE_OF.get(action, "nobody")
        raise Refusal(Code.DENIED, f"{action} requires the role {needed}; {caller.name} has the role {caller.role}")
    if caller.tenant and action in INSTALLATION:
        line = f"{action} tells of all tenants' work: ask an operator of the installation"
        raise Refusal(Code.DENIED, line)


def bearer(header: str) -> str:
    """The token of an Authorization header; empty without one."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def target_of(request: object) -> str:
    """The thing that a request is about."""
    names = (getattr(request, name, "") for name in ("run", "id", "request_id", "cause"))
    return next((str(name) for name in names if name), "")


def _plain(text: str) -> str:
    """On one line, whatever the caller sent."""
    return text[:_LONGEST].encode("unicode_escape").decode("ascii")
