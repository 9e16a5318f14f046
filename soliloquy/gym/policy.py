"""Answers of policies, as the environment takes them from models."""

from soliloquy.v1.model_pb2 import FINISH_LENGTH, FINISH_STOP, Completion


def answered(text: str, *, is_complete: bool = True) -> Completion:
    """Returns an answer; one that broke off at a limit of tokens is not complete."""
    return Completion(text=text, model="policy", engine="gym", finish=FINISH_STOP if is_complete else FINISH_LENGTH)
