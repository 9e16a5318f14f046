"""Our protocols as tasks of Inspect: its model is the tutor, its scores are the figures of `soliloquy evaluate`."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from soliloquy_papers.inspect_tasks.protocol import Protocol
from soliloquy_training.evaluation.cases import share_of_scores

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_ROW, _SCORES = "row", "scores"


@task
def soliloquy(questions: int = 25, problems: str = "physics", seed: int = 17) -> Task:
    """Whether a tutor verifies numbers: the four metrics of Code Soliloquies."""
    from soliloquy_papers.soliloquy.evaluate.evaluation import evaluate
    from soliloquy_papers.soliloquy.evaluate.judging import METRICS

    return _task(lambda settings: evaluate(settings, questions), METRICS, problems, seed)


@task
def mathdial(dialogues: int = 100, problems: str = "arithmetic", seed: int = 17) -> Task:
    """Whether students who believe in a wrong solution find the right one, untold: MathDial's protocol."""
    from soliloquy_papers.mathdial.evaluate import MODEL
    from soliloquy_papers.mathdial.evaluate.evaluation import MathDialEvaluation
    from soliloquy_papers.mathdial.evaluate.figures import METRICS

    def evaluate(settings: EvaluationSettings) -> Evaluated:
        return MathDialEvaluation(
            settings=settings,
            tutored_by=MODEL,
            dialogues=dialogues,
            student="scripted",
            references=None,
            bertscore=None,
        ).run()

    return _task(evaluate, METRICS, problems, seed)


@task
def scaffold(
    dialogues: int = 300, segments: int = 210, tries: int = 8, problems: str = "arithmetic", seed: int = 17
) -> Task:
    """A tutor in the dimensions of ScaffoldEval that a rule decides."""
    from soliloquy_papers.scaffold.evaluate.dimensions import DIMENSIONS
    from soliloquy_papers.scaffold.evaluate.evaluation import ScaffoldEvaluation

    def evaluate(settings: EvaluationSettings) -> Evaluated:
        return ScaffoldEvaluation(
            settings=settings,
            tutor="planned",
            dialogues=dialogues,
            segments=segments,
            tries=tries,
            judge=None,
            student=None,
        ).run()

    return _task(evaluate, DIMENSIONS, problems, seed)


def _task(
    evaluate: Callable[[EvaluationSettings], Evaluated], metrics: Iterable[str], problems: str, seed: int
) -> Task:
    protocol = Protocol(evaluate, problems=problems, seed=seed)
    samples = [Sample(id=name, input=_question(case)) for name, case in protocol.cases.items()]
    return Task(dataset=samples, solver=_tutor(protocol), scorer=[_score(name) for name in metrics])


def _question(case: Any) -> str:
    return str(getattr(case, "conversation", case).problem.question)


@solver
def _tutor(protocol: Protocol) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async def answer(request: GenerateRequest) -> Completion:
            state.messages = [_MESSAGES[said.role](content=said.text) for said in request.messages]
            state.output = await get_model().generate(state.messages, config=_config(request))
            state.messages.append(state.output.message)
            return _completion(state)

        state.metadata[_ROW] = await protocol.solve(str(state.sample_id), answer)
        return state

    return solve


def _config(request: GenerateRequest) -> GenerateConfig:
    sampling = request.sampling
    return GenerateConfig(
        temperature=sampling.temperature,
        top_p=sampling.top_p or None,
        max_tokens=sampling.max_tokens or None,
        seed=request.seed % 2**31,
    )


def _completion(state: TaskState) -> Completion:
    output, used = state.output, state.output.usage
    return Completion(
        text=output.completion,
        model=output.model,
        finish=Finish.FINISH_LENGTH if output.stop_reason in ("max_tokens", "model_length") else Finish.FINISH_STOP,
        prompt_tokens=used.input_tokens if used else 0,
        completion_tokens=used.output_tokens if used else 0,
    )


@metric
def share() -> Metric:
    """The share over all scores of all cases, with its 95 % Wilson interval."""

    def of(scores: Sequence[SampleScore]) -> Mapping[str, float]:
        found = share_of_scores([part for one in scores for part in (one.score.metadata or {})[_SCORES]])
        return {name: math.nan if found[name] is None else found[name] for name in ("share", "low", "high")}

    return of


def _score(name: str) -> Scorer:
    @scorer(metrics=[share()], name=name)
    def scored() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            row = state.metadata[_ROW]
            parts = _parts(row, name)
            value = sum(parts) / len(parts) if parts else math.nan
            return Score(value=value, metadata={_SCORES: parts}, answer=str(row.get("reply", "")))

        return score

    return scored()


def _parts(row: Mapping[str, Any], name: str) -> list[float]:
    """Returns the scores of a case by one metric; none if the metric does not apply to it."""
    if _SCORES in row:
        return [one["score"] for one in row[_SCORES] if one["dimension"] == name and one["score"] is not None]
    return [float(row["passed"][name])] if name in row["passed"] else []
