"""Compares the statistics of small datasets with counts made by hand."""

import asyncio
from collections import Counter
from math import log2
from typing import Any

import pytest

from soliloquy.dataset.card import DatasetSummary, card
from soliloquy.dataset.durations import Durations, quantile
from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.agreement import agrees
from soliloquy.recipes.soliloquy.labels_pb2 import StepState, StudentLabels, TutorLabels
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.recipes.verdicts import verdict
from soliloquy.texts.utterances import bigram_entropy, words
from soliloquy.v1.conversation_pb2 import (
    Conversation,
    Ending,
    ErrorStrategy,
    Evaluation,
    Intent,
    ParseOutcome,
    StudentReply,
    TutorReply,
    Verification,
)
from soliloquy.v1.sandbox_pb2 import Execution, Items, Lane, NamedValue, Status, Value
from tests.cases import each_case
from tests.datasets import RUN, accepted_rows, rejected_rows, statistics_of, timing_rows
from tests.unit.dataset.labelled import labelled
from tests.unit.scripted.growing import grown


def conversation() -> Conversation:
    """Three turns: one without a program, one with a program that runs at its second attempt, one cut off."""
    made = Conversation(id="c1", ending=Ending.ENDING_SOLVED, persona="terse", tutor_persona="warm")
    made.problem.topic = "heat"
    made.problem.source = "physics/ice#1"
    opening = made.turns.add(number=1)
    opening.student.CopyFrom(StudentReply(text="how do i begin", intent=Intent.INTENT_OPENING))
    opening.tutor.CopyFrom(
        TutorReply(
            text="Try it, try it, try it!",
            evaluation=Evaluation.EVALUATION_INQUIRY,
            labels=TutorLabels(action=8, state=StepState.STEP_STATE_IN_PROGRESS).SerializeToString(),
        )
    )
    judged = made.turns.add(number=2)
    judged.student.text = "  5 J "
    judged.student.intent = Intent.INTENT_WRONG
    judged.student.labels = StudentLabels(strategy=ErrorStrategy.ERROR_STRATEGY_ARITHMETIC).SerializeToString()
    failed = Execution(status=Status.STATUS_ERROR, error="NameError: name 'm' is not defined")
    ran = Execution(status=Status.STATUS_OK)
    ran.values.append(NamedValue(name="heat", value=Value(real=4.0)))
    ran.values.append(NamedValue(name="is_right", value=Value(boolean=False)))
    for execution in (failed, ran):
        judged.calculation.attempts.add(code="heat = 4.0").execution.CopyFrom(execution)
    judged.tutor.CopyFrom(
        TutorReply(
            text="Not quite.",
            evaluation=Evaluation.EVALUATION_INCORRECT,
            labels=TutorLabels(action=1, state=StepState.STEP_STATE_ALL_FINISHED).SerializeToString(),
        )
    )
    call = judged.calls.add(role="tutor", engine="openai", model="m", prompt_tokens=100, completion_tokens=7)
    call.outcome = ParseOutcome.PARSE_OUTCOME_REPAIRED
    made.turns.add(number=3).student.text = "and now?"
    return made


def tallied(conversations: list[Conversation]) -> dict[str, Any]:
    tally = Tally()
    tally.add(accepted_rows(conversations), accepted=True)
    return tally.as_json()


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    async def all_of_them() -> list[Conversation]:
        return [await grown(ordinal, seed=3) for ordinal in range(12)]

    return asyncio.run(all_of_them())


