"""Continuous mode: a round each time enough conversations have come in, from frozen data to an adapter in service.

Each step leaves a file that appears whole, and is passed over where that is there: a process that was killed at any
moment is gone on from, and nothing is learned or put into service twice.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from soliloquy.runtime.weights import base_digest
from training.adapters.activation import Activation, NotActivated
from training.adapters.canary import Canary
from training.adapters.registry import ConcurrentActivation, Registry
from training.adapters.serving import ModelService
from training.adapters.version import Version, read_version
from training.continuous.folder import RetrainingFolder, RoundFolder, RoundOutcome, RoundPlan
from training.continuous.policy import Figures, Policy
from training.continuous.sources import Source
from training.evaluation.higgs.judging import METRICS
from training.evaluation.report import read_report
from training.folder import Job, TrainingFolder
from training.freeze import LeaveOut
from training.metrics import ROUNDS
from training.settings import CannotTrain, Diverged, TrainingSettings

Report = Mapping[str, Any]


class RetrainingDisplay(Protocol):
    """Hears what a round is at."""

    def waiting(self, number: int, found: int) -> None:
        """So many conversations are there by now."""

    def at(self, number: int, step: str) -> None:
        """Of the step that begins."""

    def ended(self, outcome: RoundOutcome) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Served:
    """The adapter that is retrained, and where it answers."""

    # What requests call it, whichever version it is.
    name: str
    base: Path
    registry: Registry
    model_address: str
    # As an activation has it.
    cache: Path | None = None

    def active(self) -> str:
        """The version in service; empty where the base answers alone."""
        active = self.registry.active().get(self.name)
        return active.version if active else ""

    def path(self, version: str) -> Path | None:
        return self.registry.path(self.registry.find(version), self.cache) if version else None

    async def check_base(self, digest: str) -> None:
        async with ModelService(self.model_address) as service:
            await service.check_base(self.base, digest)

    async def activate(self, version: Version, canaries: Sequence[Canary], readable: float) -> None:
        async with ModelService(self.model_address) as service:
            activation = Activation(registry=self.registry, service=service, cache=self.cache)
            await activation.activate(version, canaries, readable=readable)


@dataclass(frozen=True, kw_only=True)
class Retraining:
    rounds: RetrainingFolder
    source: Source
    # Conversations that a round waits for.
    every: int
    served: Served
    settings: TrainingSettings
    policy: Policy
    canaries: Sequence[Canary]
    # Has a job trained, wherever that is.
    train: Callable[[Job], None]
    # Evaluates the base with an adapter, or alone, into a folder; returns the report.
    evaluate: Callable[[Path | None, Path], Report]
    display: RetrainingDisplay
    _learned: set[str] = field(default_factory=set, init=False)
    _reports: dict[str, Report] = field(default_factory=dict, init=False)

    def run(self, rounds: int | None) -> list[RoundOutcome]:
        """Until there are so many in the folder, or for ever; raises CannotTrain."""
        if self.settings.tune != "lora":
            raise CannotTrain(
                f"tune: {self.settings.tune} makes no adapter, which is what is retrained: use tune: lora"
            )
        base = base_digest(self.served.base)
        evaluation = self.policy.evaluation.model_dump(mode="json")
        identity = {"name": self.served.name, "base": base, "source": self.source.name, "evaluation": evaluation}
        with self.rounds.opened(identity):
            asyncio.run(self.served.check_base(base))
            done = self.rounds.done()
            for outcome in done:
                self._learned.update(self.rounds.round(outcome.round).learned())
            while rounds is None or len(done) < rounds:
                done.append(self._round(len(done) + 1, done[-1].plan.span.end if done else None))
        return done

    def _round(self, number: int, after: Any) -> RoundOutcome:
        folder = self.rounds.round(number)
        plan = folder.plan() or self._planned(folder, after)
        if not folder.data.exists():
            self.display.at(number, f"freezing {plan.span.conversations} conversations")
            self.source.freeze(plan.span, folder.data, self._left_out(number, plan.onto))
        try:
            outcome = self._judged(folder, plan, self._trained(folder, plan))
        except Diverged as diverged:
            outcome = RoundOutcome(round=number, plan=plan, outcome="diverged", reason=str(diverged))
        self.rounds.finish(outcome)
        self._learned.update(folder.learned())
        ROUNDS.labels(outcome.outcome).inc()
        self.display.ended(outcome)
        return outcome

    def _planned(self, folder: RoundFolder, after: Any) -> RoundPlan:
        onto = self.served.active()
        leave_out = self._left_out(folder.number, onto)
        self.display.waiting(folder.number, 0)
        span = self.source.next(after, self.every, leave_out, lambda found: self.display.waiting(folder.number, found))
        plan = RoundPlan(span=span, onto=onto)
        folder.write_plan(plan)
        if span.missed:
            self.display.at(folder.number, f"{span.missed} offsets before these were gone before they were read")
        return plan

    def _trained(self, folder: RoundFolder, plan: RoundPlan) -> Report:
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

    def _judged(self, folder: RoundFolder, plan: RoundPlan, trained: Report) -> RoundOutcome:
        version, files = read_version(folder.training, self.served.name)
        self.served.registry.push(version, files)
        before = _figures(self._evaluated(folder.number, plan.onto))
        after = _figures(self._evaluated(folder.number, version.id))
        outcome, reason = self._decided(folder.number, version, plan, before, after)
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

    def _decided(
        self, number: int, version: Version, plan: RoundPlan, before: Figures, after: Figures
    ) -> tuple[str, str]:
        """What becomes of it, and why where that is not to go into service."""
        if complaint := self.policy.complaint(before, after):
            return "worse", complaint
        active = self.served.active()
        # Where it is active, a process that was killed behind the activation has left it so.
        if active != version.id:
            if active != plan.onto:
                return "refused", f"{active or 'nothing'} is in service by now, not {plan.onto or 'nothing'} as before"
            self.display.at(number, f"activating {version.id}")
            try:
                asyncio.run(self.served.activate(version, self.canaries, self.policy.canaries.readable))
            except (NotActivated, ConcurrentActivation) as error:
                return "refused", str(error)
        return "activated", ""

    def _evaluated(self, number: int, version: str) -> Report:
        """Each version once, whichever rounds ask for it; all are put the same cases."""
        if version not in self._reports:
            folder = self.rounds.evaluation(version)
            report: Report | None = read_report(folder)
            if report is None:
                self.display.at(number, f"evaluating {version or 'the base'}")
                report = self.evaluate(self.served.path(version), folder)
            for other, known in self._reports.items():
                if known["cases"]["sha256"] != report["cases"]["sha256"]:
                    raise CannotTrain(
                        f"{folder} and {self.rounds.evaluation(other)} put other cases, by another version of this "
                        "software or with other problems: remove both, and they are made anew"
                    )
            self._reports[version] = report
        return self._reports[version]

    def _left_out(self, number: int, onto: str) -> LeaveOut:
        """What was learned from in earlier rounds, and what is about a question that is put to each of them."""
        questions = set(self._evaluated(number, onto)["cases"]["problem_ids"])
        return lambda conversation: conversation.id in self._learned or conversation.problem.id in questions


def _figures(report: Report) -> Figures:
    """No case of a kind counts as none passed: who never calculates has no code that runs."""
    shares = report["figures"]["metrics"]
    return {name: shares[name]["share"] or 0.0 for name in METRICS}
