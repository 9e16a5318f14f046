"""Fills in the recipe's prompts, the templates of `prompts/`, from a conversation."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from soliloquy.recipes import claims, codegen, tutors
from soliloquy.recipes.codegen import has_run, output, program_prompts
from soliloquy.recipes.codes import word_of
from soliloquy.recipes.mathdial.answers import Category
from soliloquy.recipes.mathdial.belief import belief_told
from soliloquy.recipes.mathdial.claims import decides, settled_answer
from soliloquy.recipes.mathdial.confusion import confusion_of, numbered
from soliloquy.recipes.mathdial.labels_pb2 import Belief, Confusion, ConversationLabels, ErrorCategory, StudentLabels
from soliloquy.recipes.mathdial.moves import TABLES, intent_name, move_name
from soliloquy.recipes.prompt_checks import ANY
from soliloquy.recipes.prompts import beside
from soliloquy.recipes.reader import readings
from soliloquy.recipes.seat import is_taught
from soliloquy.recipes.templates import Templates, Texts, fill, persona_in, transcript
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, Problem, Turn

_DIALOGUE = Path(__file__).with_name("dialogue.txt")
_DECIDING = {"question", "solution", "conversation"}
_TUTORING = _DECIDING | {"name", "wrong", "confusion"}
TEMPLATES = Templates(
    Path(__file__).with_name("prompts"),
    {
        "solving": {"question"},
        "mistaking": {"question", "solution"},
        "describing": {"question", "solution", "wrong", "categories"},
        "student": {
            *("question", "claims", "name", "pronoun", "profile", "manner"),
            *("wrong", "belief", "conversation", "instruction"),
        },
        **claims.SLOTS,
        "deciding": _DECIDING,
        **codegen.SLOTS,
        "choosing": _TUTORING | {"moves", "calculated"},
        "calculated": {"output"},
        "uncalculated": set[str](),
        "tutor_persona": tutors.SLOTS,
        "replying": _TUTORING | {"told", "tutor_persona", "thoughts", "move", "intent", "meaning"},
    },
    {
        **TABLES,
        "beliefs": dict.fromkeys(("first", "held", "doubted", "given_up"), str),
        "categories": dict.fromkeys(get_args(Category), str),
        "names": {ANY: list},
        "profiles": {ANY: {"manner": str, "errors": list}},
        "tutors": tutors.TABLE,
    },
)


def enriching(problem: Problem, changed: Mapping[str, str]) -> Prompt:
    """Returns the prompt that samples a solution."""
    return TEMPLATES.of(changed).prompt("solving", question=problem.question)


def mistaking(problem: Problem, changed: Mapping[str, str]) -> Prompt:
    """Returns the prompt that asks for plausible mistakes."""
    return TEMPLATES.of(changed).prompt("mistaking", question=problem.question, solution=problem.solution)


def describing(problem: Problem, confusion: Confusion, changed: Mapping[str, str]) -> Prompt:
    texts = TEMPLATES.of(changed)
    return texts.prompt(
        "describing",
        question=problem.question,
        solution=problem.solution,
        wrong="\n".join(numbered(confusion)),
        categories="\n".join(f"- {name}: {meaning}" for name, meaning in texts.table("categories").items()),
    )


def student(conversation: Conversation, before: Sequence[Turn], belief: Belief) -> Prompt:
    """Returns the prompt for the student's message that follows these turns."""
    texts = _texts(conversation)
    stance, labels = (
        "first" if len(before) == 1 else word_of(Belief, belief),
        ConversationLabels.FromString(conversation.labels),
    )
    return texts.prompt(
        "student",
        question=conversation.problem.question,
        claims=claims.asked_claims(conversation.problem, texts),
        name=labels.student_name,
        pronoun=labels.pronoun,
        profile=conversation.persona,
        manner=persona_in(profiles(conversation.run.prompts), conversation),
        wrong=_wrong(conversation),
        belief=confusion_of(conversation.problem.enrichment).belief,
        conversation=transcript(before),
        stance=stance,
        instruction=texts.table("beliefs")[stance],
    )


def deciding(conversation: Conversation) -> Prompt:
    return _deciding(conversation, conversation.turns)


def choosing(conversation: Conversation) -> Prompt:
    return _choosing(conversation, conversation.turns[-1], grounded(conversation, conversation.turns))


def replying(conversation: Conversation) -> Prompt:
    return _replying(conversation, conversation.turns[-1], grounded(conversation, conversation.turns))


def tutor_prompts(conversation: Conversation) -> Iterator[tuple[Turn, list[Prompt]]]:
    """Yields each turn with the prompts of the tutor's states; a person answers none."""
    if is_taught(conversation):
        yield from ((turn, []) for turn in conversation.turns)
        return
    texts = _texts(conversation)
    for number, turn in enumerate(conversation.turns, start=1):
        turns = conversation.turns[:number]
        told = grounded(conversation, turns)
        prompts = [_replying(conversation, turn, told)] if turn.HasField("tutor") else []
        if turn.HasField("student"):
            decided = [_deciding(conversation, turns)] if decides(conversation, turn) else []
            programs = program_prompts(texts, turn.calculation)
            prompts = [*decided, *programs, _choosing(conversation, turn, told), *prompts]
        yield turn, prompts


