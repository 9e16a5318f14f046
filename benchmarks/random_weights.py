"""Makes Llama-style models and adapters with random weights, for tests and to measure engines."""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import soliloquy.recipes

SIZES: dict[str, dict[str, int]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TEXTS = Path(soliloquy.recipes.__file__).parent
_SPECIAL = ["<|begin|>", "<|end|>", "<|pad|>"]
_THINKING = ["<think>", "</think>"]
_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}:\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{{ eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)
_THOUGHT = "{% if add_generation_prompt %}<think>\n{% endif %}"
_LORA = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
# The probability of the tokens that end an answer, or a text in it, in nearly any state of the model.
_SHARES = {"<|end|>": 0.05, '"': 0.2}
_THINKING_SHARES = {"</think>": 0.4}
# The standard deviation of the scores of tokens.
_SPREAD = 1.5
# Five times the usual width, so that a token depends on those before it.
_INITIAL = 0.1


def make_base(folder: Path, size: str = "tiny", seed: int = 0, *, ends: bool = True, thinks: bool = False) -> Path:
    """Makes a model; with `ends` its answers come to an end, and without they are as long as they may be.

    With `thinks` its template begins a thought, and the model ends it.
    """
    # The environment of vLLM alone lacks peft, which these import.
    from soliloquy_services.model.engines.transformers.engine import placement

    shape = SIZES[size]
    tokenizer = _tokenizer(shape["vocab_size"], thinks=thinks)
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
        shares = _SHARES if ends else {"<|end|>": 0.0}
        _score(model, tokenizer, shares | (_THINKING_SHARES if thinks else {}))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_adapter(folder: Path, base: Path, seed: int, rank: int = 8) -> Path:
    """Makes an adapter whose answers differ from the base's; those of an untrained one would not."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    model = LlamaForCausalLM.from_pretrained(base, local_files_only=True)
    adapted = get_peft_model(model, LoraConfig(r=rank, target_modules=list(_LORA), init_lora_weights=False))
    adapted.save_pretrained(folder)
    return folder


def _tokenizer(vocab_size: int, *, thinks: bool) -> PreTrainedTokenizerFast:
    """Trains byte-level BPE on the prompts of the recipes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=_SPECIAL + (_THINKING if thinks else []),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(text) for text in sorted(_TEXTS.glob("*/prompts/*.txt"))], trainer)
    if thinks:
        tokenizer = _with_plain_marks(tokenizer)
    begin, end, pad = _SPECIAL
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end, pad_token=pad)
    wrapped.chat_template = _TEMPLATE + (_THOUGHT if thinks else "")
    return wrapped


def _with_plain_marks(tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer with marks of thoughts that are text, as in real ones: servers drop special tokens."""
    content = json.loads(tokenizer.to_str())
    for token in content["added_tokens"]:
        token["special"] = token["content"] not in _THINKING
    return Tokenizer.from_str(json.dumps(content))


def _score(model: Any, tokenizer: PreTrainedTokenizerFast, shares: dict[str, float]) -> None:
    """Makes all scores random, and gives some tokens a fixed probability in nearly any state.

    The prompts have too few words for a large vocabulary: tokens that the tokenizer lacks are seldom drawn.
    """
    with torch.no_grad():
        scores = model.get_output_embeddings().weight
        states = model.model(torch.arange(len(_SPECIAL), 256, device=scores.device)[None]).last_hidden_state[0].float()
        scores.normal_(std=_SPREAD / states.norm(dim=-1).mean().item())
        usual = states.mean(0)
        for token, share in shares.items():
            scores[tokenizer.convert_tokens_to_ids(token)] = _raised(usual, scores.shape[0], share)
        scores[len(tokenizer) :] = _raised(usual, scores.shape[0], 0.0)


def _raised(usual: torch.Tensor, tokens: int, share: float) -> torch.Tensor:
    raised = math.log(tokens * max(share, 1e-9)) + _SPREAD**2 / 2
    return usual * raised / usual.dot(usual)
