"""Asking again with the error shown, at most three times, keeping every word."""

from collections.abc import Iterator

import pytest

from soliloquy.runtime.answers import Answer, PartlyUsable, Unreadable
from soliloquy.runtime.ask import MAX_ASKS, Ask, Prompt, Unusable
from soliloquy.runtime.model import ModelRefused
from soliloquy.v1.conversation_pb2 import ParseOutcome
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest


class Verdict(Answer):
    right: bool


class Saying:
    """A model that answers with the given texts or completions in turn."""

    def __init__(self, *answers: str | Completion) -> None:
        self._answers: Iterator[str | Completion] = iter(answers)
        self.requests: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(request)
        answer = next(self._answers)
        given = answer if isinstance(answer, Completion) else Completion(text=answer)
        given.MergeFrom(Completion(model="saying", prompt_tokens=5, completion_tokens=2))
        return given


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


@pytest.mark.parametrize(("rest", "is_used"), [(True, True), (False, False)])
async def test_what_can_be_used_of_an_answer_is_used_after_the_last_try_if_it_passes_the_check(
    rest: bool, is_used: bool
) -> None:
    def is_right(verdict: Verdict) -> None:
        if not verdict.right:
            raise PartlyUsable("it must be right", Verdict(right=rest))

    model = Saying(*['{"right": false}'] * MAX_ASKS)
    ask = asking(model)
    if is_used:
        assert (await ask(PROMPT, Verdict, is_right)).right
    else:
        with pytest.raises(Unusable, match="it must be right"):
            await ask(PROMPT, Verdict, is_right)
    assert len(model.requests) == MAX_ASKS
    assert ask.calls[0].outcome == (
        ParseOutcome.PARSE_OUTCOME_REASKED if is_used else ParseOutcome.PARSE_OUTCOME_FAILED
    )


async def test_each_ask_samples_with_a_seed_of_its_own_and_a_rerun_with_the_same() -> None:
    runs = [Saying(BAD, GOOD), Saying(BAD, GOOD)]
    for model in runs:
        await asking(model)(PROMPT, Verdict)
    first, again = ([request.seed for request in model.requests] for model in runs)
    assert first == again
    assert len(set(first)) == 2


async def test_thoughts_are_kept_beside_the_words_and_shown_to_nobody() -> None:
    model = Saying(f"<think>secret</think>{BAD}", Completion(text=GOOD, reasoning="hidden", reasoning_tokens=7))
    ask = asking(model)
    await ask(PROMPT, Verdict)
    [call] = ask.calls
    assert (list(call.raw), list(call.reasoning), call.reasoning_tokens) == ([BAD, GOOD], ["secret", "hidden"], 7)
    assert all("secret" not in message.text for message in model.requests[1].messages)


async def test_an_answer_that_was_cut_off_is_asked_for_again_with_more_room_and_without_a_reproach() -> None:
    cut_off = Completion(text="<think>hm", finish=Finish.FINISH_LENGTH)
    model = Saying(cut_off, cut_off, GOOD)
    assert (await asking(model)(PROMPT, Verdict)).right
    assert [request.extra_room for request in model.requests] == [0, 1, 2]
    assert [len(request.messages) for request in model.requests] == [1, 1, 1]


@pytest.mark.parametrize(
    "endless",
    [
        '{"right": "' + "".join(f"{number}. A metre is 100 cm, so multiply by 100. " for number in range(40)),
        '{"right": "' + 4 * "".join(f"Then the {word} is at rest. " for word in "abcdefghijklmnopqrstuvw"),
        '{"right":' + " " * 2000,
    ],
    ids=["a string that counts", "a long passage", "whitespace"],
)
async def test_an_answer_that_repeats_itself_to_the_limit_gets_no_more_room_and_is_told_so(endless: str) -> None:
    model = Saying(Completion(text=endless, finish=Finish.FINISH_LENGTH), GOOD)
    assert (await asking(model)(PROMPT, Verdict)).right
    assert [request.extra_room for request in model.requests] == [0, 0]
    _, beginning, reproach = model.requests[1].messages
    assert "it repeats itself without end" in reproach.text
    # The whole of it would take the room of the next answer, and invite it to go on.
    assert endless.startswith(beginning.text)
    assert len(beginning.text) < len(endless) / 2


async def test_a_long_answer_that_does_not_repeat_itself_gets_more_room() -> None:
    told = "".join(
        f"Step {number}: take {number**3} of the {number**2 % 17} {'abcdefgh'[number % 8] * number}. "
        for number in range(40)
    )
    model = Saying(Completion(text=f'{{"right": "{told}', finish=Finish.FINISH_LENGTH), GOOD)
    assert (await asking(model)(PROMPT, Verdict)).right
    assert [request.extra_room for request in model.requests] == [0, 1]


class Cramped(Saying):
    """A model whose context has room for no more than a first answer."""

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.extra_room:
            raise ModelRefused("maximum context length is 4096 tokens")
        return await super().generate(request)


async def test_an_answer_for_which_the_context_has_no_more_room_ends_as_cut_off() -> None:
    ask = asking(Cramped(Completion(text=GOOD[:5], finish=Finish.FINISH_LENGTH)))
    with pytest.raises(Unusable, match="unusable after 1 asks: it reached the limit of tokens"):
        await ask(PROMPT, Verdict)
    assert ask.calls[0].outcome == ParseOutcome.PARSE_OUTCOME_CUT_OFF


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Completion(text="I'm sorry, but I can't assist with that."), ParseOutcome.PARSE_OUTCOME_REFUSED),
        (Completion(text="No.", finish=Finish.FINISH_REFUSAL), ParseOutcome.PARSE_OUTCOME_REFUSED),
        (Completion(text=GOOD, finish=Finish.FINISH_FILTER), ParseOutcome.PARSE_OUTCOME_FILTERED),
        (Completion(text=GOOD[:5], finish=Finish.FINISH_LENGTH), ParseOutcome.PARSE_OUTCOME_CUT_OFF),
        (Completion(text=" "), ParseOutcome.PARSE_OUTCOME_EMPTY),
        (Completion(text=BAD), ParseOutcome.PARSE_OUTCOME_FAILED),
    ],
)
async def test_a_call_that_fails_says_how(answer: Completion, outcome: ParseOutcome) -> None:
    ask = asking(Saying(answer, answer, answer))
    with pytest.raises(Unusable):
        await ask(PROMPT, Verdict)
    assert ask.calls[0].outcome == outcome
