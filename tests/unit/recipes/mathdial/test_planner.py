"""Checks what the planner makes of its answers: a confusion, or the reason why there is none."""

import json

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.mathdial.belief import believed
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import ErrorCategory
from soliloquy.recipes.mathdial.planner import enrich
from soliloquy.runtime.ask import Ask
from soliloquy.v1.conversation_pb2 import Enrichment, Problem, Quantity, Step
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

LONG = "The bags hold the same number, so I put the numbers of the problem together as it tells me to. " * 3
WRONG = f"{LONG}\n14 * 2 = <<14*2=28>>28.\n28 * 3 = <<28*3=84>>84.\n#### 84"
DESCRIBED = {"First Wrong Line": 1, "Error Category": "fact", "Confusion": "Multiplies once more."}


class Answering:
    """Every sample is the same but for the last two, which are right."""

    def __init__(self, described: str, always: str = "") -> None:
        self._described = described
        self._always = always
        self._sampled = 0

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.prompt != "mathdial/solving":
            return Completion(text=self._described, model="fake")
        self._sampled += 1
        text = WRONG if self._sampled <= 48 else "#### 28"
        return Completion(text=self._always or text, model="fake")


async def enriched(described: str, *, answer: float = 28) -> Enrichment:
    step = Step(number=1, expression="b * p", result=Quantity(value=answer))
    step.inputs.add(symbol="b", value=14)
    step.inputs.add(symbol="p", value=2)
    problem = Problem(question="How many?", steps=[step], answer=Quantity(value=answer), tolerance=0.01)
    return await enrich(problem, {}, Ask(model=Answering(described), role="planner", origin=("test",)))


async def test_where_the_numbers_say_what_is_wrong_the_model_is_not_believed() -> None:
    made = await enriched(json.dumps(DESCRIBED))
    confusion = confusion_of(made)
    assert (confusion.answer, confusion.samples, confusion.agreeing) == (84, 50, 48)
    assert (confusion.category, confusion.first_wrong_step) == (ErrorCategory.ERROR_CATEGORY_WENT_ON, 3)
    assert confusion.description == "Multiplies once more."


async def test_where_they_do_not_the_model_says_it() -> None:
    confusion = confusion_of(await enriched(json.dumps(DESCRIBED), answer=29))
    assert (confusion.category, confusion.first_wrong_step) == (ErrorCategory.ERROR_CATEGORY_FACT, 1)


async def test_a_confusion_that_nobody_can_describe_is_none_and_what_was_sampled_is_kept() -> None:
    made = await enriched("I cannot say.")
    assert made.plain_because.startswith("not described: mathdial/describing: unusable after")
    assert (confusion_of(made).solution, confusion_of(made).samples) == ("", 50)
    assert len(made.calls) == 51


async def test_where_no_sample_is_wrong_a_known_mistake_of_the_problem_is_the_confusion() -> None:
    problem = next(one for one in map(load_bank("arithmetic").draw, range(20)) if len(one.steps) == 2)
    right = f"#### {problem.answer.value:g}"
    made = await enrich(problem, {}, Ask(model=Answering("", always=right), role="planner", origin=("test",)))
    confusion, found = confusion_of(made), believed(_with(problem, made))
    assert confusion.mutated
    assert (confusion.samples, confusion.discarded[0].samples) == (50, 50)
    assert found is not None
    # The wrong program of the step, its value and its reason are those of a mistake that the problem knows.
    assert (found.held.working, found.held.value) in [(slip.working, slip.value) for slip in found.step.slips]
    assert confusion.description == found.held.because != ""
    wrong = confusion.solution.splitlines()[confusion.first_wrong_step - 1]
    assert f"{found.held.value:g}" in wrong


async def test_the_sampler_solves_and_the_planner_describes_and_a_mixture_shares_the_samples() -> None:
    class Recording(Answering):
        async def generate(self, request: GenerateRequest) -> Completion:
            asked.append((request.role, request.draw_key))
            return await super().generate(request)

    asked: list[tuple[str, str]] = []
    problem = load_bank("arithmetic").draw(1)
    await enrich(problem, {}, Ask(model=Recording(json.dumps(DESCRIBED)), role="planner", origin=("test",)))
    samplers = [key for role, key in asked if role == "sampler"]
    assert len(set(samplers)) == 5
    assert [role for role, _ in asked if role != "sampler"] == ["planner"]


def _with(problem: Problem, made: Enrichment) -> Problem:
    problem.enrichment.CopyFrom(made)
    return problem
