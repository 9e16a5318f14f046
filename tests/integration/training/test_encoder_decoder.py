"""Encoder-decoder models, as MathDial's authors tuned: their loss, a training and its evaluation, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.main import commands
from soliloquy.recipes.recipe import ReplyContext
from soliloquy.runtime.failure import Failure
from soliloquy_training.data import samples
from soliloquy_training.folder import Job
from soliloquy_training.settings import TrainingSettings
from tests.integration.training.processes import check, train
from tests.unit.training.growing import dataset, dialogues

POSITIONS = 2048
HALVES: dict[str, dict[str, Any]] = {
    "BartConfig": {
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": POSITIONS,
        "dropout": 0.0,
    },
    "T5Config": {
        "d_model": 32,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": 1,
        "num_heads": 2,
        "dropout_rate": 0.0,
    },
}
SETTINGS = TrainingSettings(
    layout="replies",
    given=ReplyContext(move=False),
    sequence_length=POSITIONS,
    batch=4,
    micro_batch=2,
    max_steps=2,
    learning_rate=1e-3,
    tune="full",
    validation_share=0.2,
    validate_every=2,
    checkpoint_every=2,
)


@pytest.fixture(scope="module")
def halves(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a tiny model of two halves, with random weights and the tokenizer of the tests."""
    import torch
    import transformers
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp("halves") / name
        tokenizer = AutoTokenizer.from_pretrained(base)
        tokenizer.chat_template = None
        torch.manual_seed(0)
        config = getattr(transformers, name)(
            **HALVES[name],
            vocab_size=len(tokenizer),
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=False,
        )
        model = AutoModelForSeq2SeqLM.from_config(config)
        # As BART's, so that answers come to an end.
        model.generation_config.forced_eos_token_id = tokenizer.eos_token_id
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data") / "said", dialogues())


@pytest.mark.parametrize("name", ["BartConfig", pytest.param("T5Config", marks=pytest.mark.thorough)])
def test_a_steps_loss_is_that_of_transformers(name: str, halves: Callable[[str], Path], tmp_path: Path) -> None:
    from torch import no_grad
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    base = halves(name)
    settings = SETTINGS.model_copy(update={"max_steps": 1, "batch": 1000, "validation_share": 0.0})
    data = dataset(tmp_path / "data", dialogues()[:2])
    train(Job(settings=settings, base=base, data=str(data), folder=tmp_path / "one"))
    report = json.loads((tmp_path / "one" / "report.json").read_bytes())

    tokenizer, model = AutoTokenizer.from_pretrained(base), AutoModelForSeq2SeqLM.from_pretrained(base).eval()
    summed, learned = 0.0, 0
    for conversation in dialogues()[:2]:
        for *prompt, answer in samples(conversation, "replies", SETTINGS.given):
            ids = tokenizer("\n\n".join(message.text for message in prompt), return_tensors="pt")["input_ids"]
            labels = tokenizer(answer.text + tokenizer.eos_token, return_tensors="pt")["input_ids"]
            with no_grad():
                summed += float(model(input_ids=ids, labels=labels).loss) * labels.numel()
            learned += labels.numel()
    assert report["learned_tokens"] == learned
    assert report["loss"]["first"] == pytest.approx(summed / learned, abs=1e-5)


@pytest.mark.parametrize("name", [pytest.param("BartConfig", marks=pytest.mark.thorough), "T5Config"])
def test_a_model_is_trained_and_its_replies_are_evaluated(
    name: str, halves: Callable[[str], Path], said: Path, tmp_path: Path
) -> None:
    config = tmp_path / "own.json"
    config.write_text(SETTINGS.model_dump_json())
    data = dataset(tmp_path / "data", dialogues()[:2])
    trained = run(
        "train", "--config", config, "--base", halves(name), "--data", data, "--out", tmp_path, "--name", "one"
    )
    assert trained.exit_code == 0, trained.output

    out, weights = tmp_path / "evaluated", tmp_path / "one" / "model"
    responding = ["--weights", weights, "--tutor", "responding", "--references", said, "--trained", data]
    evaluated = run("evaluate", "mathdial", *responding, "--max-tokens", 8, "--out", out)
    assert evaluated.exit_code == 0, evaluated.output
    report = json.loads((out / "report.json").read_bytes())
    others = [turn for one in dialogues()[2:] for turn in one.turns if turn.student.text and turn.tutor.text]
    assert report["figures"]["replies"]["all"]["replies"] == len(others)
    assert 0 <= report["figures"]["measures"]["reply_bleu"] < 100
    assert "Success@" not in (out / "report.md").read_text("utf-8")

    refused = run("evaluate", "mathdial", "--weights", weights, "--out", tmp_path / "other")
    assert "which only responds: use --tutor responding and --references" in refused.output


@pytest.mark.parametrize(
    ("differing", "told"),
    [
        ({"tune": "lora"}, "of which all weights are tuned: use tune: full, not lora"),
        ({"layout": "dialogue", "given": ReplyContext()}, "use layout: replies or states, not dialogue"),
        ({"learn": "everything"}, "whose input cannot be learned"),
        ({"sequence_length": POSITIONS + 1}, f"has {POSITIONS} positions: lower sequence_length"),
    ],
)
def test_settings_that_do_not_fit_two_halves_are_refused_before_anything_is_read(
    differing: dict[str, Any], told: str, halves: Callable[[str], Path], said: Path, tmp_path: Path
) -> None:
    settings = SETTINGS.model_copy(update=differing)
    job = Job(settings=settings, base=halves("BartConfig"), data=str(said), folder=tmp_path / "refused")
    with pytest.raises(Failure, match=told):
        check(job)
    assert not (tmp_path / "refused" / "prepared").exists()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])
