"""python -m tests.integration.transport.worker ADAPTER ADDRESS DELAY: answer conversation.started until SIGTERM."""

import asyncio
import importlib
import signal
import sys
import uuid

from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.seeds import draw
from soliloquy.runtime.stage import Stage
from soliloquy.v1 import events_pb2
from tests.integration.transport.support import student


async def main(adapter: str, address: str, delay: float) -> None:
    own = uuid.uuid4().hex

    async def reply(message: events_pb2.ConversationStarted) -> Outcome:
        # Delays differ by process, so that events finish out of order and differently everywhere.
        await asyncio.sleep(delay * draw(own, message.conversation.id, message.conversation.ordinal).random())
        return emit(events_pb2.StudentReplied(conversation=message.conversation))

    async with importlib.import_module(adapter).connect(address) as transport:
        stage = Stage(student(reply, max_in_flight=16), transport)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stage.stop, 5.0)
        await stage.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
