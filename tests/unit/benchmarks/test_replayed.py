"""The replayed engine answers from recorded conversations, and leaves to another model what it cannot."""

from benchmarks.replayed import ReplayedEngine
from soliloquy.dataset.exports.dialogue import Attempt, Dialogue, Exchange, conversation_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.model_pb2 import GenerateRequest, Message
from tests.unit.scripted.growing import ENGINE, begun, finished, grown


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.student.text, turn.tutor.text) for turn in conversation.turns]


def imported() -> Conversation:
    """A conversation that others wrote, of which only what was said is known."""
    turns = [
        Exchange(
            student="How long is the fall?",
            evaluation="g",
            reply="Which formula holds?",
            labels={"tutor.action": 12, "tutor.step": 1, "tutor.state": "in progress"},
        ),
        Exchange(
            student="I get 3 s.",
            description="the time of the fall",
            attempts=[Attempt(code="t = 2", result_variables=["t"], output="t = 2")],
            evaluation="a",
            reply="Look at the height once more.",
            labels={"tutor.action": 1, "tutor.step": 1, "tutor.state": "in progress"},
        ),
    ]
    return conversation_of(Dialogue(recipe="soliloquy", question="A stone falls.", turns=turns), "run", 0)


def request(prompt: str, *texts: tuple[str, str]) -> GenerateRequest:
    messages = [Message(role=role, text=text) for role, text in texts]
    return GenerateRequest(role="student", prompt=prompt, messages=messages, seed=1)


async def test_a_recorded_conversation_is_replayed_word_for_word() -> None:
    recorded = [await grown(ordinal, seed=3) for ordinal in range(3)]
    engine = ReplayedEngine(recorded, ENGINE)
    started = ConversationStarted(conversation=begun(1, seed=3))
    assert said(await finished(started, engine=engine)) == said(recorded[1])


async def test_what_others_said_is_played_to_the_most_similar_prompt() -> None:
    engine = ReplayedEngine([imported()], ENGINE)
    first = await engine.generate(request("soliloquy/student", ("user", "A stone falls.")))
    assert first.text == "How long is the fall?"
    assert first.engine == "replayed"
    later = await engine.generate(request("soliloquy/student", ("user", "A stone falls. Which formula holds?")))
    assert later.text == "I get 3 s."
    reply = await engine.generate(request("soliloquy/received_python", ("user", "A stone falls. I get 3 s.")))
    assert "Look at the height once more." in reply.text


async def test_what_is_sent_back_or_was_never_recorded_goes_to_the_other_model() -> None:
    recorded = await grown(0, seed=3)
    student = next(call for call in recorded.turns[1].calls if call.prompt == "soliloquy/student")

    class Other:
        async def generate(self, request: GenerateRequest, stream_listener: object = None) -> object:
            return request.prompt

    engine = ReplayedEngine([recorded], Other())  # type: ignore[arg-type]
    again = request("soliloquy/student", ("user", "Go on."), ("assistant", student.raw[-1]), ("user", "Not so."))
    assert await engine.generate(again) == "soliloquy/student"
    assert await engine.generate(request("mathdial/student", ("user", "Go on."))) == "mathdial/student"
