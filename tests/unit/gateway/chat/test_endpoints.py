"""A chat asks the endpoints that its operator allows, and nobody reaches another host through the gateway."""

import pytest

from soliloquy_services.gateway.chat.endpoints import ChosenModel, EndpointRules
from soliloquy_services.gateway.chat.messages import StartChat
from soliloquy_services.gateway.refusals import Code, Refusal
from tests.cases import each_case

LISTED = "https://api.example.com/v1"
HERE = "http://127.0.0.1:11434/v1"


def refused(rules: EndpointRules, base_url: str, name: str = "m") -> Code:
    with pytest.raises(Refusal) as refusal:
        rules.check(ChosenModel(base_url=base_url, name=name))
    return refusal.value.code


@pytest.mark.parametrize("base_url", [HERE, "http://localhost:8000/v1", "https://[::1]:1/v1", "http://127.9.9.9/v1"])
def test_whoever_is_on_this_machine_may_ask_a_model_on_it(base_url: str) -> None:
    EndpointRules(loopback=True).check(ChosenModel(base_url=base_url, name="m"))
    assert refused(EndpointRules(), base_url) is Code.DENIED


@each_case
def test_no_other_host_is_reached(base_url: str) -> None:
    assert refused(EndpointRules(listed=[LISTED], loopback=True), base_url) is Code.DENIED


@each_case
def test_what_is_no_plain_address_is_refused(base_url: str) -> None:
    assert refused(EndpointRules(loopback=True), base_url) is Code.INVALID


def test_a_listed_endpoint_is_allowed_to_the_letter_but_for_a_slash_at_its_end() -> None:
    EndpointRules(listed=[LISTED]).check(ChosenModel(base_url=f"{LISTED}/", name="m"))
    assert refused(EndpointRules(listed=[LISTED]), LISTED, name=" ") is Code.INVALID


def test_a_key_is_never_shown() -> None:
    assert "sk-secret" not in repr(ChosenModel(base_url=LISTED, name="m", key="sk-secret"))
    assert "sk-secret" not in repr(StartChat(recipe="soliloquy", bank="physics", key="sk-secret"))
