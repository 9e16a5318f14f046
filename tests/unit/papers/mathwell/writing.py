"""The making of one problem, from its commission to its end, with the services' own handlers."""

from collections.abc import Sequence
from functools import cache

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.commission_source import CommissionSource
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Commission, Conversation, Example, Problem
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_papers.mathwell.answers import JudgementWithTopic, WrittenProblem
from soliloquy_papers.mathwell.commissions import commissioned as in_labels
from soliloquy_papers.mathwell.criteria.verdicts import Criterion
from soliloquy_papers.mathwell.prompting import topics
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.executor.handler import JobExecutor
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.growing import DESK, NO_JUDGES, finished

BANK = load_bank("arithmetic")
ENGINE = ScriptedEngine(BANK.draw)
RECIPE = find("mathwell")
QUESTION = "At the penguin house, Ada counts 12 penguins on the rocks and 9 in the water. How many penguins are there?"
FUNCTION = """\
def solution():
    # Count those on the rocks and those in the water together.
    rocks = 12  # penguins on the rocks
    water = 9  # penguins in the water
    penguins = rocks + water
    return penguins"""

_JUDGED = (*Criterion, "topic")
APPROVED = JudgementWithTopic.written(
    **dict.fromkeys(_JUDGED, "y"), **{f"why_{name}": "Nothing is wrong with it." for name in _JUDGED}
)


class Says:
    """A model that always writes the same problem, and has nothing against it."""

    def __init__(self, code: str = FUNCTION, question: str = QUESTION) -> None:
        self.text = WrittenProblem.written(question=question, function=f"```python\n{code}\n```")
        self.judgement = APPROVED
        self.asked: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.asked.append(request)
        return Completion(text=self.text if request.prompt == "mathwell/writing" else self.judgement, model="says")


def commissioned(topic: str = "penguins", *, examples: Sequence[Example] = (), **wanted: object) -> Problem:
    commission = Commission(topic=topic, examples=examples, **wanted)  # type: ignore[arg-type]
    return Problem(id="p1", topic=topic, labels=in_labels(commission))


async def made(
    problem: Problem,
    model: Model = ENGINE,
    sandbox: JobExecutor = DESK,
    *,
    run: str = "run",
    classifiers: str = "",
    judges: Judges = NO_JUDGES,
) -> Conversation:
    of_run = Run(id=run, recipe="mathwell", seed=7, max_turns=1, max_attempts=1, classifiers=classifiers)
    conversation = attempt_at(problem, run=of_run, ordinal=0, attempt=0)
    return await finished(ConversationStarted(conversation=conversation), engine=model, sandbox=sandbox, judges=judges)


@cache
def commissions(**wanted: object) -> CommissionSource:
    return CommissionSource(examples=BANK, topics=topics({}), commissioned=in_labels, **wanted)  # type: ignore[arg-type]
