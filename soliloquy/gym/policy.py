"""Answers of policies, as the environment takes them from models."""

from soliloquy.runtime.failure import Failure
from soliloquy.v1.model_pb2 import FINISH_LENGTH, FINISH_STOP, Completion


def completion_of(answer: str | Completion, *, is_complete: bool = True) -> Completion:
    """Returns a policy's text, perhaps cut at a limit of tokens, as a model's answer; raises Failure for no text."""
    if isinstance(answer, Completion):
        return answer
    try:
        str.encode(answer)
    except (TypeError, UnicodeEncodeError) as error:
        raise Failure(f"an answer is text or a Completion: {error}") from error
    return Completion(text=answer, model="policy", engine="gym", finish=FINISH_STOP if is_complete else FINISH_LENGTH)
