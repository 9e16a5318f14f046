"""Labels a tutor's responses in the dimensions of MRBench, and says how often each has the desired label."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.dataset.tables import plain, table
from soliloquy.runs.model import chosen_models
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import read_json
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import ModelCall
from soliloquy_papers.tutor_benchmarks.asking import BenchmarkSettings, ask_once
from soliloquy_papers.tutor_benchmarks.labels import DIMENSIONS, TEMPLATES, judge_response, label_of
from soliloquy_training.evaluation.cases import NO_ANSWER, digest_of, parse_figures, share_of
from soliloquy_training.evaluation.report import figure_rows, is_measured

_MOST_BYTES = 256 * 1024**2
_AGREEMENT, _F1 = "agreement_", "f1_"
TITLES = {
    **{name: one.title for name, one in DIMENSIONS.items()},
    **{_AGREEMENT + name: f"judge and people agree: {one.title}" for name, one in DIMENSIONS.items()},
    **{_F1 + name: f"the judge's macro F1: {one.title}" for name, one in DIMENSIONS.items()},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TutoredCase:
    id: str
    conversation: str
    solution: str
    # Recorded; empty if a model is to respond.
    response: str = ""
    people: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledResponse:
    case: TutoredCase
    response: str
    # By the judge; by people if there is none. A dimension that nobody labelled is left out.
    labels: Mapping[str, str]
    ended: str = ""
    calls: Sequence[ModelCall] = ()

    @property
    def passed(self) -> Mapping[str, bool]:
        return {name: label == DIMENSIONS[name].desired for name, label in self.labels.items()}

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case.id,
            "passed": dict(self.passed),
            "student": self.case.conversation,
            "reply": self.response,
            "labels": dict(self.labels),
            "people": dict(self.case.people),
            "ended": self.ended,
        }


def evaluate(settings: BenchmarkSettings, file: Path, recorded: str | None, judge: Path | None) -> Evaluated:
    """Raises Failure."""
    check_installed("papers", "sklearn")
    cases = [*islice(read_cases(file, recorded), settings.cases)]
    judged_by = chosen_models(judge) if judge else None
    results = settings.run(cases, _respond)
    if judged_by:
        results = settings.run(results, _judge, models=judged_by)
    report = {
        "protocol": "mrbench",
        "name": settings.named(recorded or ""),
        "model": {"model": recorded} if recorded else settings.asked.models.identity(),
        "judge": judged_by.identity() if judged_by else "people",
        "cases": {
            "put": f"{len(cases)} conversations of {file.name}",
            "sha256": digest_of([[case.id, case.conversation] for case in cases]),
        },
        "prompts_sha256": TEMPLATES.fingerprints({}),
        "titles": TITLES,
        "figures": _figures(results, by_people=judged_by is None),
        "paper": {},
        "whose": "",
    }
    shown = [name for name in TITLES if is_measured(report, name)]
    return Evaluated(report=report, results=results, page=_page(report, shown), tables=[figures_table(report, shown)])


def read_cases(file: Path, recorded: str | None) -> Iterator[TutoredCase]:
    """Yields the conversations; with a recorded tutor, those that it responds to. Raises Failure."""
    try:
        rows = [{key.casefold(): value for key, value in row.items()} for row in read_json(file, _MOST_BYTES)]
        tutors = {name: None for row in rows for name in row.get("anno_llm_responses", {})}
        if recorded and recorded not in tutors:
            raise Failure(f"{file} has no responses of {recorded!r}: use {', '.join(tutors)}")
        for row in rows:
            said = row.get("anno_llm_responses", {}).get(recorded)
            if recorded and not said:
                continue
            yield TutoredCase(
                id=str(row["conversation_id"]),
                conversation=str(row["conversation_history"]).strip(),
                solution=str(row.get("ground_truth_solution", "")),
                response=str(said["response"]) if said else "",
                people=_of_people(said.get("annotation", {})) if said else {},
            )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{file} is no file of MRBench ({one_line(error)})") from error


def _of_people(annotation: Mapping[str, str]) -> dict[str, str]:
    found = {name: label_of(annotation.get(one.field, ""), one.labels) for name, one in DIMENSIONS.items()}
    return {name: label for name, label in found.items() if label}


async def _respond(case: TutoredCase, model: Model) -> LabelledResponse:
    if case.response:
        return LabelledResponse(case=case, response=case.response, labels=case.people)
    prompt = TEMPLATES.own.prompt("responding", conversation=case.conversation, solution=case.solution)
    try:
        call = await ask_once(model, prompt, case=case.id)
    except NO_ANSWER as error:
        # No response has no desired label.
        return LabelledResponse(case=case, response="", labels=dict.fromkeys(DIMENSIONS, ""), ended=str(error))
    return LabelledResponse(case=case, response=call.raw[0], labels={}, calls=[call])


async def _judge(result: LabelledResponse, judge: Model) -> LabelledResponse:
    if result.ended:
        return result
    labels = await judge_response(judge, result.case.conversation, result.case.solution, result.response)
    return replace(result, labels=labels)


def _figures(results: Sequence[LabelledResponse], *, by_people: bool) -> dict[str, Any]:
    metrics = {name: share_of(one.passed[name] for one in results if name in one.passed) for name in DIMENSIONS}
    measures: dict[str, float | None] = dict.fromkeys(TITLES.keys() - metrics.keys())
    for name in () if by_people else DIMENSIONS:
        both = [
            (people[name], labels[name])
            for people, labels in ((one.case.people, one.labels) for one in results)
            if name in people and name in labels
        ]
        if both:
            metrics[_AGREEMENT + name] = share_of(theirs == own for theirs, own in both)
            measures[_F1 + name] = _macro_f1(both)
    return {"metrics": metrics, "measures": measures, **parse_figures(results)}


def _macro_f1(labels: Sequence[tuple[str, str]]) -> float:
    from sklearn.metrics import f1_score

    people, judge = zip(*labels, strict=True)
    return float(f1_score(people, judge, average="macro", zero_division=0))


def _page(report: Mapping[str, Any], shown: Sequence[str]) -> Iterator[str]:
    yield f"# MRBench with {plain(report['name'])}\n\n{plain(report['cases']['put'])}.\n"
    yield table(["dimension", "share with the desired label, with its 95 % interval", ""], figure_rows(report, shown))
