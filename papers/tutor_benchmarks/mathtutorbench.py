"""Runs the tasks of MathTutorBench with a model, and reports what its repository computes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.dataset.tables import plain, table
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import ModelCall
from soliloquy_papers.tutor_benchmarks import TASKS
from soliloquy_papers.tutor_benchmarks.asking import BenchmarkSettings, ask_once
from soliloquy_papers.tutor_benchmarks.local_copy import configs
from soliloquy_papers.tutor_benchmarks.reward_model import RewardModel
from soliloquy_papers.tutor_benchmarks.tasks import REPLIES, Answer, BenchmarkCase, is_right, read_answer, task_cases
from soliloquy_training.evaluation.bleu import sentence_bleu
from soliloquy_training.evaluation.cases import NO_ANSWER, digest_of, parse_figures, share_of
from soliloquy_training.evaluation.report import figure_rows, is_measured

_ACCURACY = "solution_correctness_accuracy"
# Their answers are texts, which are compared with others.
_COMPARED = (*REPLIES, "socratic_questioning")
TITLES = {**TASKS, _ACCURACY: "solution correctness, accuracy"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    case: BenchmarkCase
    answer: Answer = None
    # None while a text is not rated, and for questions.
    passed: bool | None = None
    ended: str = ""
    calls: Sequence[ModelCall] = ()

    @property
    def metric(self) -> str:
        return _ACCURACY if self.case.task == "solution_correctness" else self.case.task

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case.id,
            "passed": {} if self.passed is None else {self.metric: self.passed},
            "student": self.case.text,
            "reply": self.calls[0].raw[0] if self.calls else "",
            "target": self.case.target,
            "ended": self.ended,
        }


def evaluate(settings: BenchmarkSettings, folder: Path, tasks: Sequence[str], reward_model: Path | None) -> Evaluated:
    """Raises Failure."""
    check_installed("papers", "sklearn")
    rating = RewardModel(reward_model, folder) if reward_model else None
    cases, missing = _cases(settings, folder, tasks, is_rated=rating is not None)
    results = settings.run(cases, _answer)
    if rating:
        results = [rated(one, rating) if one.case.task in REPLIES else one for one in results]
    report = {
        "protocol": "mathtutorbench",
        "name": settings.named(),
        "model": settings.asked.models.identity(),
        "cases": {
            "put": f"{len(cases)} cases of {len(tasks) - len(missing)} tasks of MathTutorBench in {folder.name}",
            "sha256": digest_of([[case.id, case.text, case.target] for case in cases]),
        },
        "titles": TITLES,
        "figures": _figures(results),
        "missing": missing,
        "paper": {},
        "whose": "",
    }
    shown = [name for name in TITLES if is_measured(report, name)]
    return Evaluated(
        report=report,
        results=results,
        page=_page(report, shown),
        tables=[figures_table(report, shown), *_missing_lines(missing)],
    )


def _cases(
    settings: BenchmarkSettings, folder: Path, tasks: Sequence[str], *, is_rated: bool
) -> tuple[list[BenchmarkCase], dict[str, str]]:
    """Returns the cases, and the tasks that cannot be measured with what they lack."""
    known, cases, missing = configs(folder), list[BenchmarkCase](), dict[str, str]()
    for task in tasks:
        if task not in known:
            missing[task] = f"configs/ has no task {task}"
            continue
        if task in REPLIES and not is_rated:
            missing[task] = "it requires --reward-model"
            continue
        try:
            cases += islice(task_cases(task, known[task], folder), settings.cases)
        except FileNotFoundError as error:
            missing[task] = f"{error.filename or error} is missing"
    if not cases:
        raise Failure(f"{folder}: no task can be measured: {'; '.join(missing.values())}")
    return cases, missing


async def _answer(case: BenchmarkCase, model: Model) -> TaskResult:
    try:
        prompt = Prompt(name=f"mathtutorbench/{case.task}", said=[("user", case.text)])
        call = await ask_once(model, prompt, case=case.id, stop=case.stop)
    except NO_ANSWER as error:
        return TaskResult(case=case, passed=None if case.task in _COMPARED else False, ended=str(error))
    answer = read_answer(case.task, call.raw[0])
    passed = None if case.task in _COMPARED else is_right(answer, case.target)
    return TaskResult(case=case, answer=answer, passed=passed, calls=[call])


def rated(result: TaskResult, rating: RewardModel) -> TaskResult:
    """Returns the result with whether the reply beats the teacher's; a model that gave none loses."""
    reply, case = str(result.answer or ""), result.case
    return replace(result, passed=bool(reply) and rating.score(case.row, reply) > rating.score(case.row, case.target))


def _figures(results: Sequence[TaskResult]) -> dict[str, Any]:
    of = {task: [one for one in results if one.case.task == task] for task in TASKS}
    metrics = {name for one in results if one.passed is not None for name in [one.metric]}
    return {
        "metrics": {
            name: share_of(one.passed for one in results if one.metric == name and one.passed is not None)
            for name in TITLES
            if name in metrics
        },
        "measures": {
            **{name: None for name in TITLES if name not in metrics},
            "socratic_questioning": _mean_bleu(of["socratic_questioning"]),
            "solution_correctness": _f1(of["solution_correctness"]),
        },
        **parse_figures(results),
    }


def _mean_bleu(results: Sequence[TaskResult]) -> float | None:
    """Returns the mean score from 0 to 1 of all questions, as one text, against the gold ones."""
    scores = [sentence_bleu(str(one.answer or ""), one.case.target) for one in results if one.case.target]
    return sum(scores) / len(scores) / 100 if scores else None


def _f1(results: Sequence[TaskResult]) -> float | None:
    """Returns the F1 of solutions that are incorrect; a model that does not answer calls none so."""
    from sklearn.metrics import f1_score

    if not results:
        return None
    return float(f1_score([one.case.target for one in results], [bool(one.answer) for one in results], zero_division=0))


def _missing_lines(missing: Mapping[str, str]) -> Iterator[str]:
    yield from (f"not measured: {TASKS[task]}: {why}" for task, why in missing.items())


def _page(report: Mapping[str, Any], shown: Sequence[str]) -> Iterator[str]:
    yield f"# MathTutorBench with {plain(report['name'])}\n\n{plain(report['cases']['put'])}.\n"
    yield table(["task", "figure, with its 95 % interval", ""], figure_rows(report, shown))
    yield ""
    yield from (f"- {plain(line)}" for line in _missing_lines(report["missing"]))