def test_a_conversation_is_counted_as_by_hand() -> None:
    statistics = statistics_of([conversation()])
    assert (statistics.conversations, statistics.turns, statistics.pairs, statistics.python_turns) == (1, 3, 2, 1)
    assert statistics.endings == {"solved": 1}
    assert statistics.origins == {"physics": 1}
    assert (statistics.personas, statistics.tutors) == ({"terse": 1}, {"warm": 1})
    assert statistics.intents == {"opening": 1, "wrong": 1}
    assert statistics.replies == 1
    assert statistics.labels["student.strategy"] == {"arithmetic": 1}
    assert statistics.labels["tutor.action"] == {"8": 1, "1": 1}
    assert statistics.labels["tutor.state"] == {"in progress": 1, "all finished": 1}
    assert statistics.responses == {("inquiry", "8"): 1, ("incorrect", "1"): 1}
    assert statistics.attempts == {2: 1}
    assert statistics.statuses == {"error": 1, "ok": 1}
    assert statistics.errors == {"NameError": 1}
    assert statistics.verdicts == {("incorrect", "wrong"): 1}
    assert statistics.agreeing == 1
    assert statistics.parse == {"repaired": 1}
    assert statistics.tokens == {("tutor", "prompt"): 100, ("tutor", "completion"): 7}
    assert statistics.models == {("tutor", "openai", "m", ""): 1}


@each_case
def test_every_word_whole_number_and_flag_of_a_recipes_labels_is_counted(
    recipe: str, labels: dict[str, dict[str, int]]
) -> None:
    statistics = statistics_of([labelled(conversation(), recipe)])
    assert {name: counted for name, counted in statistics.labels.items() if counted} == labels


def test_verdicts_are_counted_by_what_supports_them() -> None:
    made = conversation()
    made.turns[0].verification = made.turns[1].verification = Verification.VERIFICATION_PROGRAM
    made.turns[2].verification = Verification.VERIFICATION_NONE
    every = [made, conversation()]
    assert statistics_of(every).verification == {"program": 2, "none": 1}
    assert tallied(every)["verification"] == {"none": 1, "program": 2, "step": 0}


def test_first_tries_mended_turns_and_their_tokens_are_counted_by_who_answered() -> None:
    made = conversation()
    turn = made.turns[0]
    del turn.calls[:]
    for tokens, outcome in ((7, "STRICT"), (8, "REPAIRED")):
        turn.calls.add(
            role="composer",
            model="m",
            prompt="soliloquy/no_python",
            raw=["x"],
            outcome=f"PARSE_OUTCOME_{outcome}",
            prompt_tokens=tokens,
            completion_tokens=1,
        )
    turn.rejected.add(role="composer", rule="steps", prompt="soliloquy/no_python", calls=[0])
    statistics = statistics_of([made])
    mending = statistics.mending
    assert mending.sent_back == {("composer", "steps"): 1}
    assert (mending.mended_turns, mending.spent("sent back"), mending.spent("taken back")) == (1, 8, 0)
    assert mending.spent("stand", prompt="soliloquy/no_python") >= 9
    assert (mending.first["composer", "m"], mending.stood["composer", "m"]) == (1, 0)
    others = {answerer for answerer in mending.first if answerer != ("composer", "m")}
    assert all(mending.stood[one] <= mending.first[one] for one in others)
    text = card(DatasetSummary(manifest={"run": RUN}, accepted=statistics, rejected=Statistics()))
    assert "| composer: steps | 1 | 100 % |" in text
    assert "| composer | m | 1 | 0 % (0 of 1) |" in text
    assert "| tokens a kept conversation | stand | sent back | taken back | not kept |" in text


def test_words_and_entropy_are_those_of_the_paper() -> None:
    statistics = statistics_of([conversation()])
    assert statistics.words_per_utterance("student") == (4 + 2 + 2) / 3
    assert statistics.words_per_utterance("tutor") == (6 + 2) / 2
    # "try it" three times and "it try" twice; one pair alone has no entropy.
    repeated = -(3 / 5 * log2(3 / 5) + 2 / 5 * log2(2 / 5))
    assert statistics.bigram_entropy == pytest.approx(repeated / 2)


def test_uptake_is_over_the_pairs_whose_message_says_something() -> None:
    made = conversation()
    made.turns[0].student.text, made.turns[0].tutor.text = "I doubled the heat", "Why was the heat doubled?"
    statistics = statistics_of([made, made])
    # "doubled" and "heat" are taken up both, of "5" and "j" none.
    assert (statistics.uptakes, statistics.uptake) == (4, 0.5)


