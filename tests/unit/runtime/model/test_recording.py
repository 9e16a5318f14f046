"""The same request to the same model is answered from its record; any other is not."""

import json
import resource
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import chain, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused, StreamingModel, StreamListener
from soliloquy.runtime.model.opening import client_for
from soliloquy.runtime.model.recording import FILE, RecordedModel, Recording, recorded_answers
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.retry import CannotServe
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message, Sampling
from soliloquy_services.model.fake import RecordingEngine
from tests.cases import each_case

HOSTED = Endpoint(engine="openai", base_url="http://far/v1", model="large")


def recorded_model(
    model: StreamingModel, recording: Recording, endpoint: Endpoint = HOSTED, weights: Sequence[str] = ("w",)
) -> RecordedModel:
    """`weights` are those that answer one call after the other, the last of them all further ones."""
    told = chain(weights, repeat(weights[-1]))

    async def identify(adapter: str) -> str:
        return next(told)

    return RecordedModel(model, "e", endpoint, identify, recording)


class Numbering:
    """Answers with the number of its calls."""

    asked = 0

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        self.asked += 1
        return Completion(text=str(self.asked), model="large", prompt_tokens=self.asked)


def request(*, text: str = "Why?", seed: int = 1, temperature: float = 0.5, **more: Any) -> GenerateRequest:
    return GenerateRequest(
        messages=[Message(role="user", text=text)], seed=seed, sampling=Sampling(temperature=temperature), **more
    )


async def test_what_was_asked_before_is_not_asked_again_in_whatever_process(tmp_path: Path) -> None:
    model = Numbering()
    recording = Recording(tmp_path / "kept")
    first = await recorded_model(model, recording).generate(request(id="a"))
    recording.close()
    recording = Recording(tmp_path / "kept")
    # Neither its id nor what chose the endpoint changes an answer.
    again = await recorded_model(model, recording).generate(request(id="b", draw_key="another conversation"))
    recording.close()
    assert (first, model.asked) == (again, 1)


@each_case
async def test_another_request_has_an_answer_of_its_own(tmp_path: Path, other: dict[str, Any]) -> None:
    recording = Recording(tmp_path)
    recorded = recorded_model(Numbering(), recording)
    assert (await recorded.generate(request())).text == "1"
    assert (await recorded.generate(request(**other))).text == "2"
    recording.close()


