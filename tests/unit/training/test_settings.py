"""A configuration is validated before anything is loaded; the shipped ones are the papers'."""

from pathlib import Path

import pytest

import soliloquy_training
from soliloquy.recipes.packages import folder, known_recipes
from soliloquy.recipes.recipe import ReplyContext
from soliloquy.runtime.failure import Failure
from soliloquy_training.settings import read_settings
from tests.cases import each_case

CONFIGS = {
    path.stem: path
    for place in (Path(soliloquy_training.__file__).parent, *map(folder, known_recipes()))
    for path in sorted((place / "configs").glob("*.yaml"))
}


@each_case
def test_what_is_wrong_with_a_configuration_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(Failure, match=r"own\.yaml") as refused:
        read_settings(file)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("file", CONFIGS.values(), ids=CONFIGS.keys())
def test_every_configuration_that_comes_along_is_one(file: Path) -> None:
    assert read_settings(file).sequence_length >= 1024


def test_soliloquy_is_trained_as_the_paper_says() -> None:
    settings = read_settings(CONFIGS["soliloquy"])
    assert settings.lora.targets == ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    assert (settings.learning_rate, settings.epochs, settings.batch) == (1e-4, 25, 128)


def test_higgs_is_tuned_as_its_authors_did_on_one_chat_a_conversation() -> None:
    settings = read_settings(CONFIGS["higgs"])
    assert (settings.lora.rank, settings.lora.alpha, settings.sequence_length, settings.clip) == (64, 16, 4096, 0.3)
    assert (settings.layout, settings.manual) == ("dialogue", "outline")
    ours = read_settings(CONFIGS["soliloquy"])
    assert (settings.learning_rate, settings.epochs) == (ours.learning_rate, ours.epochs)


def test_mathwell_is_trained_as_the_paper_says() -> None:
    settings = read_settings(CONFIGS["mathwell"])
    assert (settings.learning_rate, settings.max_steps, settings.warmup_share) == (1e-4, 4250, 0.03)
    assert (settings.quantize, settings.layout) == ("4bit", "states")
    second = read_settings(CONFIGS["mathwell-approved"])
    assert second == settings.model_copy(update={"max_steps": 1250})


def test_scaffold_is_trained_as_the_paper_says() -> None:
    settings = read_settings(CONFIGS["scaffold"])
    assert (settings.learning_rate, settings.epochs) == (1e-5, 2)
    # Packed sequences, of about 5 samples each: the paper's batch has 64 samples.
    assert 4.5 * settings.batch <= 64 <= 5.5 * settings.batch
    assert (settings.sequence_length, settings.validation_share, settings.precision) == (12_288, 0.01, "bf16")


def test_mathdials_encoder_decoders_are_tuned_as_its_other_models_and_fit_into_barts_positions() -> None:
    chat, pairs = read_settings(CONFIGS["mathdial"]), read_settings(CONFIGS["mathdial-seq2seq"])
    for setting in ("layout", "learning_rate", "epochs", "decay", "warmup_share", "tune"):
        assert getattr(pairs, setting) == getattr(chat, setting)
    assert (pairs.sequence_length, pairs.given) == (1024, ReplyContext(move=False))


def test_mathdial_is_trained_as_the_paper_says_and_its_ablation_is_a_setting(tmp_path: Path) -> None:
    settings = read_settings(CONFIGS["mathdial"])
    assert (settings.learning_rate, settings.epochs, settings.decay, settings.warmup_share) == (
        6.25e-5,
        10,
        "linear",
        0,
    )
    assert (settings.tune, settings.layout, settings.given) == (
        "full",
        "replies",
        ReplyContext(move=True, grounding=True),
    )
    variant = tmp_path / "without.yaml"
    text = CONFIGS["mathdial"].read_text("utf-8")
    variant.write_text(text.replace("given: {move: true, grounding: true}", "given: {move: false, grounding: false}"))
    assert read_settings(variant).given == ReplyContext(move=False, grounding=False)
    assert read_settings(variant).digest != settings.digest
