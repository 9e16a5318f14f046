"""The paper's tutor response generation: a reply from the dialogue, with or without move and grounding.

For training only: in a run the tutor always knows the solutions and has chosen its move.
"""

from collections.abc import Sequence
from pathlib import Path

from soliloquy.recipes.mathdial.moves import MEANINGS, move_name
from soliloquy.recipes.mathdial.prompting import grounded
from soliloquy.recipes.recipe import Lesson, ReplyContext
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_TEMPLATES = Templates(
    Path(__file__).with_name("response"),
    {
        "asked": set[str](),
        "grounds": {"question", "solution", "wrong"},
        "said": {"conversation"},
        "move": {"move", "meaning"},
    },
)


def replies(conversation: Conversation, given: ReplyContext) -> list[Lesson]:
    """Returns a sample for each message of the tutor; if the move is given, only those with a known move."""
    return [
        Lesson(turn=turn.number, prompt=_prompt(conversation, conversation.turns[:number], given), answer=text)
        for number, turn in enumerate(conversation.turns, start=1)
        if (text := turn.tutor.text) and (move_name(turn.tutor) or not given.move)
    ]


def _prompt(conversation: Conversation, turns: Sequence[Turn], given: ReplyContext) -> Prompt:
    """Returns the prompt for the reply in the last of these turns."""
    told = grounded(conversation, turns)
    asked, said = [_TEMPLATES.fill("asked")], [_TEMPLATES.fill("said", conversation=told["conversation"])]
    if given.grounding:
        grounds = {name: told[name] for name in ("question", "solution", "wrong")}
        asked.append(_TEMPLATES.fill("grounds", **grounds))
    if given.move:
        move = move_name(turns[-1].tutor)
        said.append(_TEMPLATES.fill("move", move=move, meaning=MEANINGS[move]))
    return Prompt(
        name="mathdial/responding",
        said=[("system", "\n\n".join(asked)), ("user", "\n\n".join(said))],
    )