class Talkative(Numbering):
    """Answers in so many tokens, as far as there is room."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        self.asked += 1
        room = request.sampling.max_tokens
        finish = Finish.FINISH_STOP if room >= self._tokens else Finish.FINISH_LENGTH
        return Completion(
            text="word " * min(room, self._tokens), completion_tokens=min(room, self._tokens), finish=finish
        )


@pytest.mark.parametrize(
    ("rooms", "asked"),
    [((100, 200, 50), 1), ((100, 20), 2), ((20, 100, 20), 2), ((20, 20, 30, 100, 400), 3)],
)
async def test_a_finished_answer_stays_valid_with_more_room_and_one_that_was_cut_off_does_not(
    tmp_path: Path, rooms: tuple[int, ...], asked: int
) -> None:
    recording, model = Recording(tmp_path), Talkative(40)
    recorded = recorded_model(model, recording)
    for room in rooms:
        wanted = request()
        wanted.sampling.max_tokens = room
        assert (await recorded.generate(wanted)).completion_tokens == min(room, 40)
    recording.close()
    assert model.asked == asked


async def test_another_model_address_or_weights_have_answers_of_their_own(tmp_path: Path) -> None:
    recording, model = Recording(tmp_path), Numbering()

    async def answered(endpoint: Endpoint, weights: str) -> str:
        client = client_for("e", endpoint)
        identity = f"{await client.identity('')} {weights}"
        await client.close()
        return (await recorded_model(model, recording, endpoint, [identity]).generate(request())).text

    near = replace(HOSTED, base_url="http://near/v1")
    others = [(HOSTED, "old"), (replace(HOSTED, model="small"), "old"), (near, "old"), (HOSTED, "new")]
    for _ in range(2):
        assert [await answered(endpoint, weights) for endpoint, weights in others] == ["1", "2", "3", "4"]
    recording.close()


async def test_an_answer_during_which_the_weights_changed_is_not_kept(tmp_path: Path) -> None:
    recording, model = Recording(tmp_path), Numbering()
    await recorded_model(model, recording, weights=["old", "new"]).generate(request())
    for weights, text in (("old", "2"), ("new", "3")):
        assert (await recorded_model(model, recording, weights=[weights]).generate(request())).text == text
    recording.close()


async def test_while_it_is_unknown_who_answers_nothing_is_taken_or_kept(tmp_path: Path) -> None:
    recording, model = Recording(tmp_path), Numbering()
    for text in ("1", "2"):
        assert (await recorded_model(model, recording, weights=[""]).generate(request())).text == text
    recording.close()


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    class Failing:
        async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
            raise ConnectionError

    recording = Recording(tmp_path)
    with pytest.raises(ConnectionError):
        await recorded_model(Failing(), recording).generate(request())
    assert (await recorded_model(Numbering(), recording).generate(request())).text == "1"
    recording.close()


def test_a_file_that_is_none_of_answers_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"nobody has answered this\n" * 500)
    with pytest.raises(CannotServe, match=r"answers.jsonl.*choose another --record"):
        Recording(tmp_path)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text("utf-8").splitlines()]


async def test_a_line_tells_what_was_asked_and_answered_without_what_only_the_run_needs(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    await recorded_model(Numbering(), recording).generate(
        request(prompt="scaffold/tutoring", id="a", draw_key="b", record={"persona": "shy"})
    )
    recording.close()
    [line] = lines(tmp_path)
    assert line["request"] == {
        "prompt": "scaffold/tutoring",
        "messages": [{"role": "user", "text": "Why?"}],
        "sampling": {"temperature": 0.5},
        "seed": "1",
    }
    assert line["answer"] == {"text": "1", "model": "large", "prompt_tokens": 1}


async def test_what_a_killed_process_wrote_of_a_line_is_dropped_by_the_next(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    await recorded_model(Numbering(), recording).generate(request())
    recording.close()
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole + whole[:40])
    assert len(list(recorded_answers(tmp_path))) == 1
    recording = Recording(tmp_path)
    assert (await recorded_model(Numbering(), recording).generate(request())).text == "1"
    await recorded_model(Numbering(), recording).generate(request(seed=2))
    recording.close()
    assert [line["request"]["seed"] for line in lines(tmp_path)] == ["1", "2"]


def record_many(folder: Path, seeds: Sequence[int]) -> None:
    recording = Recording(folder)
    for seed in seeds:
        recording.keep(f"{seed:032x}", request(text="Why? " * 2_000, seed=seed), Completion(text="So. " * 2_000))
    recording.close()


def test_processes_that_record_at_once_tear_no_line_and_keep_each_answer_once(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, get_context("spawn")) as processes:
        for done in [processes.submit(record_many, tmp_path, range(start, start + 60)) for start in (0, 20, 40)]:
            done.result()
    assert sorted(int(line["request"].get("seed", 0)) for line in lines(tmp_path)) == list(range(100))


def test_a_full_disk_is_one_line_and_leaves_whole_lines(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.keep("0" * 32, request(), Completion(text="So."))
    size = (tmp_path / FILE).stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
    try:
        with pytest.raises(CannotServe, match=r"answers.jsonl cannot be used .*: make room, or"):
            recording.keep("1" * 32, request(seed=2), Completion(text="So."))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / FILE).stat().st_size == size
    recording.close()


async def test_a_recording_answers_its_requests_and_refuses_all_others(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    several = Completion(text="One.", more=[Completion(text="Two.")])
    recording.keep("0" * 32, request(seed=1, more_seeds=[2]), several)
    recording.close()
    engine = RecordingEngine(recorded_answers(tmp_path))
    assert [(await engine.generate(request(seed=seed))).text for seed in (1, 2)] == ["One.", "Two."]
    with pytest.raises(ModelRefused, match="no answer to this request of scaffold/tutoring"):
        await engine.generate(request(seed=3, prompt="scaffold/tutoring"))


def test_a_line_that_holds_no_answer_is_named_before_a_replay(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.keep("0" * 32, request(), Completion(text="So."))
    recording.close()
    with (tmp_path / FILE).open("a", encoding="utf-8") as file:
        file.write('{"key": "of nothing"}\n')
    with pytest.raises(Failure, match=r"answers.jsonl, line 2: no recorded answer .*: remove the line"):
        list(recorded_answers(tmp_path))
