"""The same request to the same model is answered from the disk; any other is not."""

from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.model import StreamingModel, StreamListener
from soliloquy.runtime.model.cache import FILE, AnswerCache, CachedModel
from soliloquy.runtime.model.opening import client_for
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.retry import CannotServe
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message, Sampling
from tests.cases import each_case

HOSTED = Endpoint(engine="openai", base_url="http://far/v1", model="large")


def cached_model(
    model: StreamingModel, cache: AnswerCache, endpoint: Endpoint = HOSTED, weights: Sequence[str] = ("w",)
) -> CachedModel:
    """`weights` are those that answer one call after the other, the last of them all further ones."""
    told = chain(weights, repeat(weights[-1]))

    async def identify(adapter: str) -> str:
        return next(told)

    return CachedModel(model, "e", endpoint, identify, cache)


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
    cache = AnswerCache(tmp_path / "cache")
    first = await cached_model(model, cache).generate(request(id="a"))
    cache.close()
    cache = AnswerCache(tmp_path / "cache")
    # Neither its id nor what chose the endpoint changes an answer.
    again = await cached_model(model, cache).generate(request(id="b", draw_key="another conversation"))
    cache.close()
    assert (first, model.asked) == (again, 1)


@each_case
async def test_another_request_has_an_answer_of_its_own(tmp_path: Path, other: dict[str, Any]) -> None:
    cache = AnswerCache(tmp_path)
    cached = cached_model(Numbering(), cache)
    assert (await cached.generate(request())).text == "1"
    assert (await cached.generate(request(**other))).text == "2"
    cache.close()


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
    cache, model = AnswerCache(tmp_path), Talkative(40)
    cached = cached_model(model, cache)
    for room in rooms:
        wanted = request()
        wanted.sampling.max_tokens = room
        assert (await cached.generate(wanted)).completion_tokens == min(room, 40)
    cache.close()
    assert model.asked == asked


async def test_another_model_has_answers_of_its_own(tmp_path: Path) -> None:
    cache, model = AnswerCache(tmp_path), Numbering()
    small = Endpoint(engine="openai", base_url="http://far/v1", model="small")
    for endpoint, text in ((HOSTED, "1"), (small, "2"), (HOSTED, "1")):
        assert (await cached_model(model, cache, endpoint).generate(request())).text == text
    cache.close()


async def test_a_model_at_another_address_has_answers_of_its_own(tmp_path: Path) -> None:
    cache, model = AnswerCache(tmp_path), Numbering()
    for url, text in (("http://far/v1", "1"), ("http://near/v1", "2"), ("http://far/v1", "1")):
        endpoint = Endpoint(engine="openai", base_url=url, model="large")
        client = client_for("e", endpoint)
        cached = CachedModel(model, "e", endpoint, client.identity, cache)
        assert (await cached.generate(request())).text == text
        await client.close()
    cache.close()


async def test_other_weights_of_the_same_name_have_answers_of_their_own(tmp_path: Path) -> None:
    cache, model = AnswerCache(tmp_path), Numbering()
    for weights, text in (("old", "1"), ("new", "2"), ("old", "1")):
        assert (await cached_model(model, cache, weights=[weights]).generate(request())).text == text
    cache.close()


async def test_an_answer_during_which_the_weights_changed_is_not_kept(tmp_path: Path) -> None:
    cache, model = AnswerCache(tmp_path), Numbering()
    await cached_model(model, cache, weights=["old", "new"]).generate(request())
    for weights, text in (("old", "2"), ("new", "3")):
        assert (await cached_model(model, cache, weights=[weights]).generate(request())).text == text
    cache.close()


async def test_while_it_is_unknown_who_answers_nothing_is_taken_or_kept(tmp_path: Path) -> None:
    cache, model = AnswerCache(tmp_path), Numbering()
    for text in ("1", "2"):
        assert (await cached_model(model, cache, weights=[""]).generate(request())).text == text
    cache.close()


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    class Failing:
        async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
            raise ConnectionError

    cache = AnswerCache(tmp_path)
    with pytest.raises(ConnectionError):
        await cached_model(Failing(), cache).generate(request())
    assert (await cached_model(Numbering(), cache).generate(request())).text == "1"
    cache.close()


def test_a_file_that_is_none_of_answers_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database" * 500)
    with pytest.raises(CannotServe, match=r"answers.sqlite.*choose another --model-cache"):
        AnswerCache(tmp_path)
