"""Runs an episode as verifiers does, with a model behind an endpoint."""

import asyncio
import json

import verifiers.v1 as vf
from aiohttp import web
from verifiers.v1.utils.loaders import env_config_type, load_environment

from soliloquy.gym import Gym
from tests.integration.gym.adapters.mirror import PLACE, SEED, Mirror

ID = "soliloquy-gym"


async def main() -> None:
    async with Gym(seed=SEED) as gym:
        mirror = Mirror(gym)
        await mirror.begin()

        async def chat(request: web.Request) -> web.Response:
            text = await mirror.answer((await request.json())["messages"])
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            about = {"id": "1", "object": "chat.completion", "created": 1, "model": "mirror"}
            return web.json_response({**about, "choices": [choice], "usage": usage})

        application = web.Application()
        application.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        _, port = runner.addresses[0][:2]
        env = load_environment(env_config_type(ID).model_validate({"taskset": {"id": ID, "seed": SEED}}))
        client = vf.EvalClientConfig(base_url=f"http://127.0.0.1:{port}/v1", api_key_var="NONE")
        async with env.serving():
            [task] = env.taskset.include(idx=[f"{PLACE}:{PLACE + 1}"])
            episode = await env.run_episode(task, vf.ModelContext(model="mirror", client=client))
        await runner.cleanup()
    [trace] = episode.traces
    rewards = {name: reward.score for name, reward in trace.rewards.items()}
    told = {"ok": episode.ok, "rewards": rewards, "total": trace.reward, "calls": len(trace.calls)}
    print(json.dumps({**told, "evidence": sorted(trace.info["evidence"]), "mirror": [mirror.values, mirror.total]}))


if __name__ == "__main__":
    asyncio.run(main())
