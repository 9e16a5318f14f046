"""Has a tutor hold MathDial's dialogues, or takes recorded ones, and reports what they came to."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import uvloop
from rich.table import Table

from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.events_pb2 import CodeWritten
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_papers.mathdial.evaluate import MODEL, NEXT_STEP, PROMPTED, RESPONDING
from soliloquy_papers.mathdial.evaluate.dialogues import (
    RECIPE,
    draw_dialogues,
    hold_dialogue,
    judge_recorded,
    next_step,
    prompted,
    responding,
)
from soliloquy_papers.mathdial.evaluate.figures import CURVES, MEASURES, METRICS, PAPER, WHOSE, figures, page, shares
from soliloquy_papers.mathdial.evaluate.judging import OWN, JudgedDialogue
from soliloquy_papers.mathdial.evaluate.replies import (
    RecordedHistory,
    ReplyResult,
    digest_of_histories,
    histories,
    reply_to_history,
)
from soliloquy_training.evaluation.cases import DrawnCases
from soliloquy_training.evaluation.report import is_measured
from soliloquy_training.evaluation.text_models import BertScore

_STUDENTS = ("planner", "sampler", "student")
_TUTORS: Mapping[str, Callable[[], Recipe]] = {
    MODEL: partial(find, RECIPE),
    PROMPTED: prompted,
    RESPONDING: responding,
    NEXT_STEP: next_step,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MathDialEvaluation:
    settings: EvaluationSettings
    # MODEL, PROMPTED, RESPONDING, NEXT_STEP, or the folder of a dataset with recorded dialogues.
    tutored_by: str
    # MODEL, or else the scripted student.
    student: str
    dialogues: int
    references: Path | None
    # The folder of an encoder.
    bertscore: Path | None

    def run(self) -> Evaluated:
        """Raises Failure."""
        replies: list[ReplyResult] = []
        likeness = None
        if self.tutored_by in _TUTORS:
            likeness = BertScore(self.bertscore).scores if self.bertscore else None
            results, replies, cases = self._hold()
        else:
            results, cases = judge_recorded(Dataset(self.tutored_by), self.tutored_by)
        name = "" if self.tutored_by in (MODEL, PROMPTED, RESPONDING) else Path(self.tutored_by).name
        report = self.settings.report(
            RECIPE,
            [*results, *replies],
            name=name,
            cases=cases,
            **({"model": {"model": name}} if name else {}),
            titles=METRICS | MEASURES,
            figures=figures(results, replies, likeness),
            paper=PAPER,
            whose=WHOSE,
            curves=CURVES,
        )
        return Evaluated(
            report=report, results=[*results, *replies], page=page(report, results), tables=_tables(report)
        )

    def _hold(self) -> tuple[list[JudgedDialogue], list[ReplyResult], dict[str, Any]]:
        source, problems = self.settings.held_out()
        asked = self._histories()
        drawn, results, replies = uvloop.run(self._evaluate(problems, asked))
        if replies and not any(each.text for each in replies):
            raise Failure(f"{self.references}: none of {len(replies)} histories got a reply: {replies[0].ended}")
        student = self.settings.tutor.models.identity() if self.student == MODEL else {"model": "scripted"}
        cases = self.settings.cases(
            source,
            f"{len(drawn.cases)} dialogues about problems of",
            [each.problem for each in drawn.cases],
            digest(drawn.digest, json.dumps(student, sort_keys=True), digest_of_histories(asked)),
            dialogues=len(drawn.cases),
            student=student,
            references=str(self.references) if self.references else None,
            passed_over=drawn.passed_over,
        )
        return results, replies, cases

    def _histories(self) -> list[RecordedHistory]:
        if self.references is None:
            return []
        trained = self.settings.trained
        learned = [one for folder in trained for one in Dataset(folder)] if trained else None
        return histories(Dataset(self.references), str(self.references), learned)

    async def _evaluate(
        self, problems: Iterator[Problem], asked: Sequence[RecordedHistory]
    ) -> tuple[DrawnCases[Conversation], list[JudgedDialogue], list[ReplyResult]]:
        settings = self.settings
        sandbox = None if self.tutored_by == MODEL else nullcontext(_refuse_code)
        async with settings.running(RECIPE, sandbox) as (model, loop):
            students: Model = model if self.student == MODEL else settings.scripted()
            drawn = await draw_dialogues(
                problems,
                students,
                loop.prompts,
                seed=settings.seed,
                # A tutor that is only tuned to respond has no moves, by which students go.
                dialogues=0 if self.tutored_by == RESPONDING else self.dialogues,
                at_once=settings.in_flight,
            )
            recipe = _TUTORS[self.tutored_by]()
            loop = replace(loop, recipe=recipe, model=_StudentsAndTutor(students=students, tutor=model))
            hold, reply = partial(hold_dialogue, loop=loop), partial(reply_to_history, loop=loop)
            results = await settings.run(
                model, drawn.cases, hold, counted="reached", counts=lambda result: result.reached is not None
            )
            return drawn, results, await settings.run(model, asked, reply, counted="replies", counts=lambda _: True)


async def _refuse_code(event: CodeWritten) -> Outcome:
    raise TypeError(f"conversation {event.conversation.id}: {NEXT_STEP} must not write code")


@dataclass(frozen=True, kw_only=True, slots=True)
class _StudentsAndTutor:
    """Sends the requests of students and of the tutor to different models."""

    students: Model
    tutor: Model

    async def generate(self, request: GenerateRequest) -> Completion:
        return await (self.students if request.role in _STUDENTS else self.tutor).generate(request)


def _tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """Yields a table of success and telling by k, and one of the other metrics."""
    made = report["figures"]
    groups = {"all": made["metrics"]} if made["by_steps"] else {}
    groups |= {f"{steps} steps": of["metrics"] for steps, of in made["by_steps"].items()}
    by_k = Table("k", *groups, title=f"{report['name']}: {', '.join(CURVES)}")
    for k, metrics in enumerate(zip(*CURVES.values(), strict=True), start=1):
        by_k.add_row(str(k), *(", ".join(shares(of, metrics)) for of in groups.values()))
    if groups:
        yield by_k
    yield figures_table(report, [*([OWN] if groups else []), *(name for name in MEASURES if is_measured(report, name))])
