"""Writes a Llama-style model of transformers as a GGUF file. Runs in the environment of llama.cpp.

python write_gguf.py MODEL FILE
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import gguf
from safetensors.numpy import load_file

# Jinja knows this tag of transformers only by an extension.
_GENERATION = re.compile(r"{% (end)?generation %}")


def write(folder: Path, file: Path) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(_head_size(config))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    _add_tokenizer(writer, tokenizer, (folder / "chat_template.jinja").read_text("utf-8"), config)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, tensor in load_file(folder / "model.safetensors").items():
        for kind, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
            if kind in name:
                tensor = _interleaved(tensor, config[heads])
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any, tokenizer: Any, template: str, config: Any) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    # Marks of thoughts stay in the text, marks of the template do not.
    kinds = {
        token["content"]: gguf.TokenType.CONTROL if token["content"].startswith("<|") else gguf.TokenType.USER_DEFINED
        for token in tokenizer["added_tokens"]
    }
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(_GENERATION.sub("", template))


def _head_size(config: Any) -> int:
    return int(config["hidden_size"]) // int(config["num_attention_heads"])


def _interleaved(weights: Any, heads: int) -> Any:
    """Orders the rows as llama.cpp rotates them: pairs of neighbours, and not of halves."""
    rows, columns = weights.shape
    return weights.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
