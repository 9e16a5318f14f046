"""What a client of OpenAI's API has said so far: a problem, the exchanges about it, and the message to be answered."""

from dataclasses import dataclass
from itertools import groupby

from services.gateway.callers import CALLER
from services.gateway.chat.settings import ChatSettings
from services.gateway.chat.texts import cleaned
from services.gateway.refusals import Code, Refusal
from soliloquy.runtime.completions import CommonChatRequest

_PROBLEM, _SOLUTION = "Problem:", "Solution:"
_ROLES = {"system": "system", "developer": "system", "user": "student", "assistant": "tutor"}


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    # The name on the token: nobody goes on where another was.
    owner: str
    question: str
    solution: str
    # What the student said, and what the tutor replied.
    exchanges: list[tuple[str, str]]
    latest: str


def read_history(asked: CommonChatRequest, settings: ChatSettings) -> History:
    """A system message that does not begin with the problem is passed over: what the tutor is told is the recipe's."""
    said = [(_ROLES[message.role], message.text) for message in asked.messages]
    posed = [text.strip() for role, text in said if role == "system" and text.lstrip().startswith(_PROBLEM)]
    joined = [
        (role, "\n\n".join(text for _, text in texts))
        for role, texts in groupby((one for one in said if one[0] != "system"), key=lambda one: one[0])
    ]
    if not joined or joined[0][0] != "student" or joined[-1][0] != "student":
        raise Refusal(Code.INVALID, "messages: the first and the last one are the user's: its problem, its latest word")
    *earlier, (_, latest) = joined
    question, _, solution = posed[0].removeprefix(_PROBLEM).partition(_SOLUTION) if posed else (joined[0][1], "", "")
    return History(
        owner=CALLER.get(),
        question=cleaned("the problem", question, settings.most_characters),
        solution=solution.strip() and cleaned("the solution", solution, settings.most_solution_characters),
        exchanges=[
            (cleaned("a message", student, settings.most_characters), tutor)
            for (_, student), (_, tutor) in zip(earlier[::2], earlier[1::2], strict=True)
        ],
        latest=cleaned("the latest message", latest, settings.most_characters),
    )
