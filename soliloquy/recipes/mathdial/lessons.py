"""Training samples from a conversation: the tutor's prompts and their answers.

`replies` is the paper's tutor response generation, for training only: in a run the tutor always knows the solutions
and has chosen its move.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from soliloquy.recipes.answers import TutorMessage
from soliloquy.recipes.claims import written_claims
from soliloquy.recipes.codegen import written_answers
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.lessons import calculation_in_chat, chat, lessons_of
from soliloquy.recipes.mathdial.answers import MoveChoice
from soliloquy.recipes.mathdial.claims import decides
from soliloquy.recipes.mathdial.labels_pb2 import ConversationLabels
from soliloquy.recipes.mathdial.moves import EVALUATIONS, FAREWELL, intent_name, move_name
from soliloquy.recipes.mathdial.prompting import TEMPLATES, grounded, outset, tutor_prompts
from soliloquy.recipes.recipe import Lesson, ReplyContext, TrainingMessage
from soliloquy.recipes.seat import refuse_taught
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.retry import Refused
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


def lessons(conversation: Conversation) -> list[Lesson]:
    """Returns the samples in order; skips programs that failed, and keeps those that repaired them."""
    _check(conversation)
    return lessons_of(tutor_prompts(conversation), partial(_answers, conversation))


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    """Returns the conversation as a chat: messages, decision and program, output as a tool message, move and reply."""
    _check(conversation)
    return chat(conversation, outset(conversation), partial(_said, conversation))


def _said(conversation: Conversation, turn: Turn) -> Iterator[tuple[str, str]]:
    if not turn.HasField("student"):
        yield "assistant", turn.tutor.text
        return
    if decides(conversation, turn):
        yield from calculation_in_chat(turn, *written_answers(turn))
    yield "assistant", f"{_choice(turn)}\n{turn.tutor.text}"


def _check(conversation: Conversation) -> None:
    if not ConversationLabels.FromString(conversation.labels).reasons_wanted and not conversation.person:
        raise Refused("an imported conversation has no prompts: use layout: replies")
    refuse_taught(conversation)


def _answers(conversation: Conversation, turn: Turn) -> Iterator[str]:
    """Yields the answer to each prompt of a turn, in order; empty for an answer not to learn from."""
    if decides(conversation, turn):
        yield from written_answers(turn)
    if turn.HasField("student"):
        yield _choice(turn)
    yield TutorMessage.written(text=turn.tutor.text, claims=written_claims(turn.tutor))


def _choice(turn: Turn) -> str:
    evaluation = EVALUATIONS[EVALUATION_LETTERS[turn.tutor.evaluation]]
    move, intent = move_name(turn.tutor), intent_name(turn.tutor)
    solved = (move, intent) == FAREWELL and evaluation == "correct"
    return MoveChoice.written(
        thoughts=turn.tutor.thoughts, evaluation=evaluation, move=move, intent=intent, solved="y" if solved else "n"
    )


def replies(conversation: Conversation, given: ReplyContext) -> list[Lesson]:
    """Returns a sample for each message of the tutor; if the move is given, only those with a known move."""
    return [
        Lesson(turn=turn.number, prompt=response_prompt(conversation, conversation.turns[:number], given), answer=text)
        for number, turn in enumerate(conversation.turns, start=1)
        if (text := turn.tutor.text) and (move_name(turn.tutor) or not given.move)
    ]


def response_prompt(conversation: Conversation, turns: Sequence[Turn], given: ReplyContext) -> Prompt:
    """Returns the prompt for the reply in the last of these turns."""
    told, texts = grounded(conversation, turns), _TEMPLATES.in_language(conversation.problem.language)
    asked, said = [texts.fill("asked")], [texts.fill("said", conversation=told["conversation"])]
    if given.grounding:
        grounds = {name: told[name] for name in ("question", "solution", "wrong")}
        asked.append(texts.fill("grounds", **grounds))
    if given.move:
        move = move_name(turns[-1].tutor)
        meaning = TEMPLATES.of(conversation.run.prompts).table("moves")[move]["meaning"]
        said.append(texts.fill("move", move=move, meaning=meaning))
    return Prompt(name="mathdial/responding", said=[("system", "\n\n".join(asked)), ("user", "\n\n".join(said))])
