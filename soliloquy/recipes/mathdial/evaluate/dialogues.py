"""Holds dialogues with students who believe in a wrong solution; every tutor meets the same students."""

from collections.abc import Iterable
from itertools import islice

from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.evaluate.answers import ExpectedAnswer, reaches
from soliloquy.recipes.mathdial.evaluate.judging import MOST, JudgedDialogue, judge
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, Problem
from soliloquy.v1.runs_pb2 import Run
from training.evaluation.cases import NO_ANSWER, DrawnCases, digest_of, run_bounded
from training.evaluation.recipe_loop import RecipeLoop

RECIPE = "mathdial"
# The number of problems to try per dialogue: most have a confusion if the student's model errs at all.
_LOOKED_AT = 20
# The opening turn, and one for each of the student's messages.
_MAX_TURNS = MOST + 1


async def draw_dialogues(
    problems: Iterable[Problem], model: Model, *, seed: int, dialogues: int, at_once: int
) -> DrawnCases[Conversation]:
    """Draws a dialogue about each of the first problems with a numeric answer and a confusion of `model`."""
    run = Run(id=f"{RECIPE}-{seed}", recipe=RECIPE, seed=seed, max_turns=_MAX_TURNS, max_attempts=1, enrich=True)

    async def enriched(problem: Problem) -> Enrichment:
        return await find(RECIPE).planner(problem, Ask(model=model, role="planner", origin=(run.id, problem.id)))

    found: list[Conversation] = []
    passed_over = 0
    asked = islice(problems, _LOOKED_AT * dialogues)
    while len(found) < dialogues and (batch := list(islice(asked, min(at_once, dialogues - len(found))))):
        for problem, enrichment in zip(batch, await run_bounded(batch, enriched, at_once=at_once), strict=True):
            if not confusion_of(enrichment).solution:
                passed_over += 1
                continue
            one = Conversation(id=digest(run.id, problem.id), run=run, ordinal=len(found), problem=problem)
            one.problem.enrichment.labels = enrichment.labels
            found.append(one)
    if len(found) < dialogues:
        raise Failure(
            f"only {len(found)} of {dialogues} dialogues are possible, {passed_over} problems have no confusion: "
            "ask for fewer, or use other --problems"
        )
    content = [[one.id, one.problem.question, confusion_of(one.problem.enrichment).solution] for one in found]
    return DrawnCases(cases=found, passed_over=passed_over, digest=digest_of(content))


async def hold_dialogue(conversation: Conversation, loop: RecipeLoop) -> JudgedDialogue:
    """Holds a dialogue until the student reaches the answer, has answered ten times, or the tutor ends it."""
    wanted = ExpectedAnswer.from_problem(conversation.problem)
    assert wanted is not None
    latest = conversation

    def enough(so_far: Conversation) -> bool:
        nonlocal latest
        latest = so_far
        return len(so_far.turns) > MOST or reaches(so_far.turns[-1].student.text, wanted)

    try:
        return judge(await loop.hold(conversation, enough=enough), wanted)
    except NO_ANSWER as error:
        return judge(latest, wanted, ended=str(error))
