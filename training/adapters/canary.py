"""A few of the tutor's prompts, which test an adapter before it goes into service."""

from dataclasses import dataclass

from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.model_pb2 import GenerateRequest, Sampling

_MAX_TOKENS = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Canary:
    role: str
    prompt: Prompt
    answer: type[Answer]

    def request(self, adapter: str) -> GenerateRequest:
        return GenerateRequest(
            role=self.role,
            prompt=self.prompt.name,
            messages=self.prompt.messages,
            schema=self.answer.json_schema(),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_MAX_TOKENS),
            adapter=adapter,
        )

    def complaint(self, text: str) -> str:
        """Returns why an answer is unusable, or an empty string."""
        try:
            self.answer.read(text)
        except Unreadable as unreadable:
            return f"{self.prompt.name}: {unreadable}"
        return ""
