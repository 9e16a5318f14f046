"""Has a tutor answer the cases of ScaffoldEval, and reports its scores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import click
import uvloop
from pydantic import BaseModel, Field

from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.recipes.answers import Text
from soliloquy.runs.model import chosen_models
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.validated_file import read_model
from soliloquy.v1.conversation_pb2 import Problem, Quantity
from soliloquy_papers.scaffold.evaluate.dialogues import (
    SEGMENT,
    DialogueCase,
    DialogueRound,
    digest_of_cases,
    is_suitable,
    make_cases,
)
from soliloquy_papers.scaffold.evaluate.evaluator import Evaluator, ScoredDialogue
from soliloquy_papers.scaffold.evaluate.figures import PAPER, TITLES, WHOSE, figures, page
from soliloquy_papers.scaffold.evaluate.judging import TEMPLATES
from soliloquy_papers.scaffold.evaluate.tutors import TUTORS


class _Exchange(BaseModel, frozen=True, extra="forbid"):
    student: Text
    tutor: Text


class _Segment(BaseModel, frozen=True, extra="forbid"):
    question: Text
    solution: str = ""
    answer: float
    unit: str = ""
    before: list[_Exchange] = Field(min_length=1)
    # The message that gets a reply, and what people say that it is.
    message: Text
    state: Literal["correct", "incorrect", "question"]


class _Segments(BaseModel, frozen=True):
    line: list[_Segment] = Field(min_length=1)


def read_segments(path: Path, seed: int) -> Iterator[DialogueCase]:
    """Yields the segment of each line; raises Failure with the line and field of the first that is none."""
    for number, one in enumerate(read_model(path, _rows, _Segments).line):
        problem = Problem(
            id=digest("segment", one.question),
            question=one.question,
            solution=one.solution,
            answer=Quantity(value=one.answer, unit=one.unit),
        )
        rounds = [DialogueRound(state="", student=each.student, tutor=each.tutor) for each in one.before]
        last = DialogueRound(state=one.state, student=one.message)
        states: dict[str, float] = {one.state: 1.0}
        yield DialogueCase(
            kind=SEGMENT, number=number, problem=problem, seed=seed, states=states, before=[*rounds, last]
        )


def _rows(text: str) -> dict[str, Any]:
    return {"line": [json.loads(line) for line in text.splitlines() if line.strip()]}


RECIPE = "scaffold"
# Problems to try for each suitable one.
_TRIED = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaffoldEvaluation:
    settings: EvaluationSettings
    # One of TUTORS.
    tutor: str
    # The number of dialogues with each student, of segments or their file, and of the student's tries at each problem.
    dialogues: int
    segments: int | Path
    tries: int
    # Settings of the models of a judge and of the student; without them nobody judges, and the student is scripted.
    judge: Path | None
    student: Path | None

    def run(self) -> Evaluated:
        """Raises Failure."""
        settings = self.settings
        model = settings.tutor
        engines = {endpoint.engine for endpoint in model.models.used.values()}
        if self.tutor == "plain" and model.weights is None and "scripted" in engines:
            raise click.UsageError("--tutor plain cannot be used with the scripted model: choose another --model")
        source, problems = settings.held_out()
        wanted = list(islice(filter(is_suitable, islice(problems, _TRIED * self.dialogues)), self.dialogues))
        if len(wanted) < self.dialogues:
            raise Failure(f"only {len(wanted)} of {self.dialogues} problems are suitable: use fewer --dialogues")
        if isinstance(self.segments, Path):
            kind, own = "segments of people", read_segments(self.segments, settings.seed)
            cases = [*make_cases(wanted, segments=0, seed=settings.seed), *own]
        else:
            kind = "segments"
            cases = list(make_cases(wanted, segments=self.segments, seed=settings.seed))
        segments = sum(case.kind == SEGMENT for case in cases)
        files = (("judge", self.judge), ("student", self.student))
        others = {role: chosen_models(file) if file else None for role, file in files}
        prompts = TEMPLATES.fingerprints({})
        results = uvloop.run(self._evaluate(cases, others))
        report = settings.report(
            RECIPE,
            results,
            name="" if self.tutor == "planned" else f"{model.name}, {self.tutor}",
            cases=settings.cases(
                source,
                f"{segments} {kind} and {self.dialogues} dialogues of each pass of",
                wanted,
                digest_of_cases(cases),
                dialogues=self.dialogues,
                segments=segments,
                tries=self.tries,
            ),
            prompts=prompts,
            tutor=self.tutor,
            **{role: models.identity() if models else None for role, models in others.items()},
            titles=TITLES,
            figures=figures(results),
            paper=PAPER,
            whose=WHOSE,
        )
        return Evaluated(
            report=report, results=results, page=page(report, results), tables=[figures_table(report, TITLES)]
        )

    async def _evaluate(
        self, cases: Sequence[DialogueCase], others: Mapping[str, Models | None]
    ) -> list[ScoredDialogue]:
        settings = self.settings
        async with settings.running(RECIPE) as (model, loop), AsyncExitStack() as resources:
            asked: dict[str, Model] = {
                role: await resources.enter_async_context(open_models(models, settings.scripted, None))
                for role, models in others.items()
                if models
            }
            evaluator = Evaluator(
                tutor=lambda case: TUTORS[self.tutor](case, loop),
                judge=asked.get("judge"),
                student=asked.get("student") or settings.scripted(),
                tries=self.tries,
            )
            return await settings.run(
                model,
                cases,
                evaluator.evaluate,
                counted="broken off",
                counts=lambda result: bool(result.dialogue.broken),
            )
