"""Pairs are blind and in random order, and what people prefer becomes preferences for training."""

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from soliloquy.annotation.formats import text_of
from soliloquy.annotation.pairs import conversation_pairs, preferences, reply_pairs
from soliloquy.annotation.replies import states_of, states_of_tree
from soliloquy.annotation.rows import Annotation
from soliloquy.annotation.scheme import scheme_of
from soliloquy.dataset.exports.formats.preferences import tutor_answers
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from tests.unit.training.growing import conversations

GROWN = conversations(6)


@pytest.fixture(scope="module")
def others() -> Sequence[Conversation]:
    """Returns what another system would have said in the second turn."""
    changed = [deepcopy(one) for one in GROWN]
    for conversation in changed:
        turn = conversation.turns[1]
        turn.tutor.text = "Another reply."
        [call] = [one for one in turn.calls if one.role == "composer"]
        call.raw[-1] = "another answer"
    return changed


def test_a_pair_has_both_systems_in_random_order_that_only_the_file_tells() -> None:
    drawn = conversation_pairs(GROWN, GROWN, count=6, seed=1)
    assert {tuple(task["order"]) for task in drawn} == {("first", "second"), ("second", "first")}
    assert all("order" not in task["shown"] and len(task["shown"]["sides"]) == 2 for task in drawn)
    with pytest.raises(Failure, match="no problem in common"):
        conversation_pairs(GROWN, [], count=1, seed=1)


def test_replies_are_compared_at_the_state_that_both_systems_met(others: Sequence[Conversation]) -> None:
    drawn = reply_pairs(states_of(GROWN), states_of(others), count=9, seed=1)
    assert drawn == reply_pairs(states_of(GROWN), states_of(others), count=9, seed=1)
    assert {task["item"] for task in drawn} == {f"{one.id}#2" for one in GROWN}
    assert {tuple(task["order"]) for task in drawn} == {("first", "second"), ("second", "first")}
    for task in drawn:
        shown = task["shown"]
        assert [one["role"] for one in shown["messages"]] == ["student", "tutor", "student"]
        assert shown["sides"][task["order"].index("second")] == [{"role": "tutor", "text": "Another reply."}]
        assert text_of(shown).index(shown["messages"][-1]["text"]) < text_of(shown).index("Side 1")
    with pytest.raises(Failure, match="no state has two different replies"):
        reply_pairs(states_of(GROWN), states_of(GROWN), count=1, seed=1)


def preferring(task: dict[str, Any], *better: str) -> list[Annotation]:
    return [
        Annotation(item=task["item"], annotator=str(number), scheme="reply_preference", values={"better": one})
        for number, one in enumerate(better)
    ]


def test_the_side_that_most_prefer_is_the_chosen_answer_to_the_prompt_of_both(others: Sequence[Conversation]) -> None:
    drawn = reply_pairs(states_of(GROWN), states_of(others), count=6, seed=1)
    given = []
    for task in drawn[:4]:
        side, worse = (f"side_{task['order'].index(one) + 1}" for one in ("second", "first"))
        given += preferring(task, side, side, worse)
    given += preferring(drawn[4], "same", "same")
    given += preferring(drawn[5], "side_1", "side_2")
    rows = [*preferences(given, drawn, scheme_of("reply_preference"))]
    pairs = [row for kind, row in rows if kind == "pairs"]
    assert len(pairs) == 4
    grown = {one.id: one for one in GROWN}
    for row in pairs:
        answer = [*tutor_answers(grown[row["conversation"]], 2)][-1]
        assert row["chosen"] == [{"role": "assistant", "content": "another answer"}]
        assert row["rejected"] == [{"role": "assistant", "content": answer.text}]
        assert [(one["role"], one["content"]) for one in row["prompt"]] == [*answer.prompt.said]
        assert (row["rule"], row["evidence"]) == ("people", "2 of 3 annotators prefer the other")
    assert [row["label"] for kind, row in rows if kind == "labelled"] == [True, False] * 4
    with pytest.raises(Failure, match="soliloquy has no question with the labels side_1 and side_2"):
        next(preferences([], drawn, scheme_of("soliloquy")))


def test_two_conversations_differ_first_where_their_prompts_are_the_same(others: Sequence[Conversation]) -> None:
    [task] = conversation_pairs(GROWN[:1], others[:1], count=1, seed=1)
    assert (task["preference"]["turn"], task["preference"]["state"]) == (2, "reply")
    assert sorted(task["preference"]["answers"])[0] == "another answer"


def test_two_continuations_of_a_fork_are_a_pair(tmp_path: Path) -> None:
    asked = {"name": "soliloquy/deciding", "messages": [{"role": "user", "content": "Decide."}]}
    samples = [
        {"sample": place, "reply": text, "answers": [{"state": "decision", "prompt": 0, "text": f"raw {text}"}]}
        for place, text in enumerate(("one", "two", "two"))
    ]
    messages = [{"role": "student", "text": "Help!"}]
    node = {"conversation": "c1", "turn": 1, "state": "deciding", "question": "Q?", "messages": messages}
    file = tmp_path / "tree.jsonl"
    file.write_text(json.dumps(node | {"prompts": [asked], "samples": samples}), "utf-8")
    states = states_of_tree(file)
    [task] = reply_pairs(states, states, count=5, seed=2)
    assert {side[0]["text"] for side in task["shown"]["sides"]} == {"one", "two"}
    assert (task["shown"]["question"], task["shown"]["messages"]) == ("Q?", messages)
    assert task["preference"]["conversation"] == "c1"
    assert {*task["preference"]["answers"]} == {"raw one", "raw two"}
