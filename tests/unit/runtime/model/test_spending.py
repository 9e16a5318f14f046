"""Every request of a run is counted once, whatever becomes of its process, and none is sent beyond a budget."""

import asyncio
from pathlib import Path

import pytest

from soliloquy.runtime.model.faults import Failing, InvalidAnswer, Throttled, TimedOut
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.model.spending import LOST, Budget, BudgetUsed, Spending, summed
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message, Sampling

HOSTED = Endpoint(engine="openai", base_url="http://far/v1", model="large", prompt_price=1.0, completion_price=10.0)
ASKED = GenerateRequest(role="tutor", messages=[Message(text="x" * 400)], sampling=Sampling(max_tokens=100))
ANSWER = Completion(prompt_tokens=100, cached_tokens=60, completion_tokens=20, reasoning_tokens=5)
DOLLARS = (100 + 200) / 1e6


@pytest.fixture
def spending(tmp_path: Path) -> Spending:
    return Spending(tmp_path / "spending.sqlite")


def ask(spending: Spending, answer: Completion = ANSWER, endpoint: Endpoint = HOSTED) -> None:
    with spending.request("hosted", endpoint, ASKED) as bill:
        bill(answer)


def test_an_answer_is_counted_by_endpoint_role_model_and_outcome(spending: Spending) -> None:
    ask(spending)
    ask(spending)
    ask(spending, Completion(prompt_tokens=7, finish=Finish.FINISH_REFUSAL))
    answered, refused = spending.accounts()
    assert {name: answered[name] for name in ("endpoint", "role", "model", "outcome", "requests")} == {
        **{"endpoint": "hosted", "role": "tutor", "model": "large"},
        **{"outcome": "answered", "requests": 2},
    }
    assert [answered[kind] for kind in ("prompt", "cached", "completion", "reasoning")] == [200, 120, 40, 10]
    assert answered["dollars"] == pytest.approx(2 * DOLLARS)
    assert (refused["outcome"], refused["prompt"], refused["requests"]) == ("refused", 7, 1)


def test_samples_are_counted_together_and_a_cost_that_the_endpoint_tells_is_the_cost(spending: Spending) -> None:
    several = Completion(prompt_tokens=100, completion_tokens=20, cost=0.5)
    several.more.add(completion_tokens=30, cost=0.25)
    ask(spending, several)
    [row] = spending.accounts()
    assert (row["requests"], row["prompt"], row["completion"], row["dollars"]) == (1, 100, 50, 0.75)


def test_tokens_without_a_known_price_are_said_to_be_so(spending: Spending) -> None:
    ask(spending, endpoint=Endpoint(engine="openai", base_url="http://far/v1", model="large"))
    assert (spending.spent.dollars, spending.spent.unpriced, spending.spent.tokens) == (0.0, 120, 120)


@pytest.mark.parametrize("fault", [Throttled("429"), Failing("500")])
def test_a_request_that_the_endpoint_turned_down_costs_nothing(spending: Spending, fault: Exception) -> None:
    with pytest.raises(type(fault)), spending.request("hosted", HOSTED, ASKED):
        raise fault
    assert (spending.accounts(), spending.spent.sent) == ([], 0)


@pytest.mark.parametrize("fault", [TimedOut("late"), InvalidAnswer("half"), asyncio.CancelledError(), TimeoutError()])
def test_an_answer_that_got_lost_stands_apart_with_the_most_that_it_may_have_cost(
    spending: Spending, fault: BaseException
) -> None:
    with pytest.raises(type(fault)), spending.request("hosted", HOSTED, ASKED):
        raise fault
    [row] = spending.accounts()
    assert (row["outcome"], row["requests"], row["prompt"]) == (LOST, 1, 200 + 100)
    assert (spending.spent.dollars, spending.spent.requests, spending.spent.lost) == (0.0, 0, 1)
    assert summed([row])["lost"] == {"requests": 1, "tokens": 300, "dollars": pytest.approx((200 + 1000) / 1e6)}


def test_what_an_ended_process_had_sent_is_lost_once(spending: Spending) -> None:
    ask(spending)
    waiting = spending.request("hosted", HOSTED, ASKED)
    waiting.__enter__()
    assert spending.spent.sent == 1
    for _ in range(2):
        spending.give_up()
        assert (spending.spent.sent, spending.spent.lost, spending.spent.requests) == (0, 1, 1)


def test_nothing_is_sent_once_a_budget_is_used_up_and_a_higher_one_goes_on(spending: Spending) -> None:
    spending.limit(Budget(dollars=2 * DOLLARS))
    ask(spending)
    ask(spending)
    with pytest.raises(BudgetUsed, match=r"the budget of 0\.0006 USD is used up"):
        ask(spending)
    assert (spending.spent.requests, spending.spent.sent) == (2, 0)
    spending.limit(Budget(tokens=241))
    ask(spending)
    with pytest.raises(BudgetUsed, match="the budget of 241 tokens is used up"):
        ask(spending)
    spending.limit(Budget())
    ask(spending)


def test_a_run_that_is_extended_goes_on_with_its_accounts(spending: Spending, tmp_path: Path) -> None:
    ask(spending)
    longer = Spending(tmp_path / "longer.sqlite")
    for _ in range(2):
        longer.restore(spending.accounts())
    assert longer.accounts() == spending.accounts()
