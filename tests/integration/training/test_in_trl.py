"""TRL's own GRPOTrainer trains on the gym: its tools play the conversation, and its reward is the episode's."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.gym import Episode, Gym, SyncGym
from soliloquy.v1.conversation_pb2 import Conversation
from tests.models import needs_torch
from tests.unit.gym.playing import played
from tests.unit.gym.test_tool_turns import call, reply
from tests.unit.scripted.growing import DESK

pytestmark = [needs_torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def known() -> Episode:
    """Plays the episode of the first problem; its tutor is the stand-in."""

    async def play() -> Episode:
        async with Gym("soliloquy", "physics", 17, sandbox=DESK) as gym:
            return await played(gym.episode(0))

    return asyncio.run(play())


def calls(conversation: Conversation) -> list[dict[str, Any]]:
    """Returns the calls that lead to the same conversation."""
    found = []
    for turn in conversation.turns:
        if turn.HasField("tutor"):
            if wanted := call(conversation, turn.number):
                program = {"code": wanted.code, "result_variables": wanted.result_variables}
                found.append({"name": "python", "arguments": {**program, "description": wanted.description}})
            found.append({"name": "reply", "arguments": {"answer": reply(conversation, turn.number)}})
    return found


def test_a_rollout_of_tool_calls_earns_the_reward_of_its_conversation(
    known: Episode, base: Path, tmp_path: Path
) -> None:
    import trl
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl.chat_template_utils import qwen3_chat_template

    from soliloquy.gym.trl import LEFT, TutoringEnvironment, rows

    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = qwen3_chat_template
    model = AutoModelForCausalLM.from_pretrained(base)
    model.config.max_position_embeddings = 2**20
    said = [f"<tool_call>\n{json.dumps(one)}\n</tool_call>" for one in calls(known.conversation)]
    # The second rollout says something without a call, which ends it.
    scripts = [iter([*said, "Goodbye."]), iter([said[0], "I give up."])]
    seen: list[str] = []

    class Scripted(trl.GRPOTrainer):  # type: ignore[misc]
        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
            seen.extend(tokenizer.batch_decode(prompt_ids))
            playing = scripts if len(prompt_ids) == len(scripts) else scripts[:1]
            return [tokenizer.encode(next(script) + tokenizer.eos_token) for script in playing], None

    shape = {"per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 10**6}
    quiet = {"use_cpu": True, "report_to": [], "disable_tqdm": True, "logging_steps": 1, "save_strategy": "no"}
    with SyncGym("soliloquy", "physics", 17, sandbox=DESK) as gym:
        trainer = Scripted(
            model=model,
            processing_class=tokenizer,
            args=trl.GRPOConfig(str(tmp_path), max_steps=1, **shape, **quiet),
            train_dataset=rows(1),
            environment_factory=lambda: TutoringEnvironment(gym),
        )
        trainer.train()
        whole, left = trainer.environments
        [log] = [one for one in trainer.state.log_history if "reward" in one]
        assert whole.components == {name: part.value for name, part in known.reward.components.items()}
        assert [whole.get_reward(), left.get_reward()] == [known.reward.total, LEFT]
        assert log["reward"] == pytest.approx((known.reward.total + LEFT) / 2)
    assert known.conversation.problem.question in seen[0]
    assert known.conversation.turns[1].student.text in seen[-1]
