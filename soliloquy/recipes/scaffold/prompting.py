"""Fills the templates of `prompts/` in from a conversation."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from soliloquy.recipes import claims, codegen, tutors
from soliloquy.recipes.codegen import has_run, output, program_prompts
from soliloquy.recipes.prompts import beside
from soliloquy.recipes.reader import readings
from soliloquy.recipes.scaffold import plan_prompting
from soliloquy.recipes.scaffold.fit import settled_answer
from soliloquy.recipes.scaffold.learner import is_later, stance_of
from soliloquy.recipes.scaffold.memory import current_question, misfits, questions, solved_before, sub_question
from soliloquy.recipes.scaffold.plan_prompting import SLOTS
from soliloquy.recipes.scaffold.states import (
    COMPREHENSION,
    INCORRECT,
    NAMES,
    START,
    TABLES,
    UNDRAWN,
    drawn_state,
    found_state,
    is_understanding_tested,
    states,
    told_state,
)
from soliloquy.recipes.seat import is_taught
from soliloquy.recipes.templates import Templates, Texts, fill, one_line, transcript
from soliloquy.recipes.words import words, written
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, Judge, StudentReply, Turn

_DIALOGUE = Path(__file__).with_name("dialogue.txt")
_ASKED = {"question", "sub_question"}
_ANSWERED = _ASKED | {"history", "message"}
TEMPLATES = Templates(
    Path(__file__).with_name("prompts"),
    SLOTS
    | {
        "student": _ASKED | {"claims", "expected", "conversation", "instruction", "examples", "rejected"},
        **claims.SLOTS,
        "believing": {"because", "working"},
        "answered": set[str](),
        "student_again": {"tried"},
        "describing": _ANSWERED | {"solution"},
        **codegen.SLOTS,
        "calculated": {"output"},
        "tutor_persona": tutors.SLOTS,
        "judging": {"question", "plan", "conversation"},
        "tutoring": _ANSWERED
        | {"states", "examples", "plan", "told", "tutor_persona", "round", "solved", "understood"}
        | {"number", "count", "expected", "calculated"},
    },
    {**TABLES, "tutors": tutors.TABLE},
)


def student(conversation: Conversation, turn: Turn) -> Prompt:
    """Asks the student for its message in a turn; with the latest exchange alone once it has tried."""
    state, texts = NAMES[told_state(turn)], _texts(conversation)
    shown = texts.table("states")[state]
    back = words(conversation.problem.language)["sent_back"]
    tried = "".join(back.format(text=one_line(one.text), because=one_line(one.because)) for one in misfits(turn)[-1:])
    held = stance_of(turn.student).misconception
    before = conversation.turns[turn.number - 2 if tried else 0 : turn.number - 1]
    return texts.prompt(
        "student",
        **_question_slots(conversation, turn),
        claims=claims.asked_claims(conversation.problem, texts),
        expected=current_question(conversation, turn).answer,
        conversation=transcript(before),
        shown=state,
        working=held.working if held else "",
        instruction=_instruction(texts, conversation, turn),
        examples=shown["said"].strip(),
        rejected=texts.fill("student_again", tried=tried) if tried else "",
    )


def _instruction(texts: Texts, conversation: Conversation, turn: Turn) -> str:
    told, held = states(conversation)[NAMES[told_state(turn)]]["student"], stance_of(turn.student).misconception
    if told_state(turn) != INCORRECT or held is None:
        return told
    is_answered = is_later(conversation.turns[: turn.number - 1], turn)
    because, working = (
        written(text, conversation.problem.language) for text in (held.because or held.working, held.working)
    )
    belief = texts.fill("believing", because=because, working=working)
    return "\n".join([belief, texts.fill("answered")] if is_answered else [told, belief])


def describing(conversation: Conversation, turn: Turn) -> Prompt:
    """Asks for the description of a calculation before the tutor answers."""
    return _texts(conversation).prompt(
        "describing", **_answered_slots(conversation, turn), solution=conversation.problem.solution
    )


def tutoring(conversation: Conversation, turn: Turn) -> Prompt:
    """Shows the whole memory and the student's message; training uses the same prompt."""
    solved, texts = solved_before(conversation, turn), _texts(conversation)
    calculated = _calculated(conversation, turn)
    understanding = "tested" if is_understanding_tested(conversation) else "taken"
    return texts.prompt(
        "tutoring",
        **_answered_slots(conversation, turn),
        **_states(texts.table("states"), understanding),
        plan=_plan(conversation),
        told=claims.asked_claims(conversation.problem, texts, "told"),
        tutor_persona=tutors.tutor_persona(conversation, texts),
        round=str(turn.number),
        count=str(len(questions(conversation))),
        expected=current_question(conversation, turn).answer,
        solved=", ".join(str(number) for number, done in enumerate(solved, start=1) if done)
        or words(conversation.problem.language)["none"],
        understanding=understanding,
        understood=texts.table("understanding")[understanding],
        output=calculated,
        calculated=texts.fill("calculated", output=calculated) if calculated else "",
    )