def test_problems_are_counted_once_by_id_or_by_question() -> None:
    every = [conversation() for _ in range(4)]
    for one, problem in zip(every, ("a", "a", "", ""), strict=True):
        one.problem.id = problem
    every[2].problem.question, every[3].problem.question = "How hot?", "How cold?"
    statistics = statistics_of(every)
    assert len(statistics.problems) == 3


@pytest.mark.parametrize(("text", "bits"), [("", 0), ("word", 0), ("one two", 0), ("a b c", 1), ("a b a b a", 1)])
def test_an_utterance_has_the_entropy_of_its_own_pairs_of_words(text: str, bits: float) -> None:
    assert bigram_entropy(words(text)) == pytest.approx(bits)


WRONG = [Value(boolean=False), Value(text="incorrect")]


@pytest.mark.parametrize(
    ("values", "stdout"),
    [
        ({"speed": Value(real=3.0), "student_is_wrong": Value(boolean=True)}, ""),
        ({"speed_ok": Value(boolean=True), "unit_ok": Value(boolean=False)}, ""),
        ({"verdict": Value(text="incorrect")}, ""),
        ({"parts_ok": Value(items=Items(items=WRONG))}, ""),
        ({"speed": Value(real=3.0)}, "Speed: 3.0\nFalse"),
        ({"expected_ok": Value(boolean=True)}, "wrong"),
    ],
    ids=["denying name", "several", "text", "items", "printed", "printed beside another value"],
)
def test_figures_and_manifest_read_a_program_as_the_rules_do(values: dict[str, Value], stdout: str) -> None:
    made, failed = conversation(), conversation()
    for one in (made, failed):
        one.run.recipe = "soliloquy"
    turn = next(turn for turn in made.turns if turn.calculation.attempts)
    execution = turn.calculation.attempts[-1].execution
    del execution.values[:]
    execution.values.extend(NamedValue(name=name, value=value) for name, value in values.items())
    execution.stdout = stdout
    del failed.turns[:]
    failed.turns.add(tutor=turn.tutor).calculation.attempts.add().execution.status = Status.STATUS_ERROR
    assert agrees(turn, POLICY["agreeing"])
    found = {("incorrect", "wrong"): 1} if verdict(execution) is False else {}
    assert statistics_of([failed, made]).verdicts == found
    assert tallied([failed, made])["verdicts"] == {"agree": len(found), "contradict": 0}


def test_the_rows_say_what_the_messages_say(conversations: list[Conversation]) -> None:
    statistics = statistics_of(conversations)
    turns = [turn for conversation in conversations for turn in conversation.turns]
    verdicts = [verdict for turn in turns if (verdict := agrees(turn, POLICY["agreeing"])) is not None]
    assert statistics.verdicts.total() == len(verdicts) > 0
    assert statistics.agreeing == sum(verdicts)
    entropies = [bigram_entropy(words(turn.tutor.text)) for turn in turns]
    assert statistics.bigram_entropy == pytest.approx(sum(entropies) / len(turns))
    assert statistics.lengths == Counter(len(conversation.turns) for conversation in conversations)
    calls = [call for turn in turns for call in turn.calls]
    assert statistics.tokens["composer", "prompt"] == sum(c.prompt_tokens for c in calls if c.role == "composer")


def test_batches_of_a_dataset_add_up_to_the_whole(conversations: list[Conversation]) -> None:
    whole, batched = statistics_of(conversations), Statistics()
    for start in range(0, 12, 4):
        batched.add(accepted_rows(conversations).slice(start, 4))
    assert batched.entropy == pytest.approx(whole.entropy)
    batched.entropy = whole.entropy
    assert batched == whole


