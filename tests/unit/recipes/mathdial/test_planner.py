"""Checks what the planner makes of its answers: a confusion, or the reason why there is none."""

import json
from collections.abc import Sequence

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.mathdial.belief import believed
from soliloquy.recipes.mathdial.confusion import confusion_of, labelled
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ErrorCategory
from soliloquy.recipes.mathdial.planner import enrich
from soliloquy.recipes.mathdial.prompting import student
from soliloquy.recipes.mathdial.worked_solutions import mistakes
from soliloquy.runtime.ask import Ask
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, Problem, Quantity, Step, Turn
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

WRONG = "14 * 2 = 28.\n28 * 3 = 84.\n#### 84"
BELIEF = "I thought that all three bags count."
DESCRIBED = {
    "Confusion": "Multiplies once more.",
    "First Wrong Line": 1,
    "Error Category": "fact",
    "Belief": "I thought one goes on to the end.",
}


class Answering:
    """Two in five samples are wrong, or all are the same; the mistakes asked for are `pupils`."""

    def __init__(self, described: str, *, always: str = "", pupils: Sequence[str] = ()) -> None:
        self._described = described
        self._always = always
        self._pupils = json.dumps({"Pupils": [{"Belief": BELIEF, "Solution": one} for one in pupils]})
        self.asked: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.asked.append(request)
        if request.prompt == "mathdial/describing":
            return Completion(text=self._described, model="fake")
        if request.prompt == "mathdial/mistaking":
            return Completion(text=self._pupils, model="fake")
        answer = Completion()
        for number in range(1 + len(request.more_seeds)):
            one = Completion(text=self._always or (WRONG if number < 2 else "#### 28"), model="fake")
            answer.more.append(one) if number else answer.CopyFrom(one)
        return answer

    @property
    def prompts(self) -> list[str]:
        return [request.prompt.partition("/")[2] for request in self.asked]


def doubled(answer: float = 28) -> Problem:
    step = Step(number=1, expression="b * p", result=Quantity(value=answer))
    step.inputs.add(symbol="b", value=14)
    step.inputs.add(symbol="p", value=2)
    return Problem(question="How many?", steps=[step], answer=Quantity(value=answer), tolerance=0.01)


async def enriched(model: Answering, problem: Problem) -> Enrichment:
    return await enrich(problem, {}, Ask(model=model, role="planner", origin=("test",)))


async def test_where_the_numbers_say_what_is_wrong_the_model_is_not_believed() -> None:
    confusion = confusion_of(await enriched(Answering(json.dumps(DESCRIBED)), doubled()))
    assert (confusion.answer, confusion.samples, confusion.agreeing) == (84, 10, 4)
    assert (confusion.category, confusion.first_wrong_step) == (ErrorCategory.ERROR_CATEGORY_WENT_ON, 2)


async def test_what_a_teacher_says_of_a_mistake_and_what_the_student_thinks_are_two_texts() -> None:
    confusion = confusion_of(await enriched(Answering(json.dumps(DESCRIBED)), doubled(answer=29)))
    assert (confusion.category, confusion.first_wrong_step) == (ErrorCategory.ERROR_CATEGORY_FACT, 1)
    assert (confusion.description, confusion.belief) == (DESCRIBED["Confusion"], DESCRIBED["Belief"])
    problem = doubled(answer=29)
    problem.enrichment.labels = labelled(confusion)
    told = (
        student(Conversation(problem=problem, persona="ideas"), [Turn(number=1)], Belief.BELIEF_HELD).messages[0].text
    )
    assert confusion.belief in told
    assert confusion.description not in told


async def test_a_confusion_that_nobody_can_describe_is_none_and_what_was_sampled_is_kept() -> None:
    made = await enriched(Answering("I cannot say."), doubled())
    assert made.plain_because.startswith("not described: mathdial/describing: unusable after")
    assert (confusion_of(made).solution, confusion_of(made).samples) == ("", 10)
    assert len(made.calls) == 11


async def test_a_model_that_does_not_err_is_asked_for_plausible_mistakes_after_ten_samples() -> None:
    model = Answering(json.dumps(DESCRIBED), always="14 * 2 = 28\n#### 28", pupils=["14 * 2 = 28\n#### 28", WRONG])
    confusion = confusion_of(await enriched(model, doubled(answer=28)))
    assert model.prompts == ["solving", "solving", "mistaking", "describing"]
    # Five samples a request, each request with its own draw from a mixture.
    assert [(request.role, len(request.more_seeds)) for request in model.asked[:2]] == [("sampler", 4)] * 2
    assert len({request.draw_key for request in model.asked}) == 3
    assert (confusion.requested, confusion.samples, confusion.answer, confusion.belief) == (True, 10, 84, BELIEF)


async def test_mistakes_of_which_none_is_wrong_are_asked_for_again_with_the_reason() -> None:
    model = Answering("", always="#### 28", pupils=["14 * 2 = 28\n#### 28", "84"])
    await enriched(model, doubled())
    assert model.prompts.count("mistaking") == 3
    again = model.asked[-1].messages[-1].text
    assert "no solution is of use: solution 1 is right; solution 2 is without a final answer" in again


async def test_where_the_model_gives_no_mistake_one_that_the_problem_knows_is_the_confusion() -> None:
    problem = next(one for one in map(load_bank("arithmetic").draw, range(20)) if len(one.steps) == 2)
    made = await enriched(Answering("", always=f"#### {problem.answer.value:g}"), problem)
    confusion, found = confusion_of(made), believed(_with(problem, made))
    assert confusion.mutated
    assert (confusion.samples, confusion.discarded[0].samples) == (10, 10)
    assert found is not None
    # The wrong program of the step, its value and its reason are those of a mistake that the problem knows.
    known = [(slip.working, slip.value, slip.because) for slip in found.step.slips]
    assert (found.held.working, found.held.value, confusion.belief) in known
    assert f"{found.held.value:g}" in confusion.solution
    # Nobody described it: what the student thinks says enough.
    assert confusion.description == confusion.belief


@pytest.mark.parametrize("bank", ["arithmetic", "fractions", "algebra", "statistics"])
def test_no_known_mistake_is_a_misread_number_or_a_miscalculation(bank: str) -> None:
    known = [one.slip for number in range(60) for one in mistakes(load_bank(bank).problem(1, number))]
    assert known
    assert not [slip.because for slip in known if slip.because.startswith(("I read", "I copied"))]


def _with(problem: Problem, made: Enrichment) -> Problem:
    problem.enrichment.CopyFrom(made)
    return problem