def _calculated(conversation: Conversation, turn: Turn) -> str:
    """Returns what is known of the answer: from a program, or from what was settled before the conversation."""
    if has_run(turn.calculation):
        return output(turn.calculation)
    known = settled_answer(conversation, turn)
    return known.output if known is not None and known.right is not None else ""


def judging(conversation: Conversation) -> Prompt:
    """Asks whether a finished session is to be kept."""
    return _texts(conversation).prompt(
        "judging",
        question=conversation.problem.question,
        plan=_plan(conversation),
        conversation=transcript(conversation.turns),
    )


def chat_preamble(conversation: Conversation) -> str:
    """Returns the system message of the chat layout; no prompt of a run."""
    template = beside(_DIALOGUE, conversation.problem.language).read_text("utf-8").strip()
    return fill(template, plan=_plan(conversation), names=", ".join(states(conversation)))


def conversation_prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    """Rebuilds every prompt that led to a conversation, with its turn; turn 0 precedes the first message."""
    planned = [(0, prompt) for prompt in plan_prompting.plan_prompts(conversation.problem, conversation.run.prompts)]
    return (
        planned
        + [
            asked
            for turn in conversation.turns
            for tried, answered in _tries(turn)
            for asked in (
                *readings(TEMPLATES, conversation, turn),
                *((turn.number, prompt) for prompt in _try_prompts(conversation, tried, answered=answered)),
            )
        ]
        + [
            (turn.number, judging(conversation))
            for turn in conversation.turns[-1:]
            if any(call.prompt == "scaffold/judging" for call in turn.calls)
        ]
    )


def _texts(conversation: Conversation) -> Texts:
    return TEMPLATES.of(conversation.run.prompts)


def _try_prompts(conversation: Conversation, tried: Turn, *, answered: bool) -> Iterator[Prompt]:
    if drawn_state(tried) not in (START, UNDRAWN):
        yield student(conversation, tried)
    if is_taught(conversation):
        return
    if tried.HasField("calculation"):
        yield describing(conversation, tried)
        yield from program_prompts(_texts(conversation), tried.calculation)
    if answered:
        yield tutoring(conversation, tried)


def _tries(turn: Turn) -> Iterator[tuple[Turn, bool]]:
    """Yields the turn as it was at each of the student's tries, and whether the tutor was asked about that try."""
    rejected = misfits(turn)
    for place, one in enumerate(rejected):
        tried = Turn(number=turn.number, labels=turn.labels)
        tried.student.CopyFrom(StudentReply(text=one.text, labels=turn.student.labels))
        tried.rejected.extend(rejected[:place])
        if one.HasField("calculation"):
            tried.calculation.CopyFrom(one.calculation)
        yield tried, one.judge == Judge.JUDGE_MODEL
    if turn.student.text:
        yield turn, turn.HasField("tutor")


def _question_slots(conversation: Conversation, turn: Turn) -> dict[str, str]:
    target = current_question(conversation, turn)
    return {
        "question": conversation.problem.question,
        "number": str(sub_question(turn)),
        "steps": " ".join(map(str, target.steps)),
        "sub_question": target.question,
    }


def _answered_slots(conversation: Conversation, turn: Turn) -> dict[str, str]:
    """Returns what both of the tutor's prompts show: the message, and what it answers."""
    return {
        **_question_slots(conversation, turn),
        "history": "\n".join(
            _history(one, conversation.problem.language) for one in conversation.turns[: turn.number - 1]
        ),
        "message": turn.student.text,
    }


def _states(table: Mapping[str, Mapping[str, str]], understanding: str) -> dict[str, str]:
    """Returns the slots that tell the tutor of all states: it finds by itself which one a message shows."""
    meanings = (f"- {name.capitalize()}: {row['meaning']}; {row['tutor']}" for name, row in table.items())
    # The example of a student who says that it understands tells the answer.
    left_out = NAMES[COMPREHENSION] if understanding == "tested" else ""
    examples = (row["turn"].strip() for name, row in table.items() if name != left_out)
    return {"states": "\n".join(meanings), "examples": "\n\n".join(examples)}


def _plan(conversation: Conversation) -> str:
    plan = words(conversation.problem.language)["plan"]
    return "\n".join(
        plan.format(number=number, question=one.question, answer=one.answer)
        for number, one in enumerate(questions(conversation), start=1)
    )


def _history(turn: Turn, language: str) -> str:
    state = NAMES[found_state(turn)].capitalize()
    return f"{words(language)['round'].format(number=turn.number, state=state)}\n{transcript([turn])}"