def given_prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    """Returns every prompt that led to a conversation, from the present templates, with its turn."""
    problem, changed = conversation.problem, conversation.run.prompts
    confusion = confusion_of(problem.enrichment)
    given = [(0, enriching(problem, changed))]
    if confusion.requested or confusion.mutated:
        given.append((0, mistaking(problem, changed)))
    if confusion.solution:
        given.append((0, describing(problem, confusion, changed)))
    for turn, prompts in tutor_prompts(conversation):
        if turn.HasField("student") and not conversation.person:
            before = conversation.turns[: turn.number - 1]
            wanted = ConversationLabels.FromString(conversation.labels).reasons_wanted
            belief = belief_told(before, StudentLabels.FromString(turn.student.labels).reasons, wanted)
            given.append((turn.number, student(conversation, before, belief)))
        given += readings(TEMPLATES, conversation, turn)
        given += [(turn.number, prompt) for prompt in prompts]
    return given


def profiles(changed: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the descriptions of the student profiles by name."""
    return {name: profile["manner"] for name, profile in TEMPLATES.of(changed).table("profiles").items()}


def fitting_profiles(conversation: Conversation) -> Sequence[str]:
    """Returns the profiles that make the student's mistake likely; all if none does."""
    rows = _texts(conversation).table("profiles")
    category = word_of(ErrorCategory, confusion_of(conversation.problem.enrichment).category)
    return sorted(name for name, row in rows.items() if category in row["errors"]) or sorted(rows)


def outset(conversation: Conversation) -> str:
    """Returns the system message of a training chat; no run uses it as a prompt."""
    grounds = grounded(conversation, conversation.turns)
    template = beside(_DIALOGUE, conversation.problem.language).read_text("utf-8").strip()
    return fill(template, **grounds, moves=_moves(_texts(conversation)))


def _texts(conversation: Conversation) -> Texts:
    return TEMPLATES.of(conversation.run.prompts)


def _name(conversation: Conversation) -> str:
    return ConversationLabels.FromString(conversation.labels).student_name


def _deciding(conversation: Conversation, turns: Sequence[Turn]) -> Prompt:
    return _texts(conversation).prompt("deciding", **_asked(conversation, turns))


def _choosing(conversation: Conversation, turn: Turn, grounds: Mapping[str, str]) -> Prompt:
    texts, known = _texts(conversation), _known(conversation, turn)
    failed = texts.fill("uncalculated") if turn.calculation.attempts else ""
    calculated = texts.fill("calculated", output=known) if known else failed
    return texts.prompt("choosing", **grounds, moves=_moves(texts), calculated=calculated, output=known)


def _moves(texts: Texts) -> str:
    """Lists all moves and intents, one per line."""
    listed = []
    for move, row in texts.table("moves").items():
        listed.append(f"- {move}: {row['meaning']}")
        listed += [f"  - {intent}: {words}" for intent, words in row["intents"].items()]
    return "\n".join(listed)


def _known(conversation: Conversation, turn: Turn) -> str:
    """Returns what is known of the student's answer: from a program, or from what was settled before."""
    if turn.HasField("calculation"):
        return output(turn.calculation) if has_run(turn.calculation) else ""
    answer = settled_answer(conversation, turn)
    return answer.output if answer is not None else ""


def _replying(conversation: Conversation, turn: Turn, grounds: Mapping[str, str]) -> Prompt:
    reply, texts = turn.tutor, _texts(conversation)
    move, intent = move_name(reply), intent_name(reply)
    row = texts.table("moves")[move]
    return texts.prompt(
        "replying",
        **grounds,
        told=claims.asked_claims(conversation.problem, texts, "told"),
        tutor_persona=tutors.tutor_persona(conversation, texts),
        thoughts=reply.thoughts,
        move=move,
        intent=intent,
        meaning=f"{move} {row['meaning']}; here: {row['intents'][intent]}.",
    )


def grounded(conversation: Conversation, turns: Sequence[Turn]) -> dict[str, str]:
    """Returns the slots that choosing a move and replying share, for the last of these turns."""
    return {
        **_asked(conversation, turns),
        "name": _name(conversation),
        "wrong": _wrong(conversation),
        "confusion": confusion_of(conversation.problem.enrichment).description,
    }


def _asked(conversation: Conversation, turns: Sequence[Turn]) -> dict[str, str]:
    problem = conversation.problem
    return {
        "question": problem.question,
        "solution": problem.solution,
        "conversation": transcript(turns, for_reply=True),
    }


def _wrong(conversation: Conversation) -> str:
    return "\n".join(numbered(confusion_of(conversation.problem.enrichment)))
