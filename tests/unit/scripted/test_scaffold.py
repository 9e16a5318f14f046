"""Checks many conversations of the recipe scaffold together, and the rules that each one keeps."""

import asyncio
import json
from copy import deepcopy
from functools import cache
from itertools import pairwise

import pytest

from soliloquy.recipes.learner.evidence import strength
from soliloquy.recipes.packages import folder
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scaffold.fit import TRIES_AGAIN, needs_calculation
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState, SubQuestion
from soliloquy.recipes.scaffold.learner import asked_step, stance_of
from soliloquy.recipes.scaffold.memory import current_question, questions, solved, store_solved, sub_question
from soliloquy.recipes.scaffold.reply_rules import count_questions
from soliloquy.recipes.scaffold.states import (
    COMPREHENSION,
    CORRECT,
    END,
    INCORRECT,
    NAMES,
    START,
    STATES,
    drawn_state,
    found_state,
    is_understanding_tested,
    solving,
)
from soliloquy.v1.conversation_pb2 import EVALUATION_INCORRECT, Conversation, Ending, Judge, Resolution
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from tests.unit.scripted.growing import finished
from tests.unit.scripted.scaffolding import ENGINE, scaffolded, told_early

COUNT, SEED = 16, 6
# There a student is to answer first, and only the model can tell that it does not.
OBSTINATE = 48
RECIPE = find("scaffold")


@cache
def grown() -> list[Conversation]:
    async def grow() -> list[Conversation]:
        return [conversation async for conversation in scaffolded(COUNT, seed=SEED)]

    return asyncio.run(grow())


@cache
def conversations() -> list[Conversation]:
    """Returns the accepted conversations."""
    return [one for one in grown() if not RECIPE.faults(one)]


