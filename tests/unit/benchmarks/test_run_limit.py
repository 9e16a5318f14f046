"""The limit that a run is held against: what its model's answers alone would take."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.call_log import CallLog, LoggedModel, environment
from benchmarks.run_limit import UnknownCall, makespan, read_calls, waiting_times
from benchmarks.usage import Usage, UsageSample
from soliloquy.runtime.model import StreamListener
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


class Echo:
    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        return Completion(text=request.prompt)


@pytest.mark.parametrize(
    ("times", "places", "seconds"),
    [
        ([3, 3, 3, 3], 4, 3),
        ([3, 3, 3, 3], 2, 6),
        ([1, 5, 1, 1, 1], 2, 5),
        # The longest comes last, while places stay empty.
        ([1, 1, 1, 9], 3, 10),
        ([2, 2], 256, 2),
    ],
)
def test_conversations_begin_in_order_as_soon_as_there_is_a_place(
    times: list[float], places: int, seconds: float
) -> None:
    assert makespan(times, places) == seconds


def test_the_same_call_always_takes_the_same_time_and_so_many_take_so_long() -> None:
    observation = CallLog(calls="", latency=((0.8, 0.9), (2.8, 0.1)))
    drawn = [observation.seconds(str(call)) for call in range(10_000)]
    assert drawn == [observation.seconds(str(call)) for call in range(10_000)]
    assert 0.09 < drawn.count(2.8) / len(drawn) < 0.11
    assert set(drawn) == {0.8, 2.8}


async def test_an_observed_model_gives_its_answers_and_writes_every_one_down(tmp_path: Path) -> None:
    CallLog(calls=str(tmp_path / "calls"), latency=((0.01, 1.0),)).to_file(tmp_path / "how")
    model = LoggedModel(Echo(), CallLog.from_file(tmp_path / "how"))
    for number in (1, 2, 1):
        request = GenerateRequest(role="tutor", prompt="soliloquy/deciding", seed=number)
        assert (await model.generate(request)).text == "soliloquy/deciding"
    first, second, again = read_calls(tmp_path / "calls")
    assert (first.id, first.seconds) == (again.id, again.seconds)
    assert first.id != second.id
    assert first.answered_at <= second.answered_at <= again.answered_at


def test_a_process_of_an_observed_run_logs_the_calls_of_its_scripted_model(tmp_path: Path) -> None:
    CallLog(calls=str(tmp_path / "calls")).to_file(tmp_path / "how")
    asks = (
        "from soliloquy.runs.model import ModelSettings, scripted_model;"
        "assert type(scripted_model(ModelSettings())).__name__ == 'LoggedModel'"
    )
    subprocess.run([sys.executable, "-c", asks], env=os.environ | environment(tmp_path / "how"), check=True)


def test_a_conversation_that_holds_a_call_nobody_saw_does_not_count() -> None:
    record: dict[str, Any] = {
        "id": "c1",
        "ordinal": 0,
        "turns": [{"calls": [{"role": "student", "prompt": "soliloquy/student", "raw": ["Hi!"]}]}],
    }
    with pytest.raises(UnknownCall, match="conversation c1 holds a call"):
        waiting_times([record], [], run_seed=7)


def test_cpu_is_counted_between_two_moments_and_by_kind() -> None:
    usage = Usage()
    for at, workers in ((0.0, 1.0), (1.0, 3.0), (2.0, 7.0)):
        usage.samples.append(UsageSample(at=at, cpu={"workers": workers}, rss_mib={}))
    assert usage.cpu_between(1.1, 2.5) == {"workers": 4.0, "commands": 0.0, "sandboxes": 0.0}
