"""A model whose answers a test has written."""

import asyncio

from soliloquy.v1.model_pb2 import Completion, GenerateRequest


class Answering:
    """Gives these answers in turn and then the last one again and again; other tasks go before each."""

    def __init__(self, *answers: str) -> None:
        self._answers = answers
        self.requests: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(GenerateRequest.FromString(request.SerializeToString()))
        await asyncio.sleep(0)
        answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
        return Completion(text=answer, model="answering", engine="answering")
