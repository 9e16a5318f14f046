"""Sums up the metrics of all services."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soliloquy.cli.top.scrape import Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class StageLoad:
    service: str
    processes: int
    # Unfinished events, and the age of the oldest.
    lag: int
    oldest_seconds: float
    # Events finished a second; None after a single scrape.
    rate: float | None
    running: int
    lanes: int
    waits_seconds: float | None
    works_seconds: float | None
    retries: int
    parked: int
    given_up: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationCounts:
    under_way: int
    limit: int
    accepted: int
    rejected: int
    # Accepted a second.
    rate: float | None
    turn_seconds: float | None
    dead_letters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxLoad:
    executors: int
    ready: int
    busy: int
    rate: float | None
    job_seconds: float | None
    failed: int
    refused: int
    deaths: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleCalls:
    """The model calls of one role."""

    role: str
    answers: int
    # Answers that were asked for again, or could never be used.
    unreadable: int
    rate: float | None
    call_seconds: float | None
    # Prompt and completion together.
    tokens_per_second: float | None
    cost: float
    # Tokens whose price is unknown.
    unpriced: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointCalls:
    """The model calls of all roles, at all endpoints."""

    in_flight: int
    width: int
    faults: int
    # Batches under way with their requests, and requests that wait for one.
    batches: int
    batched: int
    unbatched: int
    # Endpoints whose circuit breaker is open.
    shut: Sequence[str]
    cost: float
    unpriced: int
    # The share of the prompt tokens that caches held; None if nothing was read.
    cached: float | None
    # Includes the cost of rejected conversations.
    cost_each: float | None
    tokens_each: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    processes: int
    silent: Mapping[str, str]
    conversations: ConversationCounts
    stages: Sequence[StageLoad]
    sandbox: SandboxLoad
    roles: Sequence[RoleCalls]
    calls: EndpointCalls


def overview(interval: Interval) -> Overview:
    services = interval.sums("soliloquy_lanes", "service")
    roles = interval.sums("soliloquy_model_answers_total", "role")
    return Overview(
        processes=len(interval.after.samples),
        silent=interval.after.silent,
        conversations=_conversations(interval),
        stages=[_stage(interval, service) for service in services],
        sandbox=_sandbox(interval),
        roles=[_role(interval, role) for role in roles],
        calls=_calls(interval),
    )


def _conversations(interval: Interval) -> ConversationCounts:
    finished = "soliloquy_conversations_finished_total"
    # Each process that reads a topic reports all its dead letters.
    letters: dict[str, float] = {}
    for labels, value in interval.series("soliloquy_dead_letters"):
        letters[labels["topic"]] = max(letters.get(labels["topic"], 0.0), value)
    return ConversationCounts(
        under_way=int(interval.value("soliloquy_conversations_under_way")),
        limit=int(interval.value("soliloquy_admission_limit")),
        accepted=int(interval.value(finished, outcome="accepted")),
        rejected=int(interval.value(finished, outcome="rejected")),
        rate=interval.rate(finished, outcome="accepted"),
        turn_seconds=interval.mean("soliloquy_turn_seconds"),
        dead_letters=int(sum(letters.values())),
    )


def _stage(interval: Interval, service: str) -> StageLoad:
    def total(name: str) -> int:
        return int(interval.value(name, service=service))

    oldest = [age for _, age in interval.series("soliloquy_oldest_uncommitted_seconds", service=service)]
    return StageLoad(
        service=service,
        processes=len(interval.sums("soliloquy_lanes", "process", service=service)),
        lag=total("soliloquy_lag_events"),
        oldest_seconds=max(oldest, default=0.0),
        rate=interval.rate("soliloquy_events_succeeded_total", service=service),
        running=total("soliloquy_lanes_in_use"),
        lanes=total("soliloquy_lanes"),
        waits_seconds=interval.mean("soliloquy_queue_seconds", service=service),
        works_seconds=interval.mean("soliloquy_handler_seconds", service=service),
        retries=total("soliloquy_handler_retries_total"),
        parked=total("soliloquy_events_parked_total"),
        given_up=total("soliloquy_events_dead_total"),
    )


def _sandbox(interval: Interval) -> SandboxLoad:
    jobs = interval.sums("soliloquy_sandbox_jobs_total", "status")
    # Every process exports the metric, but only executors have sandboxes.
    executors = interval.sums("soliloquy_lanes", "process", service="executor")
    ready = [value for labels, value in interval.series("soliloquy_sandbox_ready") if labels["process"] in executors]
    return SandboxLoad(
        executors=len(executors),
        ready=int(sum(ready)),
        busy=int(interval.value("soliloquy_sandbox_busy")),
        rate=interval.rate("soliloquy_sandbox_jobs_total"),
        job_seconds=interval.mean("soliloquy_sandbox_job_seconds"),
        failed=int(sum(count for status, count in jobs.items() if status != "ok")),
        refused=int(interval.value("soliloquy_sandbox_jobs_refused_total")),
        deaths=int(interval.value("soliloquy_sandbox_deaths_total")),
    )


def _role(interval: Interval, role: str) -> RoleCalls:
    answers = "soliloquy_model_answers_total"
    return RoleCalls(
        role=role,
        answers=int(interval.value(answers, role=role)),
        unreadable=int(sum(interval.value(answers, role=role, outcome=outcome) for outcome in ("reasked", "failed"))),
        rate=interval.rate(answers, role=role),
        call_seconds=interval.mean("soliloquy_model_seconds", role=role),
        tokens_per_second=interval.rate("soliloquy_model_tokens_total", role=role),
        cost=interval.value("soliloquy_model_cost_total", role=role),
        unpriced=int(interval.value("soliloquy_model_unpriced_tokens_total", role=role)),
    )


def _calls(interval: Interval) -> EndpointCalls:
    accepted = interval.value("soliloquy_conversations_finished_total", outcome="accepted")
    cost = interval.value("soliloquy_model_cost_total")
    kinds = interval.sums("soliloquy_model_tokens_total", "kind")
    read = sum(kinds.get(kind, 0.0) for kind in ("prompt", "cached", "cache_write"))
    return EndpointCalls(
        in_flight=int(interval.value("soliloquy_model_in_flight")),
        width=int(interval.value("soliloquy_model_width")),
        faults=int(interval.value("soliloquy_model_faults_total")),
        batches=int(interval.value("soliloquy_model_batches")),
        batched=int(interval.value("soliloquy_model_batched_requests")),
        unbatched=int(interval.value("soliloquy_model_unbatched_requests")),
        shut=[endpoint for endpoint, shut in interval.sums("soliloquy_model_shut", "endpoint").items() if shut],
        cost=cost,
        unpriced=int(interval.value("soliloquy_model_unpriced_tokens_total")),
        cached=kinds.get("cached", 0.0) / read if read else None,
        cost_each=cost / accepted if accepted else None,
        tokens_each=interval.value("soliloquy_conversation_tokens_total") / accepted if accepted else None,
    )
