"""Answers prompts with an encoder-decoder model in this process, one at a time."""

import asyncio
from pathlib import Path

from soliloquy.runtime.model import ModelRefused, StreamListener
from soliloquy.runtime.weights import encoder_decoder_text, positions
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from soliloquy_training.evaluation.text_models import tokenizer_and_model


class EncoderDecoderModel:
    """Reads a prompt as plain text, as it was trained to, and samples an answer without a beam search."""

    def __init__(self, folder: Path) -> None:
        self._name = folder.name
        self._positions = positions(folder)
        self._tokenizer, self._model = tokenizer_and_model(folder, "encoder-decoder model", "AutoModelForSeq2SeqLM")
        self._one_at_a_time = asyncio.Lock()

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        """Never streams, so the listener receives nothing."""
        if request.schema:
            raise ModelRefused(
                f"{self._name} is an encoder-decoder model, which keeps to no schema: evaluate it with "
                "`soliloquy evaluate mathdial --tutor responding`"
            )
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: GenerateRequest) -> Completion:
        import torch

        text = encoder_decoder_text(message.text for message in request.messages)
        prompt = self._tokenizer(text, return_tensors="pt", verbose=False)
        length, sampling = prompt["input_ids"].shape[1], request.sampling
        if self._positions and length > self._positions:
            raise ModelRefused(f"the prompt has {length} tokens, more than the {self._positions} of {self._name}")
        most = min(sampling.max_tokens, self._positions - 1) if self._positions else sampling.max_tokens
        drawn = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p or 1.0}
        torch.manual_seed(request.seed)
        [ids] = self._model.generate(
            input_ids=prompt["input_ids"],
            attention_mask=prompt["attention_mask"],
            max_new_tokens=most,
            num_beams=1,
            **(drawn if sampling.temperature else {"do_sample": False}),
        )
        # The first token only starts the decoder.
        written = ids[1:]
        ended = self._tokenizer.eos_token_id in written.tolist()
        return Completion(
            text=self._tokenizer.decode(written, skip_special_tokens=True),
            model=self._name,
            engine="transformers",
            prompt_tokens=length,
            completion_tokens=len(written),
            finish=Finish.FINISH_STOP if ended else Finish.FINISH_LENGTH,
        )
