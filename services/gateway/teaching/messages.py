"""Requests and answers of the teacher's seat over HTTP."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from soliloquy.annotation.scheme import Scheme
from soliloquy_services.gateway.chat.messages import ChatMessage

MOST_CHARACTERS = 4_000
# For one message.
MOST_PROGRAMS = 10
_MOST_PROBLEMS = 10_000
_Text = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
_Seconds = Annotated[float, Field(ge=0, le=86_400)]


class State(StrEnum):
    """The person or the work that a seat waits for."""

    # The student's wrong solution.
    PREPARING = "preparing"
    # The teacher's comparison of the two solutions.
    COMPARING = "comparing"
    TEACHER = "teacher"
    STUDENT = "student"
    # The teacher's answers about the student.
    RATING = "rating"
    # The log, which keeps the conversation.
    KEEPING = "keeping"
    DONE = "done"
    # The recipe cannot use the problem.
    UNFIT = "unfit"
    # The teacher gave it up.
    LEFT = "left"


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OwnProblem(_Body):
    question: _Text
    solution: Annotated[str, Field(min_length=1, max_length=8_000)]


class AddTeaching(_Body):
    """A project: problems of a bank, or your own, each taught by one teacher."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    recipe: str
    bank: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    # Instead of a bank.
    problems: Annotated[Sequence[OwnProblem], Field(max_length=_MOST_PROBLEMS)] = ()
    # The number of dialogues that are wanted, of a bank; each of your own problems is wanted once.
    dialogues: Annotated[int, Field(ge=1, le=_MOST_PROBLEMS)] = 100
    # The terms that a teacher agrees to before the first problem; empty for none.
    consent: Annotated[str, Field(max_length=8_000)] = ""


class TeachingProject(_Body):
    id: str
    name: str
    recipe: str
    dialogues: int
    # The dialogues that are kept, and those of the caller.
    done: int
    own: int
    # The run that keeps them.
    run: str
    consent: str
    # Whether the caller has agreed to it.
    consented: bool


class TeachingProjects(_Body):
    projects: Sequence[TeachingProject]


class TeacherMove(_Body):
    name: str
    meaning: str


class TeacherMessage(ChatMessage):
    # The teacher's move; empty for the student.
    move: str


class SeatView(_Body):
    """A seat as its teacher sees it; the id is empty where no problem is left."""

    id: str = ""
    project: str = ""
    state: State = State.DONE
    # The number of the turn that the teacher's next message belongs to.
    turn: int = 0
    question: str = ""
    solution: str = ""
    student: str = ""
    # The lines of the student's wrong solution.
    handed_in: Sequence[str] = ()
    # The plan that the dialogue follows, where the recipe has one.
    plan: Sequence[str] = ()
    messages: Sequence[TeacherMessage] = ()
    moves: Sequence[TeacherMove] = ()
    # Whether the teacher may calculate, and the programs of the message at hand with their output.
    calculates: bool = False
    programs: Sequence[Mapping[str, Any]] = ()
    # The bounds: messages and seconds that are left to the teacher.
    turns_left: int = 0
    seconds_left: float = 0.0
    # Why the student has not answered yet; it is asked again.
    fault: str = ""
    # Reasons against the message, which was not sent.
    warnings: Sequence[str] = ()
    # The questions after the dialogue.
    scheme: Scheme | None = None
    own: int = 0


class Compare(_Body):
    """The first wrong line of the student's solution, from 1, and what is wrong with it."""

    line: Annotated[int, Field(ge=1)]
    description: _Text
    seconds: _Seconds = 0.0


class Teach(_Body):
    # The turn that it belongs to: a message that is sent again is kept once.
    turn: Annotated[int, Field(ge=1)]
    text: _Text
    move: str = ""
    # From the student's message to this one, as far as the page was seen.
    seconds: _Seconds = 0.0
    # Whether it is sent in spite of warnings.
    anyway: bool = False


class Calculate(_Body):
    # The turn that it is for.
    turn: Annotated[int, Field(ge=1)]
    # Python, or an expression alone.
    code: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


class RateStudent(_Body):
    # By the questions of the scheme.
    values: Mapping[str, Any]
    seconds: _Seconds = 0.0


class KeptDialogue(_Body):
    run: str
    conversation: str


class ForgottenTeacher(_Body):
    # The dialogues that are deleted here, and those of them that a dataset has, for `soliloquy forget`.
    dialogues: int
    kept: Sequence[KeptDialogue]
