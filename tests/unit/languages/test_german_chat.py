"""A person talks with the tutor in German, about a problem of its own."""

from collections.abc import Sequence

import pytest

from soliloquy.recipes.prompts import spoken_prompts
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.chat import ChatProblems
from soliloquy.runtime.events import Event, message_of
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, EVALUATION_INCORRECT, EVALUATION_INQUIRY
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.gateway.chat.chats import Chats, ChatSettings
from soliloquy_services.gateway.chat.messages import EndpointRules, StartChat
from soliloquy_services.gateway.chat.tutor import ChatTutor, TutorModel
from soliloquy_services.gateway.refusals import Refusal
from tests.unit.languages.speakers import WrittenSpeakers
from tests.unit.languages.test_german_conversations import PROBLEM
from tests.unit.scripted.growing import DESK

SAID = [
    "Hallo! Wie fange ich da an?",
    "Ich habe einfach beides zusammengezählt, also sind es 83,5 km.",
    "Ach so, ich muss malnehmen: 2,5 h · 81 km/h sind 202,5 km.",
    "Zusammen sind es also 247,5 km.",
]
ABOUT = StartChat(recipe="soliloquy", language="de", question=PROBLEM.question, solution=PROBLEM.solution)


def chats(published: list[Event], *, scripted: bool = False) -> Chats:
    async def publish(events: Sequence[Event]) -> None:
        published.extend(events)

    async def open_tutor(*_: object, **__: object) -> ChatTutor:
        raise AssertionError("nobody chose another model")

    tutor = ChatTutor(
        WrittenSpeakers("soliloquy"),
        lambda model: conversation_handlers(model, DESK),
        by=TutorModel(name="written", scripted=scripted),
        seconds=10.0,
        fault=lambda: "",
    )
    return Chats(tutor, ChatProblems(), publish, ChatSettings(), rules=EndpointRules(), open_tutor=open_tutor)


async def test_a_german_chat_has_german_prompts_and_its_decimal_commas_are_judged() -> None:
    published: list[Event] = []
    opened = chats(published)
    chat = await opened.start(ABOUT)
    for text in SAID:
        steps = [step async for step in opened.say(chat.id, text)]
        assert steps[-1].event == "done", steps[-1]
    await opened.finish(chat.id, keep=True)
    finished = message_of(published[0])
    assert isinstance(finished, ConversationFinished)
    kept = finished.conversation
    assert (kept.run.language, kept.problem.language) == ("de", "de")
    assert kept.run.prompts == spoken_prompts("soliloquy", "de")
    judged = [turn.tutor.evaluation for turn in kept.turns]
    assert judged == [EVALUATION_INQUIRY, EVALUATION_INCORRECT, EVALUATION_CORRECT, EVALUATION_CORRECT]


@pytest.mark.parametrize(
    ("asked", "scripted", "told"),
    [
        (ABOUT.model_copy(update={"question": None, "bank": "physics"}), False, "problems of the banks are English"),
        (ABOUT, True, "the stand-in speaks English alone, not de"),
    ],
)
async def test_a_chat_that_nobody_can_lead_in_german_is_refused(asked: StartChat, scripted: bool, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        await chats([], scripted=scripted).start(asked)
