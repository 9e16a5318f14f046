"""Requests with a record, and whole conversations through any model."""

from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Calculation, CodeAttempt, Problem, StudentReply, Turn, TutorReply
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Record
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution
from tests.unit.scripted.growing import begun, finished, tagged
from tests.unit.scripted.problems import CART


def request(
    state: str, seed: int = 1, *, said: str = "", output: dict[str, object] | None = None, **slots: str
) -> GenerateRequest:
    """A request about the cart, whose tutor has asked for the step at hand."""
    turns = [Turn(number=1, student=StudentReply(text="Help!"), tutor=TutorReply(text="Let's begin."))]
    if said:
        turns.append(Turn(number=2, student=StudentReply(text=said)))
    if output:
        values = [Execution(status=STATUS_OK)]
        for name, value in output.items():
            values[0].values.add(name=name, value=tagged(value))
        turns[-1].calculation.CopyFrom(Calculation(attempts=[CodeAttempt(execution=values[0])]))
    record = Record(problem=CART, turns=turns, slots={"step": "5", "wrong_answers": "0", **slots})
    messages = [Message(role="user", text=f"{CART.question} What do you say?")]
    return GenerateRequest(prompt=f"soliloquy/{state}", messages=messages, seed=seed, record=record)


def opening(seed: int = 1) -> GenerateRequest:
    return request("student", seed, kind="opening", tries="0")


async def played(model: Model, *, seed: int, problem: Problem | None = None) -> list[tuple[str, str]]:
    """Returns both sides of a conversation whose every prompt the model answers."""
    conversation = begun(0, seed=seed)
    if problem is not None:
        conversation.problem.CopyFrom(problem)
    ended = await finished(ConversationStarted(conversation=conversation), engine=model)
    return [(turn.student.text, turn.tutor.text) for turn in ended.turns]
