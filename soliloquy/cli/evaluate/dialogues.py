"""Dialogues held with a tutor, or held already, and what they came to as a report."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.cli.evaluate.questions import held_out
from soliloquy.cli.evaluate.running import Bar, completed, fingerprints, sandboxed
from soliloquy.cli.evaluate.tutor import Tutor
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.recipes.recipe import find
from soliloquy.runs.failure import Failure
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.events_pb2 import CodeWritten
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from training.evaluation.mathdial.baseline import next_step
from training.evaluation.mathdial.dialogues import RECIPE, DrawnDialogues, draw_dialogues, hold_dialogues
from training.evaluation.mathdial.figures import CURVES, MEASURES, METRICS, figures
from training.evaluation.mathdial.judging import JudgedDialogue
from training.evaluation.mathdial.page import PAPER, WHOSE
from training.evaluation.mathdial.recordings import UnsuitableDataset, judge_recorded
from training.evaluation.mathdial.replies import RecordedHistory, ReplyResult, digest_of, histories, reply_to_histories
from training.evaluation.recipe_loop import Execute, RecipeLoop
from training.evaluation.text_models import BertScore, NoLocalModel

MODEL, NEXT_STEP = "model", "next-step"
_STUDENTS = ("planner", "student")


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialogues:
    """Which students are tutored by whom."""

    # MODEL, NEXT_STEP, or the folder of a dataset.
    who: str
    tutor: Tutor
    # MODEL, or else by rule.
    student: str
    dialogues: int
    seed: int
    in_flight: int
    # No problem of these is put, and none of their dialogues is replied to.
    trained: Sequence[Path]
    references: Path | None
    # An encoder's folder.
    bertscore: Path | None

    def report(
        self, name: str | None, *, quiet: bool
    ) -> tuple[dict[str, Any], list[JudgedDialogue], list[ReplyResult]]:
        """With what was found of each dialogue and reply; raises Failure."""
        if self.who not in (MODEL, NEXT_STEP):
            results, cases = _recorded(self.who)
            replies: list[ReplyResult] = []
            likeness = None
        else:
            likeness = _likeness(self.bertscore)
            results, replies, cases = self._held(quiet=quiet)
        report = {
            "protocol": RECIPE,
            "name": name or self._name,
            "model": self.tutor.identity() if self.who == MODEL else {"model": self._name},
            "adapters": sorted(set[str]().union(*(result.adapters for result in results))),
            "cases": cases,
            "prompts_sha256": fingerprints(RECIPE),
            "titles": METRICS | MEASURES,
            "figures": figures(results, replies, likeness),
            "paper": PAPER,
            "whose": WHOSE,
            "curves": CURVES,
        }
        return report, results, replies

    @property
    def _name(self) -> str:
        return {MODEL: self.tutor.name, NEXT_STEP: NEXT_STEP}.get(self.who) or Path(self.who).name

    def _held(self, *, quiet: bool) -> tuple[list[JudgedDialogue], list[ReplyResult], dict[str, Any]]:
        source, problems = held_out(self.tutor.problems, seed=self.seed, trained=self.trained)
        asked = self._histories()
        drawn, results, replies = completed(self._evaluated(problems, asked, quiet=quiet))
        if replies and not any(one.text for one in replies):
            raise Failure(f"{self.references}: none of {len(replies)} histories got a reply: {replies[0].ended}")
        student = self.tutor.models.identity() if self.student == MODEL else {"model": "scripted"}
        put = {
            "put": f"{self.dialogues} dialogues about problems of `{self.tutor.problems}`, seed {self.seed}",
            "problems": self.tutor.problems,
            "problems_sha256": source.digest,
            "dialogues": self.dialogues,
            "seed": self.seed,
            "student": student,
            "references": str(self.references) if self.references else None,
            "sha256": digest(drawn.digest, json.dumps(student, sort_keys=True), digest_of(asked)),
            "passed_over": drawn.passed_over,
            "problem_ids": sorted(one.problem.id for one in drawn.conversations),
        }
        return results, replies, put

    def _histories(self) -> list[RecordedHistory]:
        if self.references is None:
            return []
        learned = [one for folder in self.trained for one in _conversations(folder)] if self.trained else None
        try:
            return histories(_conversations(self.references), str(self.references), learned)
        except UnsuitableDataset as unsuited:
            raise Failure(str(unsuited)) from unsuited

    async def _evaluated(
        self, problems: Iterator[Problem], asked: Sequence[RecordedHistory], *, quiet: bool
    ) -> tuple[DrawnDialogues, list[JudgedDialogue], list[ReplyResult]]:
        recipe = find(RECIPE)
        async with self.tutor.answering() as answering, self._executing() as execute:
            # A student by rule knows the problems by heart, and makes no noise.
            by_rule = scripted_model(ModelSettings(problems=[self.tutor.problems]))
            students: Model = answering if self.student == MODEL else by_rule
            drawn = await draw_dialogues(
                problems, recipe, students, seed=self.seed, dialogues=self.dialogues, at_once=self.in_flight
            )
            tutoring = RecipeLoop(
                recipe=recipe if self.who == MODEL else next_step(),
                model=_Cast(students=students, tutor=answering),
                execute=execute,
            )
            with Bar(answering, of=len(drawn.conversations) + len(asked), quiet=quiet) as bar:
                reached = 0

                def tell(result: JudgedDialogue) -> None:
                    nonlocal reached
                    reached += result.reached is not None
                    bar.tell(f"reached {reached}")

                results = await hold_dialogues(drawn.conversations, tutoring, at_once=self.in_flight, tell=tell)
                replies = await reply_to_histories(
                    asked, tutoring, at_once=self.in_flight, tell=lambda _: bar.tell(f"reached {reached}")
                )
        return drawn, results, replies

    def _executing(self) -> AbstractAsyncContextManager[Execute]:
        """Who only asks for the next step runs nothing."""
        return sandboxed() if self.who == MODEL else nullcontext(_nothing)


async def _nothing(event: CodeWritten) -> Outcome:
    raise TypeError(f"{NEXT_STEP} writes no code, and here is some: {event.conversation.id}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cast:
    """Students and tutor may be played by different models."""

    students: Model
    tutor: Model

    async def generate(self, request: GenerateRequest) -> Completion:
        return await (self.students if request.role in _STUDENTS else self.tutor).generate(request)


def _recorded(folder: str) -> tuple[list[JudgedDialogue], dict[str, Any]]:
    try:
        found = judge_recorded(_conversations(folder), folder)
    except UnsuitableDataset as unsuited:
        raise Failure(str(unsuited)) from unsuited
    put = {
        "put": f"The {len(found.results)} dialogues of `{folder}` as they are",
        "dialogues": len(found.results),
        "references": None,
        "unanswerable": found.unanswerable,
        "one_sided": found.one_sided,
        "sha256": found.digest,
        "problem_ids": sorted({result.conversation.problem.id for result in found.results}),
    }
    return list(found.results), put


def _conversations(folder: str | Path) -> Iterator[Conversation]:
    try:
        yield from Dataset(folder)
    except NoDataset as error:
        raise Failure(str(error)) from error


def _likeness(folder: Path | None) -> BertScore | None:
    try:
        return BertScore(folder) if folder else None
    except NoLocalModel as error:
        raise Failure(str(error)) from error
