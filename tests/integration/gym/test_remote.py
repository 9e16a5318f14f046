"""Services play episodes for a policy elsewhere, and lose none where one of their processes is killed."""

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from soliloquy.cli.options import free_address
from soliloquy.gym import Observation, RemoteGym
from tests.e2e.consoles import OPERATOR, site
from tests.e2e.runs import worker_named
from tests.integration.executor.support import needs_runsc

EPISODES = 24
SETTINGS = """
endpoint = "scripted"
endpoints.scripted.engine = "scripted"
endpoints.policy = {{ engine = "ray", address = "{address}" }}
roles.reader.endpoint = "scripted"
roles.tutor.endpoint = "policy"
roles.codegen.endpoint = "policy"
roles.composer.endpoint = "policy"
prompts."scaffold/judging".endpoint = "scripted"
"""


class Evasive:
    """Judges nothing, and fails at its first call."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    async def __call__(self, observation: Observation) -> str:
        self.seen[observation.conversation] += 1
        if sum(self.seen.values()) == 1:
            raise ValueError("not loaded yet")
        await asyncio.sleep(0.02)
        if observation.prompt.endswith("/deciding"):
            return json.dumps({"Use Python": "n"})
        return json.dumps(
            {
                "Thoughts of Tutorbot": "I had rather not say.",
                "Evaluation of Student Response": "g",
                "Action Based on Evaluation": "12",
                "Step Number": "1",
                "Step State": "q",
                "Tutorbot Response": f"Tell me more, please, about thought {sum(self.seen.values())}.",
                "Results Told": [],
            }
        )


@pytest.mark.thorough
@needs_runsc
async def test_a_killed_worker_costs_no_episode_of_a_remote_policy(tmp_path: Path) -> None:
    address, policy = free_address(), Evasive()
    file = tmp_path / "models.toml"
    file.write_text(SETTINGS.format(address=address))
    with site(tmp_path, "--model-settings", str(file)) as at:
        host, _, port = at.address.removeprefix("http://").partition(":")
        gateway, found = f"{host}:{int(port) + 1}", []
        async with RemoteGym(gateway, policy, listen=address, token=OPERATOR) as gym:
            async for conversation, reward in gym.episodes(EPISODES, problems="physics", seed=17, in_flight=12):
                found.append((conversation, reward))
                if len(found) == 3:
                    os.kill(worker_named(at.process.pid, "loop"), signal.SIGKILL)
    assert len({conversation.id for conversation, _ in found}) == EPISODES
    assert all(conversation.ending and reward.components["verdict"].value <= 0 for conversation, reward in found)
    assert {conversation.id for conversation, _ in found} <= set(policy.seen)
