"""The stages, the embedded log, the client of hosted models and the collector of this project, with fixed prompts.

A second start goes on from the log and the dataset, as `soliloquy generate` does.
"""

import asyncio
import time

import uvloop

from benchmarks.peers.asking import MODEL, ROLES, Job, measured, prompt
from soliloquy.runtime.events import Outcome, emit, first_event
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, StudentReplied, TutorReplied
from soliloquy.v1.model_pb2 import GenerateRequest, Message
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.collector.datasets import datasets_of
from soliloquy_services.collector.settings import LiveSettings

_GRACE_SECONDS = 5.0


async def generate(job: Job) -> None:
    endpoint = Endpoint(engine="openai", base_url=job.url, max_concurrency=job.at_once)
    model = RemoteModel("peers", endpoint, OpenAIClient("peers", endpoint, Key("", "")))
    done = asyncio.Event()

    async def ask(place: int, conversation: Conversation, last: str) -> str:
        asked = Message(role="user", text=prompt(place, conversation.ordinal, last))
        return (await model.generate(GenerateRequest(role=ROLES[place], prompt=MODEL, messages=[asked]))).text

    async def student(event: ConversationStarted | TutorReplied) -> Outcome:
        conversation = event.conversation
        last = conversation.turns[-1].tutor.text if conversation.turns else ""
        place = 2 * len(conversation.turns)
        turn = conversation.turns.add(number=len(conversation.turns) + 1)
        turn.student.text = await ask(place, conversation, last)
        return emit(StudentReplied(conversation=conversation))

    async def tutor(event: StudentReplied) -> Outcome:
        conversation = event.conversation
        turn = conversation.turns[-1]
        turn.tutor.text = await ask(2 * len(conversation.turns) - 1, conversation, turn.student.text)
        if 2 * len(conversation.turns) < len(ROLES):
            return emit(TutorReplied(conversation=conversation))
        conversation.ending = Ending.ENDING_SOLVED
        return emit(ConversationFinished(conversation=conversation))

    async with EmbeddedTransport(job.folder / "log.sqlite") as log, datasets_of(LiveSettings(data=job.folder)) as store:
        started = [_started(number) for number in range(job.conversations)]
        missing = {one.id for one in started if not await store.holds(one)}

        async def collect(event: ConversationFinished) -> Outcome:
            await store.add(event.conversation, [])
            missing.discard(event.conversation.id)
            if not missing:
                done.set()
            return emit()

        services = [
            Service(
                name="student",
                handlers={ConversationStarted: student, TutorReplied: student},
                max_in_flight=job.at_once,
            ),
            Service(name="tutor", handlers={StudentReplied: tutor}, max_in_flight=job.at_once),
            Service(name="collector", handlers={ConversationFinished: collect}, max_in_flight=store.in_flight),
        ]
        stages = [Stage(service, log) for service in services]
        async with asyncio.TaskGroup() as tasks:
            for stage in stages:
                tasks.create_task(stage.run())
            if not any(backlog.events for backlog in await log.backlog()):
                fresh = [ConversationStarted(conversation=one) for one in started if one.id in missing]
                await log.publish([first_event(event, source="peers", time=time.time()) for event in fresh])
            await done.wait()
            for stage in stages:
                stage.stop(_GRACE_SECONDS)
    await model.close()


def _started(number: int) -> Conversation:
    conversation = Conversation(id=f"{number:024x}", ordinal=number, run=Run(id="peers"))
    conversation.problem.CopyFrom(Problem(id=f"{number:024x}", question="What is asked?"))
    return conversation


if __name__ == "__main__":
    with measured() as job:
        uvloop.run(generate(job))