def test_a_rejected_conversation_is_counted_once_for_each_rule_it_broke() -> None:
    statistics = Statistics()
    statistics.add(rejected_rows([(conversation(), ["steps: turn 1: no", "steps: turn 2: no", "verdict: turn 1: no"])]))
    assert statistics.reasons == {"verdict": 1, "steps": 1}


def test_nothing_comes_to_nothing() -> None:
    statistics = statistics_of([Conversation(id="c1")])
    assert (statistics.conversations, statistics.turns) == (1, 0)
    assert (statistics.bigram_entropy, statistics.words_per_utterance("tutor")) == (0, 0)


def test_times_are_counted_in_bins_and_told_within_six_percent() -> None:
    durations = Durations()
    timed = conversation()
    for lane, attempt in zip((Lane.LANE_FORK, Lane.LANE_FAST), timed.turns[1].calculation.attempts, strict=True):
        attempt.execution.lane = lane
    durations.add(timing_rows([timed] * 11, begun=1_000.25, apart=0.5))
    assert durations.collected == {1_000: 2, 1_001: 2, 1_002: 2, 1_003: 2, 1_004: 2, 1_005: 1}
    assert durations.per_second == pytest.approx(11 / 6)
    assert {lane: took.total() for lane, took in durations.executions.items()} == {"fork": 11, "fast": 11}
    assert quantile(durations.programs, 0.5) == pytest.approx(0.001, rel=0.06)
    assert quantile(durations.waits, 0.99) == pytest.approx(0.002, rel=0.06)
    assert quantile(durations.calls["tutor"], 0.5) == pytest.approx(0.01, rel=0.06)


def test_answers_that_went_back_and_turns_taken_back_are_counted_with_their_tokens() -> None:
    made = conversation()
    turn = made.turns[0]
    del turn.calls[:]
    for tokens in (3, 5, 7):
        turn.calls.add(role="composer", prompt_tokens=10, completion_tokens=tokens)
    turn.rejected.add(role="composer", rule="steps", calls=[0, 1])
    turn.rejected.add(role="composer", rule="length", calls=[1])
    rewind = made.rewinds.add(rule="length")
    rewind.turns.add(number=3).calls.add(role="student", prompt_tokens=100, completion_tokens=1)
    counts = tallied([made, conversation()])
    assert counts["sent_back"] == {"composer: length": 1, "composer: steps": 1}
    assert (counts["mended"], counts["rewinds"]) == ({"composer": 1}, {"length": 1})
    assert counts["mending"] == {"completion": 9, "prompt": 120}


def test_answers_that_were_asked_for_again_are_counted_by_prompt_and_reason() -> None:
    made = conversation()
    for turn in made.turns:
        del turn.calls[:]
    turn = made.turns[0]
    for raw in (["{"], ["{", "[", "{}"]):
        turn.calls.add(role="composer", prompt="soliloquy/no_python", raw=raw)
    turn.rejected.add(role="composer", prompt="soliloquy/no_python", rule="steps", calls=[0])
    made.rewinds.add(rule="length").turns.add(number=3).calls.add(role="student", prompt="soliloquy/student", raw=["?"])
    counts = tallied([made])
    assert counts["answers"] == {"soliloquy/no_python": 4, "soliloquy/student": 1}
    assert counts["asked_again"] == {"soliloquy/no_python: steps": 1, "soliloquy/no_python: unusable": 2}


def test_the_enrichment_that_conversations_share_is_counted_once_as_in_the_manifest() -> None:
    made = [conversation(), conversation()]
    for one in made:
        one.problem.id = "shared"
        one.problem.enrichment.calls.add(role="planner", prompt_tokens=5)
    findings, tally = Findings(), Tally()
    for batch, rejected in ((accepted_rows(made), False), (rejected_rows([(made[0], ["steps"])]), True)):
        findings.add(batch, rejected=rejected)
        tally.add(batch, accepted=not rejected)
    planned = [one.tokens["planner", "prompt"] for one in (findings.accepted, findings.rejected)]
    assert planned == [tally.as_json()["tokens"]["planner"]["prompt"], 0] == [5, 0]
