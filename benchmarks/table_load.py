"""One collector of `python -m benchmarks tables`, in a process of its own."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import uvloop

from benchmarks.collecting import SAMPLES, FinishedLog, collect_all
from benchmarks.processes import own_resident_mib
from soliloquy.dataset.frames import read_messages
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_services.collector.settings import LiveSettings


def main() -> None:
    store, data, grown, count, first, step = sys.argv[1:]
    settings = LiveSettings(store=store, data=Path(data))
    if store:
        # The last commit, which is not full, waits no longer.
        settings = replace(settings, shard_seconds=0.5)
    log = FinishedLog(conversations=[Conversation.FromString(one) for one in read_messages(Path(grown))])
    samples: list[float] = []

    def sampled() -> Iterator[bytes]:
        number = int(count) // int(step)
        for place, event in enumerate(log.events(int(count), int(first), int(step))):
            if place % max(1, number // SAMPLES) == 0:
                samples.append(own_resident_mib())
            yield event

    # One conversation first: what is loaded and made with it takes no part in the rate.
    further = int(count) + int(first)
    uvloop.run(collect_all(settings, log.events(further + 1, further), judged=False))
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.time()
    uvloop.run(collect_all(settings, sampled(), judged=False))
    middle, end = max(samples[: len(samples) // 2]), max(samples[len(samples) // 2 :])
    print(json.dumps({"began": began, "ended": time.time(), "rss_mib": end, "rss_growth": end / middle}), flush=True)


if __name__ == "__main__":
    main()
