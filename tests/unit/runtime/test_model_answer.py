"""What a model said is told apart from what it thought."""

from soliloquy.runtime.model_answer import words_of
from soliloquy.v1.model_pb2 import Completion


def test_a_mark_of_a_thought_inside_of_a_json_answer_is_part_of_the_answer() -> None:
    answer = '{"Description": "Explain what </think> means."}'
    assert words_of(Completion(text=answer, reasoning="A mark.")) == (answer, "A mark.")
