"""Training samples from a conversation: the tutor's prompts and their answers."""

from collections.abc import Iterator

from soliloquy.recipes.codegen import output, written_answers
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.lessons import lessons_of
from soliloquy.recipes.mathdial.answers import EVALUATIONS, MoveChoice
from soliloquy.recipes.mathdial.labels_pb2 import ConversationLabels
from soliloquy.recipes.mathdial.moves import FAREWELL, intent_name, move_name
from soliloquy.recipes.mathdial.prompting import outset, tutor_prompts
from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_WORDS = {letter: word for word, letter in EVALUATIONS.items()}


def lessons(conversation: Conversation) -> list[Lesson]:
    """Returns the samples in order; skips programs that failed, and keeps those that repaired them."""
    _check(conversation)
    return lessons_of(tutor_prompts(conversation), _answers)


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    """Returns the conversation as a chat: messages, decision and program, output as a tool message, move and reply."""
    _check(conversation)
    told = [TrainingMessage("system", outset(conversation), turn=0)]
    for turn in conversation.turns:
        if not turn.HasField("student"):
            told.append(TrainingMessage("assistant", turn.tutor.text, turn=turn.number, learned=True))
            continue
        told.append(TrainingMessage("user", turn.student.text, turn=turn.number))
        decision, *programs, choice, reply = _answers(turn)
        if programs and programs[-1]:
            told.append(TrainingMessage("assistant", f"{decision}\n{programs[-1]}", turn=turn.number, learned=True))
            told.append(TrainingMessage("tool", output(turn.calculation), turn=turn.number))
        told.append(TrainingMessage("assistant", f"{choice}\n{reply}", turn=turn.number, learned=True))
    return told


def _check(conversation: Conversation) -> None:
    if not ConversationLabels.FromString(conversation.labels).reasons_wanted and not conversation.person:
        raise Refused("an imported conversation has no prompts: use layout: replies")


def _answers(turn: Turn) -> Iterator[str]:
    """Yields the answer to each prompt of a turn, in order; empty for an answer not to learn from."""
    if turn.HasField("student"):
        yield from written_answers(turn)
        yield _choice(turn)
    yield turn.tutor.text


def _choice(turn: Turn) -> str:
    evaluation = _WORDS[EVALUATION_LETTERS[turn.tutor.evaluation]]
    move, intent = move_name(turn.tutor), intent_name(turn.tutor)
    solved = (move, intent) == FAREWELL and evaluation == "correct"
    return MoveChoice.written(
        thoughts=turn.tutor.thoughts, evaluation=evaluation, move=move, intent=intent, solved="y" if solved else "n"
    )
