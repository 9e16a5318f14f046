"""What a run takes: figures of one file, multiplied, in the command and in the guide alike."""

import json

import pytest
from click.testing import CliRunner, Result

from deploy import sizing_table
from soliloquy.cli.main import commands
from soliloquy.runs.sizing import CONVERSATION, GPUS, OnGpu, Sizing
from tests.cases import each_case


def size(*words: str) -> Result:
    return CliRunner().invoke(commands, ["size", *words])


def test_the_guide_has_the_figures_of_the_file() -> None:
    assert sizing_table.PAGE.read_text("utf-8") == sizing_table.page()


@pytest.mark.parametrize("card", GPUS)
def test_a_card_writes_as_fast_as_it_was_measured(card: str) -> None:
    told = json.loads(size("--gpus", "1", "--conversations", "9", "--card", card, "--model", "8.07b", "--json").output)
    assert told["output_tokens_a_second_and_gpu"] == GPUS[card]["output_rate"]


def test_twice_the_cards_take_half_the_time_and_twice_the_model_doubles_it() -> None:
    def hours(gpus: int, parameters: float) -> float:
        return Sizing(conversations=10**7, gpus=gpus, on_gpu=OnGpu(card="h200", parameters=parameters)).hours

    assert hours(128, 8) == pytest.approx(hours(64, 8) / 2)
    assert hours(64, 16) == pytest.approx(hours(64, 8) * 2)


def test_every_part_that_is_named_keeps_up_with_the_cards() -> None:
    told = json.loads(size("--gpus", "64", "--conversations", "1e7", "--json").output)
    needed = {part["name"]: part["needed"] for part in told["parts"]}
    cores = needed["all services but model and sandbox"]
    assert (cores - 1) * 37_000 < told["conversations_an_hour"] <= cores * 37_000
    assert told["hours"] * told["conversations_an_hour"] == pytest.approx(10**7, rel=0.01)


def test_kafka_holds_no_more_than_the_days_that_it_keeps() -> None:
    short, long = (
        Sizing(conversations=count, gpus=1, on_gpu=OnGpu(card="h200", parameters=8)) for count in (1000, 10**9)
    )
    assert short.kafka_gigabytes == pytest.approx(1000 * CONVERSATION["kafka_megabytes"] / 1000)
    assert long.kafka_gigabytes == pytest.approx(7 * 24 * long.an_hour * CONVERSATION["kafka_megabytes"] / 1000)


@each_case
def test_a_number_that_is_none_is_refused(words: list[str], why: str) -> None:
    refused = size(*words)
    assert refused.exit_code == 2
    assert why in refused.output
