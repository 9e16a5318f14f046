"""Each answer that was sent back is paired with the one that stands in its place, with its evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.importing import import_rows
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import (
    CodeAttempt,
    Conversation,
    Intent,
    ModelCall,
    ParseOutcome,
    RejectedTry,
    Turn,
)
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution
from tests.cases import each_case
from tests.unit.training.growing import conversations, dataset


def sent_back(conversation: Conversation, turn: int, prompt: str, *, certain: bool = True) -> None:
    """Adds an answer to the prompt that a rule sent back before the one that stands."""
    at, roles = conversation.turns[turn - 1], {"student": "student", "deciding": "tutor", "use_python": "codegen"}
    role = roles.get(prompt.partition("/")[2], "composer")
    call = ModelCall(
        role=role,
        prompt=prompt,
        raw=["no answer", f"a bad answer to {prompt}"],
        outcome=ParseOutcome.PARSE_OUTCOME_REASKED,
    )
    at.calls.append(call)
    at.rejected.append(
        RejectedTry(role=role, prompt=prompt, rule="early_answer", because="it tells 4 m", certain=certain)
    )
    at.rejected[-1].calls.append(len(at.calls) - 1)


def with_failed_program(conversation: Conversation) -> Conversation:
    turn = next(turn for turn in conversation.turns if turn.calculation.attempts)
    ran = turn.calculation.attempts[0]
    failed = CodeAttempt(code="a = b", execution=Execution(status=STATUS_ERROR, error="NameError: b"))
    del turn.calculation.attempts[:]
    turn.calculation.attempts.extend([failed, ran])
    place = next(place for place, call in enumerate(turn.calls) if call.role == "codegen")
    first = ModelCall()
    first.CopyFrom(turn.calls[place])
    first.raw[-1] = "a program that fails"
    calls = [*turn.calls[:place], first, *turn.calls[place:]]
    del turn.calls[:]
    turn.calls.extend(calls)
    return conversation


def copied(ordinal: int) -> Conversation:
    copy = Conversation()
    copy.CopyFrom(conversations(4)[ordinal])
    return copy


def exported(tmp_path: Path, *grown: Conversation, uncertain: bool = False) -> tuple[list[Any], list[Any]]:
    folder = dataset(tmp_path / "data", grown)
    export(Dataset(folder), "preferences", tmp_path / "out", choice=ExportOptions(uncertain=uncertain))
    pairs, labelled = ((tmp_path / "out" / f"{kind}.jsonl").read_text("utf-8") for kind in ("pairs", "labelled"))
    return [json.loads(line) for line in pairs.splitlines()], [json.loads(line) for line in labelled.splitlines()]


@each_case
def test_an_answer_that_was_sent_back_is_paired_with_the_one_in_its_place(
    tmp_path: Path, state: str, prompt: str
) -> None:
    one = copied(0)
    turn = next(turn for turn in one.turns if turn.calculation.attempts)
    standing = next(call.raw[-1] for call in turn.calls if call.prompt == prompt)
    sent_back(one, turn.number, prompt)
    [pair], labelled = exported(tmp_path, one)
    assert pair["chosen"] == [{"role": "assistant", "content": standing}]
    assert pair["rejected"] == [{"role": "assistant", "content": f"a bad answer to {prompt}"}]
    assert [message["role"] for message in pair["prompt"]] == ["system", "user"]
    assert (pair["state"], pair["asked"], pair["turn"]) == (state, prompt, turn.number)
    assert (pair["rule"], pair["evidence"], pair["certain"]) == ("early_answer", "it tells 4 m", True)
    assert [(row["label"], row["completion"]) for row in labelled] == [
        (True, pair["chosen"]),
        (False, pair["rejected"]),
    ]


@pytest.mark.parametrize("same_draw", [True, False])
def test_an_answer_that_was_taken_back_is_paired_with_the_one_in_its_place(tmp_path: Path, same_draw: bool) -> None:
    one = copied(0)
    sent_back(one, 2, "soliloquy/student")
    taken = Turn()
    taken.CopyFrom(one.turns[1])
    taken.ClearField("tutor")
    del taken.calls[:-1]
    taken.rejected[0].calls[:] = [0]
    last = taken.calls.add(role="student", prompt="soliloquy/student", raw=["still bad"])
    last.outcome = ParseOutcome.PARSE_OUTCOME_STRICT
    if not same_draw:
        wrong = taken.student.intent == Intent.INTENT_WRONG
        taken.student.intent = Intent.INTENT_RIGHT if wrong else Intent.INTENT_WRONG
    one.rewinds.add(turns=[taken], rule="early_answer", because="again 4 m", certain=True)
    one.turns[1].ClearField("rejected")
    del one.turns[1].calls[-1]
    standing = next(call.raw[-1] for call in one.turns[1].calls if call.prompt == "soliloquy/student")
    pairs, labelled = exported(tmp_path, one)
    bad = [("a bad answer to soliloquy/student", "it tells 4 m"), ("still bad", "again 4 m")]
    assert [(row["completion"][0]["content"], row["evidence"]) for row in labelled if not row["label"]] == bad
    assert [pair["chosen"][0]["content"] for pair in pairs] == ([standing] * 2 if same_draw else [])


def test_an_answer_that_stands_is_praised_once_for_all_that_were_sent_back(tmp_path: Path) -> None:
    one = copied(0)
    for _ in range(2):
        sent_back(one, 2, "soliloquy/student")
    pairs, labelled = exported(tmp_path, one)
    assert len(pairs) == 2
    assert [row["label"] for row in labelled] == [True, False, False]


def test_a_program_that_failed_is_paired_with_the_one_that_ran(tmp_path: Path) -> None:
    [pair], _ = exported(tmp_path, with_failed_program(copied(0)))
    assert (pair["state"], pair["rule"], pair["evidence"]) == ("program", "runs", "NameError: b")
    assert pair["rejected"][0]["content"] == "a program that fails"


def test_what_a_rule_only_read_is_exported_on_request(tmp_path: Path) -> None:
    one = copied(0)
    sent_back(one, 1, "soliloquy/student", certain=False)
    with pytest.raises(Failure, match="has an answer that a rule certainly found unfit"):
        exported(tmp_path / "certain", one)
    [pair], _ = exported(tmp_path / "uncertain", one, uncertain=True)
    assert pair["certain"] is False


def test_splits_keep_the_pairs_of_a_problem_together(tmp_path: Path) -> None:
    grown = [copied(ordinal) for ordinal in range(4)]
    for one in grown:
        sent_back(one, 1, "soliloquy/student")
    shares = Splits.read("train=0.5,test=0.5")
    counts = export(
        Dataset(dataset(tmp_path / "data", grown)),
        "preferences",
        tmp_path / "out",
        choice=ExportOptions(),
        shares=shares,
    )
    assert counts.written.total() == 4
    for part, written in counts.written.items():
        assert len((tmp_path / "out" / part / "pairs.jsonl").read_text("utf-8").splitlines()) == written


def test_preferences_are_no_conversations_to_import(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="cannot be imported"):
        import_rows(tmp_path, "preferences", tmp_path / "out", [], report=pytest.fail)
