"""Holds dialogues with students who believe in a wrong solution, or takes existing ones.

Every tutor meets the same students. Existing dialogues are by people, or of a generated dataset.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from soliloquy.recipes.answers import PlainTutorMessage
from soliloquy.recipes.mathdial.composer import tutor_move
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.lessons import response_prompt
from soliloquy.recipes.mathdial.moves import OPENING
from soliloquy.recipes.recipe import Recipe, ReplyContext, find
from soliloquy.recipes.templates import fill
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, Problem
from soliloquy.v1.events_pb2 import StudentReplied, TutorReplied
from soliloquy.v1.runs_pb2 import Run
from soliloquy_papers.mathdial.evaluate.answers import ExpectedAnswer, reaches
from soliloquy_papers.mathdial.evaluate.judging import MOST, JudgedDialogue, judge, messages_of
from soliloquy_training.evaluation.cases import NO_ANSWER, DrawnCases, digest_of, run_bounded
from soliloquy_training.evaluation.recipe_loop import RecipeLoop

RECIPE = "mathdial"
# The number of problems to try per dialogue: most have a confusion if the student's model errs at all.
_LOOKED_AT = 20
# The opening turn, and one for each of the student's messages.
_MAX_TURNS = MOST + 1
_OPENS = "Hello! Would you show me how you worked this problem out?"
_ASKS = "And what would you do as the next step?"
_MOVE = ("focus", "seek_strategy")
# Nobody has chosen the next move of a recorded dialogue.
_GIVEN = ReplyContext(move=False)
# The paper's models sample, at a temperature that it does not give.
_SAMPLED = 1.0
_PROMPTED = Path(__file__).with_name("prompted.txt")


async def draw_dialogues(
    problems: Iterable[Problem],
    model: Model,
    changed: Mapping[str, str],
    *,
    seed: int,
    dialogues: int,
    at_once: int,
) -> DrawnCases[Conversation]:
    """Draws a dialogue about each of the first problems with a numeric answer and a confusion of `model`."""
    run = Run(id=f"{RECIPE}-{seed}", recipe=RECIPE, seed=seed, max_turns=_MAX_TURNS, max_attempts=1, enrich=True)

    async def enriched(problem: Problem) -> Enrichment:
        ask = Ask(model=model, role="planner", origin=(run.id, problem.id), problem=problem)
        return await find(RECIPE).planner(problem, changed, ask)

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
        return len(so_far.turns) > MOST or reaches(so_far.turns[-1].student, wanted)

    try:
        return judge(await loop.hold(conversation, enough=enough), wanted)
    except NO_ANSWER as error:
        return judge(latest, wanted, ended=str(error))


async def _ask_for_the_next_step(event: StudentReplied, _ask: Ask) -> Outcome:
    conversation = event.conversation
    turn = conversation.turns[-1]
    has_spoken = turn.HasField("student")
    turn.tutor.CopyFrom(tutor_move(*(_MOVE if has_spoken else OPENING)))
    turn.tutor.text = _ASKS if has_spoken else _OPENS
    return emit(TutorReplied(conversation=conversation))


def next_step() -> Recipe:
    """Returns the recipe with the paper's simplest baseline: a tutor that always asks for the next step."""
    return replace(find(RECIPE), tutor=_ask_for_the_next_step)


async def _reply_as_prompted(event: StudentReplied, ask: Ask) -> Outcome:
    """The first message is fixed, as in the paper."""
    conversation = event.conversation
    turn, problem = conversation.turns[-1], conversation.problem
    turn.tutor.CopyFrom(tutor_move(*(_MOVE if turn.HasField("student") else OPENING)))
    if turn.HasField("student"):
        told = fill(_PROMPTED.read_text("utf-8").strip(), question=problem.question, solution=problem.solution)
        said = [("user" if who == "student" else "assistant", text) for who, text in messages_of(conversation)]
        turn.tutor.text = (
            await ask(Prompt(name="mathdial/prompted", said=[("system", told), *said]), PlainTutorMessage)
        ).text
    else:
        turn.tutor.text = _OPENS
    return emit(TutorReplied(conversation=conversation))


def prompted() -> Recipe:
    """Returns the recipe with the paper's prompted baseline: a tutor with one instruction and no moves or programs."""
    return replace(find(RECIPE), tutor=_reply_as_prompted)


async def _respond(event: StudentReplied, ask: Ask) -> Outcome:
    conversation = event.conversation
    turn = conversation.turns[-1]
    turn.tutor.CopyFrom(tutor_move(*_MOVE))
    prompt = replace(response_prompt(conversation, conversation.turns, _GIVEN), temperature=_SAMPLED)
    turn.tutor.text = (await ask(prompt, PlainTutorMessage)).text
    return emit(TutorReplied(conversation=conversation))


def responding() -> Recipe:
    """Returns the recipe with a tutor that answers the prompt of `layout: replies`, on which the paper's models are
    tuned."""
    return replace(find(RECIPE), tutor=_respond)


def judge_recorded(conversations: Iterable[Conversation], name: str) -> tuple[list[JudgedDialogue], dict[str, Any]]:
    """Judges each dialogue and describes the cases for the report; raises Failure if none can be measured."""
    results: list[JudgedDialogue] = []
    unanswerable = one_sided = 0
    for conversation in require_recipe(conversations, name):
        wanted = ExpectedAnswer.from_problem(conversation.problem)
        if wanted is None:
            unanswerable += 1
        elif len({speaker for speaker, _ in messages_of(conversation)}) < 2:
            one_sided += 1
        else:
            results.append(judge(conversation, wanted))
    if not results:
        raise Failure(
            f"{name} has no dialogue to measure: {unanswerable} are about a problem without a numeric answer, "
            f"in {one_sided} only one side speaks"
        )
    return results, {
        "put": f"The {len(results)} dialogues of `{name}` as they are",
        "dialogues": len(results),
        "references": None,
        # Dialogues about problems without a numeric answer, and dialogues in which fewer than two speak.
        "unanswerable": unanswerable,
        "one_sided": one_sided,
        "sha256": digest_of([[result.conversation.id, *messages_of(result.conversation)] for result in results]),
        "problem_ids": sorted({result.conversation.problem.id for result in results}),
    }


def require_recipe(conversations: Iterable[Conversation], name: str) -> Iterable[Conversation]:
    """Passes conversations of this recipe and imported ones on; raises Failure for any other."""
    for conversation in conversations:
        if conversation.run.recipe not in ("", RECIPE):
            raise Failure(
                f"{name} holds conversations of the recipe {conversation.run.recipe}: use a dataset of {RECIPE}, "
                "or imported dialogues"
            )
        yield conversation
