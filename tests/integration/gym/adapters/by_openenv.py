"""Serves the gym as OpenEnv does, and plays an episode through its client."""

import json
import threading
import time

import uvicorn

from soliloquy.gym import SyncGym
from soliloquy.gym.openenv import Answer, TutoringClient, served
from tests.integration.gym.adapters.mirror import PLACE, SEED, Mirror


def main() -> None:
    with SyncGym(seed=SEED) as gym:
        server = uvicorn.Server(uvicorn.Config(served(gym), host="127.0.0.1", port=0, log_level="critical"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        mirror = Mirror(gym._gym)
        gym.wait(mirror.begin())
        with TutoringClient(base_url=f"http://127.0.0.1:{port}").sync() as client:
            result = client.reset(seed=PLACE)
            schema = result.observation.answer_schema
            while not result.done:
                result = client.step(Answer(text=gym.wait(mirror.answer(result.observation.messages))))
            steps = client.state().step_count
            again = client.reset(seed=PLACE).observation.role
        server.should_exit = True
        thread.join()
    told = {"rewards": result.observation.components, "total": result.reward, "calls": steps, "again": again}
    evidence = sorted(result.observation.evidence)
    print(json.dumps({**told, "schema": schema, "evidence": evidence, "mirror": [mirror.values, mirror.total]}))


if __name__ == "__main__":
    main()
