"""What the services' own figures come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soliloquy.cli.top.scrape import Span


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    service: str
    processes: int
    # Events that are not finished, and the age of the oldest.
    lag: int
    oldest_seconds: float
    # Events finished a second; None where there was a single look.
    rate: float | None
    running: int
    lanes: int
    waits_seconds: float | None
    works_seconds: float | None
    retries: int
    parked: int
    given_up: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversations:
    under_way: int
    limit: int
    accepted: int
    rejected: int
    # Accepted a second.
    rate: float | None
    turn_seconds: float | None
    # How many accepted ones there shall be, and how long until then.
    wanted: int | None
    seconds_left: float | None
    dead_letters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    executors: int
    ready: int
    busy: int
    rate: float | None
    job_seconds: float | None
    failed: int
    refused: int
    deaths: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """What one role asks a model."""

    role: str
    answers: int
    # Asked again, or never fit to be used.
    unreadable: int
    rate: float | None
    call_seconds: float | None
    # A second, prompt and completion.
    tokens: float | None
    cost: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Calls:
    """Of all roles together, at the endpoints."""

    in_flight: int
    width: int
    faults: int
    # Endpoints that are left in peace for a while.
    shut: Sequence[str]
    cost: float
    # What the rejected ones took is in it.
    cost_each: float | None
    tokens_each: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    processes: int
    silent: Mapping[str, str]
    conversations: Conversations
    stages: Sequence[Stage]
    sandbox: Sandbox
    roles: Sequence[Role]
    calls: Calls


def standing(span: Span, wanted: int | None) -> Standing:
    services = span.sums("soliloquy_lanes", "service")
    roles = span.sums("soliloquy_model_answers_total", "role")
    return Standing(
        processes=len(span.after.samples),
        silent=span.after.silent,
        conversations=_conversations(span, wanted),
        stages=[_stage(span, service) for service in services],
        sandbox=_sandbox(span),
        roles=[_role(span, role) for role in roles],
        calls=_calls(span),
    )


def _conversations(span: Span, wanted: int | None) -> Conversations:
    finished = "soliloquy_conversations_finished_total"
    accepted = int(span.value(finished, outcome="accepted"))
    rate = span.rate(finished, outcome="accepted")
    # Each process that reads a topic tells of all its letters.
    letters: dict[str, float] = {}
    for labels, value in span.series("soliloquy_dead_letters"):
        letters[labels["topic"]] = max(letters.get(labels["topic"], 0.0), value)
    return Conversations(
        under_way=int(span.value("soliloquy_conversations_under_way")),
        limit=int(span.value("soliloquy_admission_limit")),
        accepted=accepted,
        rejected=int(span.value(finished, outcome="rejected")),
        rate=rate,
        turn_seconds=span.mean("soliloquy_turn_seconds"),
        wanted=wanted,
        seconds_left=max(wanted - accepted, 0) / rate if wanted and rate else None,
        dead_letters=int(sum(letters.values())),
    )


def _stage(span: Span, service: str) -> Stage:
    def total(name: str) -> int:
        return int(span.value(name, service=service))

    oldest = [age for _, age in span.series("soliloquy_oldest_uncommitted_seconds", service=service)]
    return Stage(
        service=service,
        processes=len(span.sums("soliloquy_lanes", "process", service=service)),
        lag=total("soliloquy_lag_events"),
        oldest_seconds=max(oldest, default=0.0),
        rate=span.rate("soliloquy_events_succeeded_total", service=service),
        running=total("soliloquy_lanes_in_use"),
        lanes=total("soliloquy_lanes"),
        waits_seconds=span.mean("soliloquy_queue_seconds", service=service),
        works_seconds=span.mean("soliloquy_handler_seconds", service=service),
        retries=total("soliloquy_handler_retries_total"),
        parked=total("soliloquy_events_parked_total"),
        given_up=total("soliloquy_events_dead_total"),
    )


def _sandbox(span: Span) -> Sandbox:
    jobs = span.sums("soliloquy_sandbox_jobs_total", "status")
    # Every process says whether its sandboxes are ready; those of others have none.
    executors = span.sums("soliloquy_lanes", "process", service="executor")
    ready = [value for labels, value in span.series("soliloquy_sandbox_ready") if labels["process"] in executors]
    return Sandbox(
        executors=len(executors),
        ready=int(sum(ready)),
        busy=int(span.value("soliloquy_sandbox_busy")),
        rate=span.rate("soliloquy_sandbox_jobs_total"),
        job_seconds=span.mean("soliloquy_sandbox_job_seconds"),
        failed=int(sum(count for status, count in jobs.items() if status != "ok")),
        refused=int(span.value("soliloquy_sandbox_jobs_refused_total")),
        deaths=int(span.value("soliloquy_sandbox_deaths_total")),
    )


def _role(span: Span, role: str) -> Role:
    answers = "soliloquy_model_answers_total"
    return Role(
        role=role,
        answers=int(span.value(answers, role=role)),
        unreadable=int(sum(span.value(answers, role=role, outcome=outcome) for outcome in ("reasked", "failed"))),
        rate=span.rate(answers, role=role),
        call_seconds=span.mean("soliloquy_model_seconds", role=role),
        tokens=span.rate("soliloquy_model_tokens_total", role=role),
        cost=span.value("soliloquy_model_cost_total", role=role),
    )


def _calls(span: Span) -> Calls:
    accepted = span.value("soliloquy_conversations_finished_total", outcome="accepted")
    cost = span.value("soliloquy_model_cost_total")
    return Calls(
        in_flight=int(span.value("soliloquy_model_in_flight")),
        width=int(span.value("soliloquy_model_width")),
        faults=int(span.value("soliloquy_model_faults_total")),
        shut=[endpoint for endpoint, shut in span.sums("soliloquy_model_shut", "endpoint").items() if shut],
        cost=cost,
        cost_each=cost / accepted if accepted else None,
        tokens_each=span.value("soliloquy_conversation_tokens_total") / accepted if accepted else None,
    )
