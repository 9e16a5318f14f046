"""The history that a client of OpenAI's API sends: a problem, the exchanges about it, and the latest message."""

from dataclasses import dataclass
from itertools import groupby

from services.gateway.callers import CALLER
from services.gateway.chat.settings import ChatSettings
from services.gateway.chat.texts import clean_text
from services.gateway.refusals import Code, Refusal
from soliloquy.runtime.completions import CommonChatRequest

_PROBLEM, _SOLUTION = "Problem:", "Solution:"
_ROLES = {"system": "system", "developer": "system", "user": "student", "assistant": "tutor"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatHistory:
    # The token's name: no caller resumes another's conversation.
    owner: str
    question: str
    solution: str
    # Pairs of the student's message and the tutor's reply.
    exchanges: list[tuple[str, str]]
    latest: str


def read_history(request: CommonChatRequest, settings: ChatSettings) -> ChatHistory:
    """Ignores a system message without a problem: the recipe decides the tutor's instructions."""
    messages = [(_ROLES[message.role], message.text) for message in request.messages]
    problems = [text.strip() for role, text in messages if role == "system" and text.lstrip().startswith(_PROBLEM)]
    joined = [
        (role, "\n\n".join(text for _, text in texts))
        for role, texts in groupby((one for one in messages if one[0] != "system"), key=lambda one: one[0])
    ]
    if not joined or joined[0][0] != "student" or joined[-1][0] != "student":
        raise Refusal(Code.INVALID, "messages: the first and the last message must be the user's")
    *earlier, (_, latest) = joined
    question, _, solution = (
        problems[0].removeprefix(_PROBLEM).partition(_SOLUTION) if problems else (joined[0][1], "", "")
    )
    return ChatHistory(
        owner=CALLER.get(),
        question=clean_text("the problem", question, settings.most_characters),
        solution=solution.strip() and clean_text("the solution", solution, settings.most_solution_characters),
        exchanges=[
            (clean_text("a message", student, settings.most_characters), tutor)
            for (_, student), (_, tutor) in zip(earlier[::2], earlier[1::2], strict=True)
        ],
        latest=clean_text("the latest message", latest, settings.most_characters),
    )
