"""A new user's two problems, answered in words that were written down beforehand.

The programs of the second one use the ratio of the diameters without its square, one after another. The student, who is
right, gives in after its answer has gone back as often as it may.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from google.protobuf.message import Message

from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.recipes.recipe import find
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runtime.model import ModelRefused, StreamListener
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, INTENT_RIGHT, Conversation, Problem
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at, opening_event
from tests.unit.scripted.growing import DESK

SLEDGE = (
    "A sledge of 40 kg is pulled from rest to 6 m/s over 15 m of ice. Which force does that take?",
    "From v² = 2as follows a = 6²/(2·15) = 1.2 m/s². Then F = ma = 40 × 1.2 = 48 N.",
)
HOSE = (
    "Water runs at 0.8 m/s through a garden hose of 18 mm width and leaves by a nozzle of 6 mm. How fast is the jet?",
    "What flows in flows out: A1 v1 = A2 v2. Areas grow with the square of the width, so v2 = 0.8 × (18/6)² = 7.2 m/s.",
)
_RESULT = re.compile(r"(\d+(?:\.\d+)?) (N|m/s²?)(?=[.:,?!]| |$)")
_SQUARED, _NOT_SQUARED = "v2 = v1 * (d1 / d2) ** 2", "v2 = v1 * d1 / d2"
# A student of whom every answer is to be right.
_KNOWING = "[knowing]\nshare = 1.0\nmistaken = 0.0\nshaky = 0.0\nevidence = { one = 1.0, two = 0.0, three = 0.0 }\n"


class WrittenAnswers:
    """Answers each prompt by its name; a student says one message after another."""

    def __init__(self, *, squared: bool) -> None:
        self._relation = _SQUARED if squared else _NOT_SQUARED
        self._said: dict[str, Iterator[str]] = {}

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        prompt = "\n".join(message.text for message in request.messages)
        is_hose = "nozzle" in prompt or "jet" in prompt
        match request.prompt:
            case "problems/program":
                text = _program(*(_hose(_SQUARED) if is_hose else _force()))
            case "soliloquy/student":
                said = self._said.setdefault(request.draw_key, iter(_OF_THE_HOSE if is_hose else _OF_THE_SLEDGE))
                text = _claiming(next(said), is_hose=is_hose)
            case "problems/steps":
                text = json.dumps({"Steps": _HOSE_STEPS if is_hose else _SLEDGE_STEPS})
            case "soliloquy/deciding":
                text = _decided(_last_message(prompt), is_hose=is_hose)
            case "soliloquy/use_python":
                text = _program(*self._checking(prompt))
            case "soliloquy/no_python" | "soliloquy/received_python":
                text = _reply(prompt, is_hose=is_hose)
            case _:
                raise ModelRefused(f"nobody has written an answer to {request.prompt}")
        return Completion(text=text, model="written", engine="written", finish=Finish.FINISH_STOP)

    def _checking(self, prompt: str) -> tuple[Sequence[str], str]:
        given = re.findall(r"The student's result is (\S+) ", prompt)[-1]
        lines, result = _hose(self._relation) if "jet" in prompt else _force() if "force" in prompt else _acceleration()
        compared = [f"student_{result} = {given}", f"is_correct = abs(student_{result} - {result}) < 0.01 * {result}"]
        return [*lines, *compared], f"{result}, is_correct"


_OF_THE_HOSE = [
    "Hey, can you help me with the garden hose? It is 18 mm wide and the nozzle only 6 mm, water comes at 0.8 m/s.",
    "The same amount of water has to go through both places, so A1 v1 = A2 v2.",
    "The width goes in squared. Three times narrower is nine times the speed: 9 × 0.8 = 7.2 m/s.",
    "I still get 7.2 m/s: v2 = 0.8 × (18/6)² with the areas.",
    "Areas go with the square, 3² is 9, so v2 is 7.2 m/s. Did I miss something?",
    "I would say 7.2 m/s again, since A1 is nine times A2.",
    "Then maybe without the square, v2 = 0.8 × 18/6 = 2.4 m/s?",
    *["All right, I stay with 2.4 m/s then."] * 9,
]
_OF_THE_SLEDGE = [
    "Hello! A sledge of 40 kg gets to 6 m/s over 15 m, and I am to find the force. Where do I begin?",
    "With v² = 2as I get a = 36/30 = 1.2 m/s².",
    "F = ma, and that is 40 × 1.2 = 48 N.",
]


def _given(symbol: str, value: float, unit: str) -> dict[str, object]:
    return {"Symbol": symbol, "Name": symbol, "Value": value, "Unit": unit, "Source": "question"}


_HOSE_STEPS = [
    {
        "Sought": "speed of the jet",
        "Symbol": "v2",
        "Expression": "v1 * (d1 / d2) ** 2",
        "Inputs": [_given("v1", 0.8, "m/s"), _given("d1", 18, "mm"), _given("d2", 6, "mm")],
        "Value": 7.2,
        "Unit": "m/s",
    }
]
_SLEDGE_STEPS = [
    {
        "Sought": "acceleration",
        "Symbol": "a",
        "Expression": "v ** 2 / (2 * s)",
        "Inputs": [_given("v", 6, "m/s"), _given("s", 15, "m")],
        "Value": 1.2,
        "Unit": "m/s²",
    },
    {
        "Sought": "pulling force",
        "Symbol": "F",
        "Expression": "m * a",
        "Inputs": [_given("m", 40, "kg")],
        "Value": 48,
        "Unit": "N",
    },
]


def _claiming(said: str, *, is_hose: bool) -> str:
    """Says beside a message which result it gives: the last one with its unit, unless it only tells the problem."""
    results = [] if "help" in said or "begin" in said else _RESULT.findall(said)
    symbol = "v2" if is_hose else "F" if " N" in said else "a"
    claims = [{"Quantity": symbol, "Value": value, "Unit": unit} for value, unit in results[-1:]]
    return json.dumps({"Message": said, "Claims": claims})


def _force() -> tuple[list[str], str]:
    return ["m = 40", "a = 6 ** 2 / (2 * 15)", "F = m * a"], "F"


def _acceleration() -> tuple[list[str], str]:
    return ["v = 6", "s = 15", "a = v ** 2 / (2 * s)"], "a"


def _hose(relation: str) -> tuple[list[str], str]:
    return ["d1 = 18", "d2 = 6", "v1 = 0.8", relation], "v2"


def _program(lines: Sequence[str], variables: str) -> str:
    code = "\n".join(["# By what is given", *lines])
    return json.dumps({"Python": {"Python Code": f"```python\n{code}\n```", "Result Variable": variables}})


def _last_message(prompt: str) -> str:
    return str(re.findall(r"Student: (.*)", prompt)[-1])


def _decided(said: str, *, is_hose: bool) -> str:
    results = [value for value, _ in _RESULT.findall(said)]
    if not results or "help" in said or "begin" in said:
        return json.dumps({"Use Python": "n"})
    sought = "the speed of the jet" if is_hose else "the force" if " N" in said else "the acceleration"
    told = f"Find {sought} from what is given in the problem. The student's result is {results[-1]} ."
    return json.dumps({"Use Python": "y", "Description": told})


def _reply(prompt: str, *, is_hose: bool) -> str:
    """Follows what the prompt says was found out."""
    said, output = _last_message(prompt), prompt.rpartition("<output>")[2]
    found = re.findall(r"= (True|False)", output)
    step = int(re.findall(r"Step being worked on: (\d)", prompt)[-1])
    if found == ["False"]:
        return _judged("a", 1, step, "q", "Not quite. Which part of your working are you least sure of?")
    if "A1 v1" in said and "m/s" not in said:
        return _judged("b", 3, step, "q", "That is the law to use. Which speed does it give?")
    if found:
        is_last = is_hose or step == 2
        onward = "Well done, that was all!" if is_last else "What does that give for the next step?"
        return _judged("b", 3, step, "t" if is_last else "r", f"Yes, I agree with you. {onward}")
    asked = (
        "What has to be the same in the hose and in the nozzle?" if is_hose else "Which law links speed and distance?"
    )
    return _judged("f", 8, step, "q", asked)


def _judged(evaluation: str, action: int, step: int, state: str, text: str) -> str:
    return json.dumps(
        {
            "Thoughts of Tutorbot": "I go by what was found out.",
            "Evaluation of Student Response": evaluation,
            "Action Based on Evaluation": str(action),
            "Step Number": str(step),
            "Step State": state,
            "Tutorbot Response": text,
        }
    )


@cache
def _problem(question: str, solution: str) -> Problem:
    return problem_from_row(ProblemRow(question=question, solution=solution), "own.jsonl:1")


async def _played(question: str, solution: str, *, squared: bool) -> Conversation:
    run = Run(id="own", recipe="soliloquy", seed=7, max_turns=20, max_attempts=1, programs=True)
    run.prompts["learners.toml"] = _KNOWING
    handlers = conversation_handlers(WrittenAnswers(squared=squared), DESK)
    event: Message = opening_event(attempt_at(_problem(question, solution), run=run, ordinal=0, attempt=0))
    while not isinstance(event, ConversationFinished):
        [event] = await handlers[type(event)](event)
    return event.conversation


def _sent_back(conversation: Conversation, answer: str) -> list[str]:
    turns = [*conversation.turns, *(turn for rewind in conversation.rewinds for turn in rewind.turns)]
    return [one.because for turn in turns for one in turn.rejected if one.role == "student" and answer in one.text]


@pytest.mark.parametrize("problem", [SLEDGE, HOSE])
async def test_right_programs_confirm_right_answers(problem: tuple[str, str]) -> None:
    conversation = await _played(*problem, squared=True)
    assert find("soliloquy").faults(conversation) == []
    assert conversation.turns[-1].student.intent == INTENT_RIGHT
    assert conversation.turns[-1].tutor.evaluation == EVALUATION_CORRECT


async def test_a_right_answer_is_never_sent_back_for_a_wrong_program() -> None:
    assert _sent_back(await _played(*HOSE, squared=False), "7.2 m/s") == []


async def test_what_only_a_wrong_program_came_to_is_never_accepted() -> None:
    conversation = await _played(*HOSE, squared=False)
    confirmed = [turn.student.text for turn in conversation.turns if turn.tutor.evaluation == EVALUATION_CORRECT]
    is_accepted = not find("soliloquy").faults(conversation)
    assert not (is_accepted and any("2.4" in text for text in confirmed))
