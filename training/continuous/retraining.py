"""Continuous mode: a round for every so many conversations, from frozen data to an adapter in service.

Each step ends with a file, and a step whose file exists is skipped: a killed process resumes without training or
activating anything twice.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import Tls
from soliloquy.runtime.weights import base_digest
from soliloquy_training.adapters.activation import Activation, Canary
from soliloquy_training.adapters.registry import NotActivated, Registry
from soliloquy_training.adapters.serving import ModelService
from soliloquy_training.adapters.version import Version, read_version
from soliloquy_training.continuous.folder import Figures, Policy, RetrainingFolder, RoundOutcome, RoundPlan
from soliloquy_training.continuous.sources import Source
from soliloquy_training.evaluation.report import REPORT
from soliloquy_training.folder import Job, TrainingFolder
from soliloquy_training.freeze import LeaveOut
from soliloquy_training.settings import Diverged, TrainingSettings
from soliloquy_training.state import PLAN, RoundFolder, read
from soliloquy_training.step_log import ROUNDS

Report = Mapping[str, Any]


class RetrainingDisplay(Protocol):
    """Shows the progress of a round."""

    def waiting(self, number: int, found: int) -> None:
        """`found` is the number of conversations so far."""

    def at(self, number: int, step: str) -> None:
        """A step begins, or the round has ended."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """The adapter to retrain, and the model service that serves it."""

    # The name in requests, the same for all versions.
    name: str
    base: Path
    registry: Registry
    model_address: str
    model_tls: Tls | None = None
    # See Activation.cache.
    cache: Path | None = None

    def active(self) -> str:
        """Returns the version in service; empty if the base answers alone."""
        active = self.registry.active().get(self.name)
        return active.version if active else ""

    def path(self, version: str) -> Path | None:
        return self.registry.path(self.registry.find(version), self.cache) if version else None

    async def check_base(self, digest: str) -> None:
        async with ModelService(self.model_address, tls=self.model_tls) as service:
            await service.check_base(self.base, digest)

    async def activate(self, version: Version, canaries: Sequence[Canary], readable: float) -> None:
        async with ModelService(self.model_address, tls=self.model_tls) as service:
            activation = Activation(registry=self.registry, service=service, cache=self.cache)
            await activation.activate(version, canaries, readable=readable)


@dataclass(frozen=True, kw_only=True)
class Retraining:
    rounds: RetrainingFolder
    source: Source
    # The number of conversations for a round.
    every: int
    served: Served
    settings: TrainingSettings
    policy: Policy
    # The title of each metric of the evaluation.
    metrics: Mapping[str, str]
    canaries: Sequence[Canary]
    # Trains a job, on this machine or elsewhere.
    train: Callable[[Job], None]
    # Evaluates the base, with or without an adapter, into a folder; returns the report.
    evaluate: Callable[[Path | None, Path], Report]
    display: RetrainingDisplay
    _learned: set[str] = field(default_factory=set, init=False)
    _reports: dict[str, Report] = field(default_factory=dict, init=False)

    def run(self, rounds: int | None) -> list[RoundOutcome]:
        """Runs until the folder has so many rounds, or forever; raises Failure."""
        if self.settings.tune != "lora":
            raise Failure(f"tune: {self.settings.tune} makes no adapter: retraining requires tune: lora")
        base = base_digest(self.served.base)
        evaluation = self.policy.evaluation.model_dump(mode="json")
        identity = {"name": self.served.name, "base": base, "source": self.source.name, "evaluation": evaluation}
        with self.rounds.opened(identity):
            asyncio.run(self.served.check_base(base))
            done = self.rounds.done()
            for outcome in done:
                self._learned.update(self.rounds.learned(outcome.round))
            while rounds is None or len(done) < rounds:
                done.append(self._round(len(done) + 1, done[-1].plan.span.end if done else None))
        return done

    def _round(self, number: int, after: Any) -> RoundOutcome:
        folder = self.rounds.round(number)
        plan = folder.read(PLAN, RoundPlan) or self._plan(folder, after)
        if not folder.data.exists():
            self.display.at(number, f"freezing {plan.span.conversations} conversations")
            self.source.freeze(plan.span, folder.data, self._leave_out(number, plan.onto))
        try:
            outcome = self._judge(folder, plan, self._train(folder, plan))
        except Diverged as diverged:
            outcome = RoundOutcome(round=number, plan=plan, outcome="diverged", reason=str(diverged))
        self.rounds.finish(outcome)
        self._learned.update(self.rounds.learned(number))
        ROUNDS.labels(outcome.outcome).inc()
        self.display.at(number, ": ".join(filter(None, (outcome.outcome, outcome.version, outcome.reason))))
        return outcome

    def _plan(self, folder: RoundFolder, after: Any) -> RoundPlan:
        onto = self.served.active()
        leave_out = self._leave_out(folder.number, onto)
        self.display.waiting(folder.number, 0)
        span = self.source.next(after, self.every, leave_out, lambda found: self.display.waiting(folder.number, found))
        plan = RoundPlan(span=span, onto=onto)
        folder.write(PLAN, plan)
        if span.missed:
            self.display.at(folder.number, f"{span.missed} offsets before these were deleted unread")
        return plan

    def _train(self, folder: RoundFolder, plan: RoundPlan) -> Report:
        job = Job(
            settings=self.settings,
            base=self.served.base,
            data=str(folder.data),
            folder=folder.training,
            adapter=self.served.path(plan.onto),
        )
        training = TrainingFolder(job)
        if not training.report():
            self.display.at(folder.number, f"training on top of {plan.onto or 'the base'}")
            self.train(job)
        return training.report()

    def _judge(self, folder: RoundFolder, plan: RoundPlan, trained: Report) -> RoundOutcome:
        version, files = read_version(folder.training, self.served.name)
        self.served.registry.push(version, files)
        before = self._figures(folder.number, plan.onto)
        after = self._figures(folder.number, version.id)
        outcome, reason = self._decide(folder.number, version, plan, before, after)
        self.served.registry.note(version, f"round {folder.number}: {': '.join(filter(None, (outcome, reason)))}")
        return RoundOutcome(
            round=folder.number,
            plan=plan,
            outcome=outcome,
            reason=reason,
            version=version.id,
            loss=trained["loss"],
            held_out=trained["validation"] and trained["validation"]["loss"],
            before=before,
            after=after,
        )

    def _decide(
        self, number: int, version: Version, plan: RoundPlan, before: Figures, after: Figures
    ) -> tuple[str, str]:
        """Returns the outcome, and the reason if the version is not activated."""
        if complaint := self.policy.complaint(before, after, self.metrics):
            return "worse", complaint
        active = self.served.active()
        # It is active already if an earlier process was killed after the activation.
        if active != version.id:
            if active != plan.onto:
                return "refused", f"{active or 'nothing'} is in service instead of {plan.onto or 'nothing'}"
            self.display.at(number, f"activating {version.id}")
            try:
                asyncio.run(self.served.activate(version, self.canaries, self.policy.canaries.readable))
            except NotActivated as error:
                return "refused", str(error)
        return "activated", ""

    def _figures(self, number: int, version: str) -> Figures:
        """Counts a missing share as 0: a model that never calculates has no code that runs."""
        shares = self._evaluate(number, version)["figures"]["metrics"]
        return {name: shares[name]["share"] or 0.0 for name in self.metrics}

    def _evaluate(self, number: int, version: str) -> Report:
        """Evaluates each version once; all versions get the same cases."""
        if version not in self._reports:
            folder = self.rounds.evaluation(version)
            report: Report = read(folder / REPORT)
            if not report:
                self.display.at(number, f"evaluating {version or 'the base'}")
                report = self.evaluate(self.served.path(version), folder)
            for other, known in self._reports.items():
                if known["cases"]["sha256"] != report["cases"]["sha256"]:
                    raise Failure(
                        f"{folder} and {self.rounds.evaluation(other)} have different cases, from another version of "
                        "soliloquy or other problems: remove both to evaluate again"
                    )
            self._reports[version] = report
        return self._reports[version]

    def _leave_out(self, number: int, onto: str) -> LeaveOut:
        """Leaves out conversations of earlier rounds, and those about questions of the evaluation."""
        questions = set(self._evaluate(number, onto)["cases"]["problem_ids"])
        return lambda conversation: conversation.id in self._learned or conversation.problem.id in questions
