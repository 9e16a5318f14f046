"""Evaluates a model as Inspect does, on the first episodes of a run."""

import json
import sys
from typing import Any

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from soliloquy.gym import SyncGym
from soliloquy.gym.inspect import tutoring
from tests.integration.gym.adapters.mirror import PLACE, SEED, Mirror


def main() -> None:
    with SyncGym(seed=SEED) as gym:
        mirror = Mirror(gym._gym)
        gym.wait(mirror.begin())

        def answer(messages: list[Any], *_: object) -> ModelOutput:
            asked = [{"role": message.role, "content": message.content} for message in messages]
            output = ModelOutput.from_content("mockllm/model", gym.wait(mirror.answer(asked)))
            # Without it Inspect would fetch a tokenizer to count tokens.
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

        [log] = evaluate(
            tutoring(seed=SEED, episodes=PLACE + 1),
            model=get_model("mockllm/model", custom_outputs=answer),
            sample_id=PLACE,
            log_dir=sys.argv[1],
            display="none",
        )
    assert log.samples, log.error
    [sample] = log.samples
    assert sample.scores, sample.error
    values = dict(sample.scores["rewarded"].value)
    total = values.pop("total")
    calls = sum(message.role == "assistant" for message in sample.messages)
    assert log.results
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    told = {"rewards": values, "total": total, "calls": calls, "means": means}
    print(json.dumps({**told, "mirror": [mirror.values, mirror.total]}))


if __name__ == "__main__":
    main()
