"""Llama-style models and adapters with random weights, made on the spot: for tests, and for what engines cost."""

import math
import tomllib
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import soliloquy.recipes
from services.model.engines.transformers.shared_weights import placement

SIZES: dict[str, dict[str, int]] = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text("utf-8"))
_TEXTS = Path(soliloquy.recipes.__file__).parent
_SPECIAL = ["<|begin|>", "<|end|>", "<|pad|>"]
_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}:\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{{ eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)
_LORA = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
# Of the tokens that a state of the model is likely to be followed by, those that end an answer or a text in it.
_SHARES = {"<|end|>": 0.05, '"': 0.2}
# How far apart the scores of tokens lie: the natural logarithm of their odds, as a standard deviation.
_SPREAD = 1.5
# Five times as wide as usual: what comes before a token has a say in what follows it.
_INITIAL = 0.1


def make_base(folder: Path, size: str = "tiny", seed: int = 0, *, ends: bool = True) -> Path:
    """Its answers come to an end, unless it is to talk for as long as it may."""
    shape = SIZES[size]
    tokenizer = _tokenizer(shape["vocab_size"])
    device, dtype = placement()
    torch.manual_seed(seed)
    config = LlamaConfig(
        **shape,
        dtype=dtype,
        initializer_range=_INITIAL,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.device(device):
        model = LlamaForCausalLM(config).to(dtype)
    with torch.no_grad():
        _score(model, tokenizer, _SHARES if ends else {"<|end|>": 0.0})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_adapter(folder: Path, base: Path, seed: int, rank: int = 8) -> Path:
    """Strong enough to answer otherwise than the base, which an untrained adapter does not."""
    torch.manual_seed(seed)
    model = LlamaForCausalLM.from_pretrained(base, local_files_only=True)
    adapted = get_peft_model(model, LoraConfig(r=rank, target_modules=list(_LORA), init_lora_weights=False))
    adapted.save_pretrained(folder)
    return folder


def _tokenizer(vocab_size: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE, trained on the prompts of the recipes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(text) for text in sorted(_TEXTS.glob("*/prompts/*.txt"))], trainer)
    begin, end, pad = _SPECIAL
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end, pad_token=pad)
    wrapped.chat_template = _TEMPLATE
    return wrapped


def _score(model: Any, tokenizer: PreTrainedTokenizerFast, shares: dict[str, float]) -> None:
    """Random scores, except that some tokens have their share of what is likely in nearly any state."""
    with torch.no_grad():
        scores = model.get_output_embeddings().weight
        states = model.model(torch.arange(len(_SPECIAL), 256, device=scores.device)[None]).last_hidden_state[0].float()
        scores.normal_(std=_SPREAD / states.norm(dim=-1).mean().item())
        usual = states.mean(0)
        for token, share in shares.items():
            raised = math.log(scores.shape[0] * max(share, 1e-9)) + _SPREAD**2 / 2
            scores[tokenizer.convert_tokens_to_ids(token)] = usual * raised / usual.dot(usual)
