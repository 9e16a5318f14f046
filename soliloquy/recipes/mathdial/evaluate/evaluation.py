"""MathDialEvaluation held with a tutor, or held already, and what they came to as a report."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.cli.errors import reporting
from soliloquy.cli.evaluate.execution import CaseProgress, fingerprints, run_evaluation, sandboxed
from soliloquy.cli.evaluate.questions import held_out
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

if TYPE_CHECKING:
    from soliloquy.recipes.mathdial.evaluate.dialogues import DrawnDialogues
    from soliloquy.recipes.mathdial.evaluate.judging import JudgedDialogue
    from soliloquy.recipes.mathdial.evaluate.replies import RecordedHistory, ReplyResult
    from training.evaluation.recipe_loop import Execute
    from training.evaluation.text_models import BertScore

MODEL, NEXT_STEP = "model", "next-step"
_STUDENTS = ("planner", "student")


@dataclass(frozen=True, kw_only=True, slots=True)
class MathDialEvaluation:
    """A tutor, and the students that it tutors."""

    # MODEL, NEXT_STEP, or the folder of a dataset with recorded dialogues.
    tutored_by: str
    tutor: Tutor
    # MODEL, or else the scripted student.
    student: str
    dialogues: int
    seed: int
    in_flight: int
    # Problems and dialogues of these datasets are left out.
    trained: Sequence[Path]
    references: Path | None
    # The folder of an encoder.
    bertscore: Path | None

    def report(
        self, name: str | None, *, quiet: bool
    ) -> "tuple[dict[str, Any], list[JudgedDialogue], list[ReplyResult]]":
        """Returns the report, and the results of each dialogue and each reply; raises Failure."""
        from soliloquy.recipes.mathdial.evaluate.dialogues import RECIPE
        from soliloquy.recipes.mathdial.evaluate.figures import CURVES, MEASURES, METRICS, figures
        from soliloquy.recipes.mathdial.evaluate.page import PAPER, WHOSE
        from training.evaluation.recipe_loop import adapter_digests

        if self.tutored_by not in (MODEL, NEXT_STEP):
            results, cases = _recorded(self.tutored_by)
            replies: list[ReplyResult] = []
            likeness = None
        else:
            likeness = _likeness(self.bertscore)
            results, replies, cases = self._hold(quiet=quiet)
        report = {
            "protocol": RECIPE,
            "name": name or self._name,
            "model": self.tutor.identity() if self.tutored_by == MODEL else {"model": self._name},
            "adapters": sorted(adapter_digests(call for result in results for call in result.calls)),
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
        return {MODEL: self.tutor.name, NEXT_STEP: NEXT_STEP}.get(self.tutored_by) or Path(self.tutored_by).name

    def _hold(self, *, quiet: bool) -> "tuple[list[JudgedDialogue], list[ReplyResult], dict[str, Any]]":
        from soliloquy.recipes.mathdial.evaluate.replies import digest_of

        source, problems = held_out(self.tutor.problems, seed=self.seed, trained=self.trained)
        histories = self._histories()
        drawn, results, replies = run_evaluation(self._evaluate(problems, histories, quiet=quiet))
        if replies and not any(each.text for each in replies):
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
            "sha256": digest(drawn.digest, json.dumps(student, sort_keys=True), digest_of(histories)),
            "passed_over": drawn.passed_over,
            "problem_ids": sorted(each.problem.id for each in drawn.conversations),
        }
        return results, replies, put

    def _histories(self) -> "list[RecordedHistory]":
        from soliloquy.recipes.mathdial.evaluate.recordings import UnsuitableDataset
        from soliloquy.recipes.mathdial.evaluate.replies import histories

        if self.references is None:
            return []
        learned = [one for folder in self.trained for one in _conversations(folder)] if self.trained else None
        with reporting(UnsuitableDataset):
            return histories(_conversations(self.references), str(self.references), learned)

    async def _evaluate(
        self, problems: Iterator[Problem], histories: "Sequence[RecordedHistory]", *, quiet: bool
    ) -> "tuple[DrawnDialogues, list[JudgedDialogue], list[ReplyResult]]":
        from soliloquy.recipes.mathdial.evaluate.baseline import next_step
        from soliloquy.recipes.mathdial.evaluate.dialogues import RECIPE, draw_dialogues, hold_dialogues
        from soliloquy.recipes.mathdial.evaluate.replies import reply_to_histories
        from training.evaluation.recipe_loop import RecipeLoop

        recipe = find(RECIPE)
        async with self.tutor.running() as model, self._executing() as execute:
            # The scripted student knows the problems, and makes no noise.
            scripted = scripted_model(ModelSettings(problems=[self.tutor.problems]))
            students: Model = model if self.student == MODEL else scripted
            drawn = await draw_dialogues(
                problems, recipe, students, seed=self.seed, dialogues=self.dialogues, at_once=self.in_flight
            )
            loop = RecipeLoop(
                recipe=recipe if self.tutored_by == MODEL else next_step(),
                model=_StudentsAndTutor(students=students, tutor=model),
                execute=execute,
            )
            with CaseProgress(model, cases=len(drawn.conversations) + len(histories), quiet=quiet) as bar:
                reached = 0

                def tell(result: "JudgedDialogue") -> None:
                    nonlocal reached
                    reached += result.reached is not None
                    bar.advance(f"reached {reached}")

                results = await hold_dialogues(drawn.conversations, loop, at_once=self.in_flight, on_result=tell)
                replies = await reply_to_histories(
                    histories, loop, at_once=self.in_flight, on_result=lambda _: bar.advance(f"reached {reached}")
                )
        return drawn, results, replies

    def _executing(self) -> "AbstractAsyncContextManager[Execute]":
        return sandboxed() if self.tutored_by == MODEL else nullcontext(_refuse_code)


async def _refuse_code(event: CodeWritten) -> Outcome:
    raise TypeError(f"conversation {event.conversation.id}: {NEXT_STEP} must not write code")


@dataclass(frozen=True, kw_only=True, slots=True)
class _StudentsAndTutor:
    """Sends the requests of students and of the tutor to different models."""

    students: Model
    tutor: Model

    async def generate(self, request: GenerateRequest) -> Completion:
        return await (self.students if request.role in _STUDENTS else self.tutor).generate(request)


def _recorded(folder: str) -> "tuple[list[JudgedDialogue], dict[str, Any]]":
    from soliloquy.recipes.mathdial.evaluate.recordings import UnsuitableDataset, judge_recorded

    with reporting(UnsuitableDataset):
        found = judge_recorded(_conversations(folder), folder)
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
    with reporting(NoDataset):
        yield from Dataset(folder)


def _likeness(folder: Path | None) -> "BertScore | None":
    from training.evaluation.text_models import BertScore, NoLocalModel

    with reporting(NoLocalModel):
        return BertScore(folder) if folder else None
