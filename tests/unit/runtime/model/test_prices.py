"""A price is the one of the settings, else a list price with its date, else unknown; never a silent zero."""

from dataclasses import replace
from datetime import date

import pytest

from soliloquy.runtime.model.costs import account_cost, cost_of, disjoint, total_cost, use_of
from soliloquy.runtime.model.prices import list_price
from soliloquy.runtime.model.settings import Endpoint, Models, Role
from soliloquy.v1.conversation_pb2 import ModelCall

OPENAI = "https://api.openai.com/v1"
CALL = ModelCall(
    prompt_tokens=1000, cached_tokens=600, cache_write_tokens=100, completion_tokens=50, reasoning_tokens=20
)
OWN = Endpoint(
    engine="openai",
    base_url=OPENAI,
    model="gpt-4o-mini",
    prompt_price=2.0,
    completion_price=10.0,
    cached_price=0.5,
    cache_write_price=3.0,
)


def test_cached_tokens_and_those_written_into_a_cache_have_prices_of_their_own() -> None:
    assert disjoint(use_of(CALL)) == {
        **{"prompt": 300, "cached": 600, "cache_write": 100},
        **{"completion": 30, "reasoning": 20},
    }
    assert cost_of(OWN, use_of(CALL)) == pytest.approx((300 * 2 + 600 * 0.5 + 100 * 3 + 50 * 10) / 1e6)
    undiscounted = replace(OWN, cached_price=None, cache_write_price=None)
    assert cost_of(undiscounted, use_of(CALL)) == pytest.approx((1000 * 2 + 50 * 10) / 1e6)


def test_a_hosted_model_has_its_list_price_with_the_day_and_versions_share_it() -> None:
    price = list_price(OPENAI, "gpt-4o-mini-2024-07-18")
    assert price == list_price(OPENAI, "gpt-4o-mini")
    assert price is not None
    assert (price.as_of or date.min) > date(2025, 1, 1)
    assert 0 < price.of_cached < price.prompt < price.completion


def test_a_version_with_a_price_of_its_own_costs_that() -> None:
    first, latest = list_price(OPENAI, "gpt-4o-2024-05-13"), list_price(OPENAI, "gpt-4o-2024-08-06")
    assert latest == list_price(OPENAI, "gpt-4o")
    assert first
    assert (first.prompt, first.of_cached, first.completion) == (5.0, 5.0, 15.0)


def test_requests_in_batches_cost_their_share_of_the_list_price_and_own_prices_are_those_of_batches() -> None:
    alone, in_batches = list_price(OPENAI, "gpt-4o-mini"), list_price(OPENAI, "gpt-4o-mini", batch=True)
    assert alone
    assert in_batches
    assert (in_batches.prompt, in_batches.completion) == (alone.prompt / 2, alone.completion / 2)
    assert in_batches.as_of == alone.as_of
    endpoint = Endpoint(engine="openai", base_url=OPENAI, model="gpt-4o-mini", batch=True)
    assert endpoint.price == in_batches
    assert replace(OWN, batch=True).price == OWN.price


@pytest.mark.parametrize(
    ("base_url", "model"),
    [(OPENAI, "gpt-4o-mini-audio"), ("https://api.openai.com.evil.example/v1", "gpt-4o-mini"), ("http://gpu/v1", "m")],
)
def test_the_price_of_any_other_model_is_unknown(base_url: str, model: str) -> None:
    endpoint = Endpoint(engine="openai", base_url=base_url, model=model)
    assert endpoint.price is None
    assert cost_of(endpoint, use_of(CALL)) is None
    assert cost_of(endpoint, {}) == 0.0


def test_what_the_endpoint_says_that_it_costs_is_what_it_costs() -> None:
    assert cost_of(OWN, use_of(ModelCall(prompt_tokens=10, cost=0.25))) == 0.25


def test_a_sum_leaves_out_what_is_unknown_and_is_unknown_if_all_of_it_is() -> None:
    assert (total_cost([1.0, None]), total_cost([None]), total_cost([])) == (1.0, None, 0)


def test_the_account_of_a_role_that_no_settings_have_has_no_price() -> None:
    role = Role(temperature=0.1, top_p=1.0, max_tokens=9, endpoint="own")
    models = Models(endpoints={"own": OWN}, roles={"tutor": (role,)})
    assert account_cost(models, "tutor at own", {"prompt": 1_000_000}) == 2.0
    assert account_cost(models, "judge", {"prompt": 1_000_000}) is None
