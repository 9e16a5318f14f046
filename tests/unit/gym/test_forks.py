"""A stored conversation is taken up again at any state, and its continuations are judged against each other."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from soliloquy.client import Dataset
from soliloquy.dataset.exports.formats.preferences import tutor_answers
from soliloquy.dataset.rows import messages, rows
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.timings import without_timings
from soliloquy.dataset.verify import findings
from soliloquy.gym import Gym
from soliloquy.gym.fork_files import write_files
from soliloquy.gym.forking import Choice, Fork, Tree, draw_samples, forks_of
from soliloquy.gym.states import STATES, event_at, has_state
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation, HumanLabel
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from tests.unit.gym.playing import all_played, stand_in
from tests.unit.scripted.growing import DESK, finished

HARSH = scripted_model(ModelSettings(noise="harsh"))
MARGIN = 0.05


def stored(conversation: Conversation) -> bytes:
    """Returns a conversation as a dataset keeps it, without what came back and was replaced."""
    kept = Conversation()
    kept.CopyFrom(conversation)
    for turn in kept.turns:
        turn.ClearField("verification")
    [row] = messages(without_timings(rows([kept.SerializeToString()], kept.run.recipe)))
    return row


@pytest.fixture
async def conversations() -> Sequence[Conversation]:
    async with Gym("soliloquy", "physics", 17, noise="harsh", sandbox=DESK) as gym:
        return [episode.conversation for episode in await all_played(gym, range(4), stand_in)]


async def test_each_state_leads_to_the_stored_continuation(conversations: Sequence[Conversation]) -> None:
    states = [
        (conversation, turn.number, state)
        for conversation in conversations
        for turn in conversation.turns
        for state in STATES
        if has_state(turn, state)
    ]
    assert len(states) > 30
    for conversation, turn, state in states:
        again = await finished(event_at(conversation, turn, state), engine=HARSH)
        if not conversation.rewinds:
            assert stored(again) == stored(conversation), f"turn {turn}, {state}"


def test_a_label_of_people_stays_with_the_reply_that_they_judged(conversations: Sequence[Conversation]) -> None:
    labelled = Conversation()
    labelled.CopyFrom(conversations[0])
    said = HumanLabel(scheme="soliloquy", question="verification", value="no")
    labelled.human_labels.append(said)
    for turn in labelled.turns:
        turn.human_labels.append(said)
    left = event_at(labelled, 2, "replying").conversation
    assert not left.human_labels
    assert [len(turn.human_labels) for turn in left.turns] == [1, 0]


def test_a_turn_without_the_state_is_refused(conversations: Sequence[Conversation]) -> None:
    with pytest.raises(Failure, match="has no programming in turn 1: choose another turn or state"):
        event_at(conversations[0], 1, "programming")


class Breaking:
    """Breaks at the requests that hold a word."""

    def __init__(self, model: Model, word: str) -> None:
        self.model = model
        self.word = word

    async def generate(self, request: GenerateRequest) -> Completion:
        if self.word in request.id[:1]:
            raise RuntimeError("the endpoint is gone")
        return await self.model.generate(request)


async def draw(forks: Sequence[Fork], tree: Tree, choice: Choice, model: Model = HARSH) -> tuple[int, list[str]]:
    faults = list[str]()

    def tell(done: int, fault: str) -> None:
        faults.extend([fault] if fault else [])

    return await draw_samples(forks, tree, choice, model, DESK, in_flight=4, tell=tell), faults


def files(place: Path, forks: Sequence[Fork], tree: Tree, choice: Choice) -> dict[str, str]:
    write_files(place, forks, tree, choice, {}, MARGIN)
    return {name.name: name.read_text() for name in place.rglob("*.jsonl")}


async def test_a_tree_that_lost_samples_is_completed_and_comes_out_the_same(
    conversations: Sequence[Conversation], tmp_path: Path
) -> None:
    choice = Choice(turn=None, state="deciding", samples=3, to_end=True)
    forks = list(forks_of(conversations[:2], choice))
    whole, broken = Tree(tmp_path / "whole"), Tree(tmp_path / "broken")
    assert await draw(forks, whole, choice) == (0, [])
    lost, faults = await draw(forks, broken, choice, Breaking(HARSH, "a"))
    assert 0 < lost == len(faults) < len(forks) * 3
    assert "RuntimeError: the endpoint is gone" in faults[0]
    broken.close()
    again = Tree(tmp_path / "broken")
    assert len(again) == len(forks) * 3 - lost
    assert await draw(forks, again, choice) == (0, [])
    assert files(tmp_path / "one", forks, again, choice) == files(tmp_path / "other", forks, whole, choice)
    whole.close()
    again.close()


async def test_the_better_answer_is_chosen_and_the_best_continuations_are_a_dataset(
    conversations: Sequence[Conversation], tmp_path: Path
) -> None:
    choice = Choice(turn=None, state="replying", samples=4, to_end=True)
    forks = list(forks_of(conversations, choice))
    tree = Tree(tmp_path / "tree")
    await draw(forks, tree, choice)
    place = tmp_path / "out"
    counts = write_files(place, forks, tree, choice, {}, MARGIN)
    nodes = [json.loads(line) for line in (place / "tree.jsonl").read_text().splitlines()]
    totals = [[sample["total"] for sample in node["samples"]] for node in nodes]
    assert all(each == sorted(each, reverse=True) for each in totals)
    pairs = [json.loads(line) for line in (place / "preferences" / "pairs.jsonl").read_text().splitlines()]
    assert 0 < len(pairs) == counts["pairs"] <= sum(each[0] - each[-1] >= MARGIN for each in totals)
    for pair in pairs:
        node = next(one for one in nodes if (one["conversation"], one["turn"]) == (pair["conversation"], pair["turn"]))
        best, worst = node["samples"][0], node["samples"][-1]
        assert pair["chosen"][0]["content"] in [one["text"] for one in best["answers"]]
        assert pair["rejected"][0]["content"] in [one["text"] for one in worst["answers"]]
        assert pair["evidence"].startswith(f"{worst['total']:.3f} against {best['total']:.3f}")
    kept = list(Dataset(place / "best"))
    assert len(kept) == counts["best"] == len({one.id for one in kept}) > 0
    assert not list(findings(Storage(place / "best")))
    tree.close()


def test_a_continuation_whose_turn_was_taken_back_has_no_answer_there() -> None:
    conversation = Conversation()
    conversation.run.recipe = "soliloquy"
    conversation.turns.add(number=1)
    assert [*tutor_answers(conversation, 2)] == []
