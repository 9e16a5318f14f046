"""Generates the dataset of a plan: resumes the run in its folder, and writes the dataset once the run is settled."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import uvloop

from soliloquy.dataset.frames import DamagedFrames
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.problems.sources import ProblemSource
from soliloquy.recipes.prompts import own_texts
from soliloquy.runs.backends import KafkaBackend, LocalBackend, local_workers
from soliloquy.runs.driver import Driver
from soliloquy.runs.dry_run import require_room
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.plan import Plan
from soliloquy.runs.progress import Show
from soliloquy.runs.supervision import Supervisor
from soliloquy.runtime.driver import Quota, shortfall
from soliloquy.runtime.failure import Failure, first_error
from soliloquy.runtime.files import unwritable
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.costs import KINDS, total_cost
from soliloquy.runtime.model.spending import Spending, summed
from soliloquy.runtime.traces.opening import TraceSettings, recorded_traces
from soliloquy.runtime.transports.kafka import KafkaSettings

# Shows progress while its context is entered; takes the number of conversations that earlier calls left.
Display = Callable[[int], AbstractContextManager[Show]]

_REPORTED = (
    "answers",
    "asked_again",
    "enrichment",
    "unfit",
    "turns",
    "python_turns",
    "executions",
    "parse",
    "verdicts",
    "verification",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerationResult:
    plan: Plan
    counts: dict[str, Any]
    # The number of problems that yield no conversation as things are.
    failed: int = 0
    # Why the run has fewer conversations than wanted; empty if it has all of them.
    shortfall: str = ""
    interrupted: bool = False
    # The bill of all requests of the run, as the accounts of `Spending`.
    spent: Sequence[Mapping[str, Any]] = ()

    def report(self, *, seconds: float) -> dict[str, Any]:
        tokens = self.counts["tokens"]
        costs = self.plan.cost(tokens)
        total = total_cost(costs.values())
        return {
            "requested": self.plan.conversations,
            "accepted": self.counts["accepted"],
            "rejected": self.counts["rejected"],
            "failed": self.failed,
            **{name: self.counts[name] for name in _REPORTED},
            "tokens": {kind: sum(used.get(kind, 0) for used in tokens.values()) for kind in KINDS},
            # Null if no price is known; without the accounts that are unpriced.
            "cost": None if total is None else round(total, 6),
            "unpriced": [account for account, cost in costs.items() if cost is None],
            "spent": summed(self.spent),
            "seconds": round(seconds, 2),
        }


def generate_dataset(
    plan: Plan,
    source: ProblemSource,
    run_folder: RunFolder,
    kafka: KafkaSettings | None,
    traces: TraceSettings,
    display: Display,
    tell: Callable[[str], None] = lambda _: None,
) -> GenerationResult:
    """Runs until the dataset is complete, only dead letters are left, an endpoint or the budget stops it, or SIGINT or
    SIGTERM does. `tell` hears a line about each endpoint before it begins.

    Raises Failure. The main thread has to call it.
    """
    # Workers are copies of this process from before it opens anything; what the traces lack must not leave a folder
    # claimed.
    with (
        nullcontext() if kafka else closing(local_workers(plan, run_folder, traces)) as workers,
        recorded_traces(traces),
        run_folder as folder,
    ):
        if folder.manifest is not None:
            spent = folder.manifest["arrival"].get("spent", ())
            return _finished(plan, folder.place, folder.manifest["counts"], spent)
        try:
            with ExitStack() as stack:
                # The services of a Kafka ask models for many runs.
                spending = None if kafka else stack.enter_context(_spending(plan, source, folder, tell))
                return _generated(plan, source, folder, spending, kafka, workers, display, tell)
        except (ExceptionGroup, OSError) as error:
            raise _failure(error, folder.place) from error


@contextmanager
def _spending(plan: Plan, source: ProblemSource, folder: RunFolder, tell: Callable[[str], None]) -> Iterator[Spending]:
    with closing(Spending(folder.spending)) as spending:
        spending.restore(folder.earlier_accounts)
        # Those of an earlier process of the run, which was killed.
        spending.give_up()
        spending.limit(plan.budget)
        uvloop.run(require_endpoints(plan.models, plan.record, folder.findings, spending, tell))
        if not plan.record:
            uvloop.run(require_room(plan, source))
        yield spending


def _generated(
    plan: Plan,
    source: ProblemSource,
    folder: RunFolder,
    spending: Spending | None,
    kafka: KafkaSettings | None,
    workers: Supervisor | None,
    display: Display,
    tell: Callable[[str], None],
) -> GenerationResult:
    # These load what only a run needs, such as Arrow; workers are made by now, and do without it.
    from soliloquy_services.collector.dataset import counts_so_far, restore_journal, write_dataset
    from soliloquy_services.collector.journal import Journal

    if folder.is_extended and not folder.journal.exists():
        from soliloquy.dataset.reading import Dataset

        restore_journal(Dataset(str(folder.place)), folder.journal)
    spent: Sequence[Mapping[str, Any]] = ()
    with Journal(folder.journal) as journal:
        backend: KafkaBackend | LocalBackend
        if kafka:
            backend = KafkaBackend(plan, kafka, folder, tell)
        else:
            assert workers
            backend = LocalBackend(plan, folder, workers, spending)
        driver = Driver(plan, source, journal, backend, spending)
        with display(journal.accepted) as show:
            uvloop.run(driver.run(show))
        if spending:
            # The workers are gone.
            spending.give_up()
            spent = spending.accounts()
        if driver.settled:
            counts = write_dataset(
                folder.place,
                folder.working,
                journal,
                run=plan.identity(),
                options=plan.options,
                cost=plan.cost,
                topics=backend.topics,
                prices=plan.prices(),
                spent=spent,
                services=backend.services,
                prompts=own_texts(plan.recipe) | dict(plan.prompts) if plan.prompts else {},
            )
        else:
            counts = counts_so_far(journal, plan.conversations)
    if driver.settled:
        if not driver.dead_letters:
            folder.remove_working_files()
        return _finished(plan, folder.place, counts, spent)
    missing = plan.conversations - counts["accepted"]
    if driver.is_stopped:
        dropped = f", {driver.dropped} under way were dropped" if driver.dropped is not None else ""
        command = "the same command with a higher budget" if driver.is_out_of_budget else "the same command"
        why = f"stopped at {counts['accepted']} of {plan.conversations}{dropped}; {command} goes on from here"
        return GenerationResult(
            plan=plan,
            counts=counts,
            failed=driver.given_up,
            shortfall=f"{driver.fault}; {why}" if driver.fault else why,
            interrupted=not driver.fault,
            spent=spent,
        )
    letters = f"--kafka {kafka.bootstrap}" if kafka else str(folder.working.parent)
    why = (
        f"{missing} conversations ended among the dead letters; soliloquy dlq list {letters} says why, "
        f"soliloquy dlq replay {letters} puts them back, and the same command goes on from there"
    )
    return GenerationResult(plan=plan, counts=counts, failed=missing, shortfall=why, spent=spent)


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {key}" for key, count in counts.items())


def _finished(
    plan: Plan, place: Storage, counts: dict[str, Any], spent: Sequence[Mapping[str, Any]]
) -> GenerationResult:
    # The manifest of an earlier version lacks some counts.
    counts = {"unfit": {}, "answers": {}, "asked_again": {}, **counts}
    missing = plan.conversations - counts["accepted"]
    if not missing:
        return GenerationResult(plan=plan, counts=counts, spent=spent)
    quota = Quota(
        conversations=plan.conversations,
        accepted=counts["accepted"],
        given_up=missing,
        unfit=sum(counts["unfit"].values()),
    )
    why = shortfall(quota, plan.recipe, plan.max_attempts, listed(counts["unfit"]))
    show = f"soliloquy show {shlex.quote(str(place))} --rejected"
    is_rejected = counts["rejected"] > quota.unfit
    why += f"; {show} says why" + (". A higher --max-attempts tries the others more often" if is_rejected else "")
    return GenerationResult(plan=plan, counts=counts, failed=missing, shortfall=why, spent=spent)


def _failure(error: BaseException, out: Storage) -> BaseException:
    """Turns an error that a person can fix into one line; others stay as they are."""
    match error := first_error(error):
        case DamagedFrames():
            return Failure(f"{error}: remove it to restart the run from the beginning")
        case StorageUnavailable():
            return Failure(f"{error}; the same command goes on from here")
        case Failure():
            return error
        case OSError():
            return unwritable(
                error.filename or out, error, "make it writable and run the same command again", resumes=True
            )
        case _:
            return error
