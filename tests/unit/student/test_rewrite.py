"""Messages that are sent back to the student."""

import pytest

from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import StudentRejected
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.student.handler import rewrite
from tests.unit.scripted.growing import ENGINE


@pytest.mark.parametrize("recipe", ["soliloquy", "mathwell"])
async def test_a_recipe_that_sends_nothing_back_refuses_what_comes_back(recipe: str) -> None:
    event = StudentRejected(conversation=Conversation(run=Run(recipe=recipe)))
    with pytest.raises(Refused, match=f"the recipe '{recipe}' cannot take a message back"):
        await rewrite(event, ENGINE)