class Obstinate:
    """A student that says the same whatever it is told; the others are as they are."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def generate(self, request: GenerateRequest) -> Completion:
        completion = await ENGINE.generate(request)
        if request.prompt == "scaffold/student":
            completion.text = self._text
        return completion


async def with_an_obstinate_student(text: str) -> Conversation:
    return await anext(scaffolded(1, seed=OBSTINATE, engine=Obstinate(text)))


def test_nearly_all_are_kept() -> None:
    """What was judged blind is not kept: some names of the bank are none that code may use outside a sandbox."""
    broken = [fault for one in grown() for fault in RECIPE.faults(one)]
    assert {fault.partition(":")[0] for fault in broken} <= {"blind", "rejected"}
    assert len(conversations()) >= 0.95 * COUNT, broken


def test_a_misconception_stays_until_the_tutor_speaks_against_it_or_calls_it_wrong_three_times() -> None:
    held_on, gave_up = 0, 0
    for one in conversations():
        for before, turn in pairwise(one.turns):
            held, now = stance_of(before.student).misconception, stance_of(turn.student).misconception
            if held is None or sub_question(before) != sub_question(turn):
                continue
            step = asked_step(one.problem, current_question(one, turn))
            given = held.evidence + strength(before.tutor.text, held, step)
            told = held.told_wrong + (before.tutor.evaluation == EVALUATION_INCORRECT)
            assert (now is None) == (given >= held.evidence_wanted or told >= 3)
            assert now is None or (now.working, now.evidence) == (held.working, given)
            held_on, gave_up = held_on + (now is not None), gave_up + (now is None)
    assert min(held_on, gave_up) >= COUNT / 4


async def test_the_papers_student_is_to_be_had_by_name() -> None:
    """There each state is drawn for itself, and a student who says that it understands is believed."""
    learners = (folder("scaffold") / "prompts" / "learners.toml").read_text("utf-8")
    prompts = {"learners.toml": learners.replace("share = 1.0", "share = -").replace("share = 0.0", "share = 1.0")}
    prompts["learners.toml"] = prompts["learners.toml"].replace("share = -", "share = 0.0")
    grown = [one async for one in scaffolded(30, seed=SEED, prompts=prompts)]
    assert not any(is_understanding_tested(one) for one in grown)
    believed = [turn for one in grown for turn in one.turns if found_state(turn) == COMPREHENSION]
    assert believed
    assert all(solved(turn)[sub_question(turn) - 1] for turn in believed)
    assert {drawn_state(turn) for one in grown for turn in one.turns[8:]} == {CORRECT, COMPREHENSION}


def test_a_conversation_begins_with_the_problem_and_ends_with_its_answer() -> None:
    for one in conversations():
        first, last = one.turns[0], one.turns[-1]
        assert first.student.text == one.problem.question
        assert (found_state(first), found_state(last)) == (START, END)
        assert questions(one)[-1].answer in last.tutor.text
        assert "?" not in last.tutor.text
        assert one.resolution == Resolution.RESOLUTION_SOLVED


def test_only_a_right_answer_solves_a_sub_question() -> None:
    for one in conversations():
        flags = [False] * len(questions(one))
        for turn in one.turns:
            assert sub_question(turn) == flags.index(False) + 1
            flags[sub_question(turn) - 1] = found_state(turn) in solving(one)
            assert solved(turn) == flags


def test_the_tutor_asks_one_question_a_turn_and_tells_no_answer_early() -> None:
    for one in conversations():
        assert all(count_questions(turn.tutor.text) == 1 for turn in one.turns[:-1])
        assert told_early(one) == []


def test_a_program_is_asked_for_only_where_nothing_settled_judges_a_number() -> None:
    judged = 0
    for one in conversations():
        open_one = deepcopy(one)
        open_one.problem.ClearField("plan")
        open_one.problem.solution = "It is known."
        for step in open_one.problem.steps:
            step.expression = ""
        for turn in one.turns:
            if drawn_state(turn) in (CORRECT, INCORRECT) and "=" not in current_question(one, turn).answer:
                assert not turn.HasField("calculation")
                assert not needs_calculation(one, turn)
                judged += needs_calculation(open_one, turn)
    assert judged >= COUNT


def _messages_sent_back(conversation: Conversation) -> int:
    return sum(rejected.role == "student" for turn in conversation.turns for rejected in turn.rejected)


def test_what_does_not_fit_goes_back_with_the_reason_and_is_kept() -> None:
    sent_back = [rejected for one in conversations() for turn in one.turns for rejected in turn.rejected]
    assert {rejected.judge for rejected in sent_back} >= {Judge.JUDGE_RULE, Judge.JUDGE_MODEL}
    assert all(rejected.text and rejected.because for rejected in sent_back)
    one = next(one for one in conversations() if _messages_sent_back(one))
    prompts = [prompt.messages[-1].text for _, prompt in RECIPE.prompts(one) if prompt.name == "scaffold/student"]
    again = [text for text in prompts if "<rejected>" in text]
    assert len(again) == _messages_sent_back(one)
    assert len(prompts) == len(one.turns) - 1 + len(again)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("I see, that makes sense.", COMPREHENSION),
        ("It is 123456789.", INCORRECT),
        ("My dog is hungry.", STATES["irrelevant"]),
    ],
)
async def test_a_student_s_last_try_stands_as_what_it_shows(text: str, state: LearnerState) -> None:
    one = await with_an_obstinate_student(text)
    turn = one.turns[1]
    assert [(tried.text, tried.rule) for tried in turn.rejected] == [(text, "state")] * TRIES_AGAIN
    assert (turn.student.text, drawn_state(turn), found_state(turn)) == (text, state, state)
    told = json.loads(json.dumps(RECIPE.record(one)))["turns"][1]
    assert [tried["because"] for tried in told["rejected"]] == [tried.because for tried in turn.rejected]


async def test_a_turn_whose_messages_show_no_state_is_taken_back_for_another_draw() -> None:
    one = await with_an_obstinate_student("My dog is hungry.")
    rewind = next(rewind for rewind in one.rewinds if rewind.rule == "state")
    [taken] = rewind.turns
    assert ([tried.text for tried in taken.rejected], taken.HasField("tutor")) == (
        ["My dog is hungry."] * (TRIES_AGAIN + 1),
        False,
    )
    assert drawn_state(one.turns[taken.number - 1]) != drawn_state(taken)


async def test_a_problem_without_a_plan_makes_no_conversation() -> None:
    one = deepcopy(conversations()[0])
    del one.turns[:]
    one.problem.enrichment.Clear()
    one.problem.enrichment.plain_because = "no answer: the problem has no number for one"
    ended = await finished(ConversationStarted(conversation=one), engine=ENGINE)
    assert ended.ending == Ending.ENDING_UNFIT
    assert RECIPE.faults(ended) == ["no answer: the problem has no number for one"]


def test_a_record_holds_the_plan_and_what_each_turn_made_of_it() -> None:
    for one in conversations()[:8]:
        shown = json.loads(json.dumps(RECIPE.record(one)))
        assert [SubQuestion(**question) for question in shown["labels"]["plan"]["questions"]] == list(questions(one))
        for said, turn in zip(shown["turns"], one.turns, strict=True):
            assert (said["student"]["text"], said["tutor"]["text"]) == (turn.student.text, turn.tutor.text)
            assert said["tutor"]["thoughts"] == turn.tutor.thoughts
            assert STATES[said["student"]["learner_state"]] == drawn_state(turn)
            assert STATES[said["tutor"]["learner_state"]] == found_state(turn)
            assert (said["labels"]["sub_question"], said["labels"]["solved"]) == (sub_question(turn), solved(turn))
            assert [one["code"] for one in said["soliloquy"]["attempts"]] == [
                attempt.code for attempt in turn.calculation.attempts
            ]


def test_a_tutor_learns_one_sample_a_turn_after_the_plan() -> None:
    for one in conversations()[:8]:
        planned, *lessons = RECIPE.lessons(one)
        assert (planned.prompt.name, planned.turn) == ("scaffold/plan", 0)
        assert [lesson.turn for lesson in lessons] == [turn.number for turn in one.turns]
        for lesson, turn in zip(lessons, one.turns, strict=True):
            thoughts, state, reply = turn.tutor.thoughts, NAMES[found_state(turn)], turn.tutor.text
            said, _, told = lesson.answer.partition("\n[Results Told] ")
            assert said == f"[Analysis and Decision] {thoughts}\n[Learner State] {state.capitalize()}\n[Reply] {reply}"
            assert len(json.loads(told)) == len(turn.tutor.claims)
            memory = lesson.prompt.messages[-1].text
            before = solved(one.turns[turn.number - 2]) if turn.number > 1 else [False] * len(solved(turn))
            numbers = ", ".join(str(number) for number, done in enumerate(before, start=1) if done)
            assert f"Sub-questions solved: {numbers or 'none'}\n" in memory
            assert memory.count("\nLearner state") == 0
            assert memory.count(". Learner state: ") == turn.number - 1
        learned = [told.text for told in RECIPE.dialogue(one) if told.learned]
        assert learned == [lesson.answer.partition("\n[Results Told]")[0] for lesson in lessons]


def test_another_answer_than_the_state_wants_is_a_fault() -> None:
    one = deepcopy(next(one for one in conversations() if any(drawn_state(t) == INCORRECT for t in one.turns)))
    turn = next(turn for turn in one.turns if drawn_state(turn) == INCORRECT)
    turn.student.text = f"It is {current_question(one, turn).answer}."
    turn.student.ClearField("claims_by")
    assert any(
        fault.startswith(("state: turn", "contradiction: turn", "verdict: turn")) for fault in RECIPE.faults(one)
    )


def test_an_answer_told_early_and_a_lost_step_are_faults() -> None:
    one = deepcopy(conversations()[0])
    final = questions(one)[-1].answer
    one.turns[0].tutor.text = f"It will be {final} in the end. How do you begin?"
    first, *others = solved(one.turns[1])
    store_solved(one.turns[1], [not first, *others])
    found = {fault.partition(":")[0] for fault in RECIPE.faults(one)}
    assert {"revealed", "progress"} <= found
