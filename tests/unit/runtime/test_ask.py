"""Asking again with the error shown, at most three times, keeping every word."""

from collections.abc import Iterator

import pytest

from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.ask import MAX_ASKS, Ask, Prompt, Unusable
from soliloquy.v1.conversation_pb2 import ParseOutcome
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


class Verdict(Answer):
    right: bool


class Saying:
    """A model that answers with the given texts in turn."""

    def __init__(self, *texts: str) -> None:
        self._texts: Iterator[str] = iter(texts)
        self.requests: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(request)
        return Completion(text=next(self._texts), model="saying", prompt_tokens=5, completion_tokens=2)


PROMPT = Prompt(name="test/verdict", said=[("user", "Is it right?")])
GOOD, LITERAL, BAD = '{"right": true}', "{'right': True}", "certainly"


def asking(model: Saying) -> Ask:
    return Ask(model=model, role="tutor", origin=(7, "conversation", 1))


@pytest.mark.parametrize(
    ("texts", "outcome"),
    [
        ((GOOD,), ParseOutcome.PARSE_OUTCOME_STRICT),
        ((LITERAL,), ParseOutcome.PARSE_OUTCOME_REPAIRED),
        ((BAD, GOOD), ParseOutcome.PARSE_OUTCOME_REASKED),
        ((BAD, BAD, LITERAL), ParseOutcome.PARSE_OUTCOME_REASKED),
    ],
)
async def test_the_outcome_and_every_raw_text_are_kept(texts: tuple[str, ...], outcome: ParseOutcome) -> None:
    ask = asking(Saying(*texts))
    assert (await ask(PROMPT, Verdict)).right
    [call] = ask.calls
    assert (tuple(call.raw), call.outcome, call.model) == (texts, outcome, "saying")
    assert call.prompt_tokens == 5 * len(texts)
    assert call.seconds > 0


async def test_a_model_that_never_answers_usably_is_asked_three_times() -> None:
    model = Saying(*[BAD] * 10)
    ask = asking(model)
    with pytest.raises(Unusable, match="test/verdict"):
        await ask(PROMPT, Verdict)
    assert len(model.requests) == MAX_ASKS
    assert ask.calls[0].outcome == ParseOutcome.PARSE_OUTCOME_FAILED


async def test_the_error_is_shown_when_asking_again() -> None:
    model = Saying('{"wrong": 1}', GOOD)
    await asking(model)(PROMPT, Verdict)
    first, second = model.requests
    assert len(first.messages) == 1
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    assert "right: Field required" in second.messages[2].text


async def test_an_answer_that_fails_a_check_is_asked_for_again_with_its_reason() -> None:
    def is_right(verdict: Verdict) -> None:
        if not verdict.right:
            raise Unreadable("it must be right")

    model = Saying('{"right": false}', GOOD)
    ask = asking(model)
    assert (await ask(PROMPT, Verdict, is_right)).right
    assert ask.calls[0].outcome == ParseOutcome.PARSE_OUTCOME_REASKED
    assert "it must be right" in model.requests[1].messages[2].text


async def test_each_ask_samples_with_a_seed_of_its_own_and_a_rerun_with_the_same() -> None:
    runs = [Saying(BAD, GOOD), Saying(BAD, GOOD)]
    for model in runs:
        await asking(model)(PROMPT, Verdict)
    first, again = ([request.seed for request in model.requests] for model in runs)
    assert first == again
    assert len(set(first)) == 2
