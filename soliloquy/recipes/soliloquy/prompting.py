"""Fills the templates of `prompts/` in from a conversation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from soliloquy.recipes import claims, codegen, tutors
from soliloquy.recipes.codegen import has_run, output, program_prompts
from soliloquy.recipes.codes import INTENTS, STRATEGIES
from soliloquy.recipes.learner.knowledge import EVIDENCE, Shares
from soliloquy.recipes.prompt_checks import ANY, Kind
from soliloquy.recipes.prompts import beside
from soliloquy.recipes.reader import readings
from soliloquy.recipes.seat import is_taught
from soliloquy.recipes.soliloquy.facts import Facts
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.recipes.soliloquy.progress import is_asked_for_reason, progress_by_turn
from soliloquy.recipes.step_text import step_text, steps_text
from soliloquy.recipes.templates import Templates, Texts, fill, persona_in, transcript
from soliloquy.recipes.words import words, written
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.seeds import draw
from soliloquy.truth.number_format import format_rounded, with_unit
from soliloquy.v1.conversation_pb2 import (
    PLAN_SOURCE_MODEL,
    Conversation,
    Intent,
    Knowledge,
    Problem,
    StudentReply,
    Turn,
)

_DIALOGUE = Path(__file__).with_name("dialogue.txt")
_DECIDING = {"question", "solution", "conversation", "progress"}
_REPLYING = _DECIDING | {"tutor", "told", "tutor_persona"}
_STANCES = {
    Knowledge.KNOWLEDGE_KNOWN: "known",
    Knowledge.KNOWLEDGE_SHAKY: "shaky",
    Knowledge.KNOWLEDGE_MISTAKEN: "mistaken",
    Knowledge.KNOWLEDGE_CORRECTED: "corrected",
}
SLOTS = {
    "enriching": {"question", "solution", "steps", "count"},
    **claims.SLOTS,
    "student": {"question", "claims", "persona", "manner", "conversation", "instruction"},
    "knowing": {"step"},
    "believing": {"because", "working", "value"},
    "deciding": _DECIDING,
    **codegen.SLOTS,
    "received_python": _REPLYING | {"description", "output", "reason"},
    "asking_why": set[str](),
    "no_python": _REPLYING | {"failure"},
    "no_python_failed": set[str](),
    "tutor": {"control"},
    "control": set[str](),
    "tutor_persona": tutors.SLOTS,
}
TABLES: Mapping[str, Kind] = {
    "intents": dict.fromkeys(("opening", *_STANCES.values(), "reason", "still", *STRATEGIES.values()), str),
    "learners": {
        ANY: {"share": float, "mistaken": float, "shaky": float, "evidence": dict.fromkeys(EVIDENCE, float)},
    },
    "personas": {ANY: {"share": float, "manner": str}},
    "tutors": tutors.TABLE,
    "asking": {"why": float},
}
TEMPLATES = Templates(Path(__file__).with_name("prompts"), SLOTS, TABLES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Persona:
    """A kind of student: how common it is, and how it writes."""

    share: float
    manner: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Learner:
    """A kind of learner: how common it is, and what it knows."""

    share: float
    shares: Shares


def enriching(problem: Problem, changed: Mapping[str, str]) -> Prompt:
    return TEMPLATES.of(changed).prompt(
        "enriching",
        question=problem.question,
        solution=problem.solution,
        steps=steps_text(problem, with_results=False),
        count=str(len(problem.steps)),
    )


def student(conversation: Conversation, before: Sequence[Turn], said: StudentReply) -> Prompt:
    """Asks for the student's message that follows these turns; `said` has its intent and its labels."""
    texts, labels = _texts(conversation), StudentLabels.FromString(said.labels)
    step, tries = _place(conversation, before)
    is_asked_why = bool(before) and is_asked_for_reason(before[-1])
    kind = "reason" if is_asked_why and said.intent == Intent.INTENT_RIGHT else INTENTS[said.intent]
    if labels.HasField("misconception"):
        # The message may have given its mistake up since.
        kind, labels.knowledge = INTENTS[Intent.INTENT_WRONG], Knowledge.KNOWLEDGE_MISTAKEN
    return texts.prompt(
        "student",
        question=conversation.problem.question,
        claims=claims.asked_claims(conversation.problem, texts),
        persona=conversation.persona,
        manner=persona_in(personas(conversation.run.prompts), conversation).manner,
        conversation=transcript(before),
        kind=kind,
        knowledge=_STANCES.get(labels.knowledge, ""),
        step=str(step),
        tries=str(tries),
        working=labels.misconception.working,
        instruction=_instruction(
            texts, kind, labels, before, _known(conversation.problem, step), conversation.problem.language
        ),
    )


def _known(problem: Problem, number: int) -> str:
    """Returns a step with its result, if that is settled: what a student knows that is to be right."""
    is_settled = Facts(problem).settled_result(number) is not None
    return step_text(problem, problem.steps[number - 1], with_result=is_settled)


def _instruction(
    texts: Texts, kind: str, labels: StudentLabels, before: Sequence[Turn], known: str, language: str
) -> str:
    told = texts.table("intents")
    if kind in ("opening", "reason"):
        return str(told[kind])
    if kind == "right" or not labels.HasField("misconception"):
        unknown = "known" if kind == "right" else "mistaken"
        way = STRATEGIES.get(labels.strategy) or _STANCES.get(labels.knowledge, unknown)
        is_right = way in ("known", "corrected")
        return f"{told[way]}\n{texts.fill('knowing', step=known)}" if is_right else str(told[way])
    held = labels.misconception
    value = with_unit(format_rounded(held.value, 4), held.unit) if held.value else words(language)["value"]
    because = held.because or held.working
    told_belief = {"because": because, "working": held.working, "value": value}
    belief = texts.fill("believing", **{name: written(text, language) for name, text in told_belief.items()})
    return f"{told['still']}\n{belief}" if is_told_before(labels, before) else belief


def is_told_before(labels: StudentLabels, before: Sequence[Turn]) -> bool:
    """Whether the message before was about the same misconception, so that the tutor has answered it."""
    last = StudentLabels.FromString(before[-1].student.labels) if before else StudentLabels()
    return labels.HasField("misconception") and last.misconception.working == labels.misconception.working


def _place(conversation: Conversation, before: Sequence[Turn]) -> tuple[int, int]:
    """Returns the step that the next message works on, and how many messages have been about it."""
    steps = [progress.step for progress in progress_by_turn(conversation)[: len(before) + 1]]
    # The opening is no answer.
    return steps[-1], sum(1 for _ in takewhile(steps[-1].__eq__, reversed(steps[1:-1])))


def deciding(conversation: Conversation) -> Prompt:
    return _texts(conversation).prompt("deciding", **_heard(conversation, len(conversation.turns)))


def composing(conversation: Conversation) -> Prompt:
    return _composing(conversation, len(conversation.turns))


def tutor_prompts(conversation: Conversation) -> Iterator[tuple[Turn, list[Prompt]]]:
    """Yields each turn with the prompts of the tutor's states: deciding, each attempt at the code, composing."""
    texts = _texts(conversation)
    for number, turn in enumerate(conversation.turns[: len(progress_by_turn(conversation))], start=1):
        programs = program_prompts(texts, turn.calculation)
        decided = texts.prompt("deciding", **_heard(conversation, number))
        yield turn, [decided, *programs, _composing(conversation, number)]


def chat_preamble(conversation: Conversation) -> str:
    """Returns the system message of a training chat; no run uses it as a prompt."""
    problem = conversation.problem
    template = beside(_DIALOGUE, problem.language).read_text("utf-8").strip()
    texts = _texts(conversation)
    told, control = claims.asked_claims(problem, texts, "told"), texts.fill("control")
    return fill(template, question=problem.question, solution=_solution(problem), told=told, control=control)


def conversation_prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    """Rebuilds every prompt that led to a conversation, with its turn; turn 0 precedes the first message."""
    problem = conversation.problem
    given = [(0, enriching(problem, conversation.run.prompts))] if problem.enrichment.calls else []
    for turn, prompts in tutor_prompts(conversation):
        if not conversation.person:
            before = conversation.turns[: turn.number - 1]
            given.append((turn.number, student(conversation, before, turn.student)))
        given += readings(TEMPLATES, conversation, turn)
        given += [(turn.number, prompt) for prompt in prompts if not is_taught(conversation)]
    return given


def _texts(conversation: Conversation) -> Texts:
    return TEMPLATES.of(conversation.run.prompts)


def _composing(conversation: Conversation, number: int) -> Prompt:
    """Without an output the tutor is told that the program failed, so that it does not guess a verdict."""
    turn, texts = conversation.turns[number - 1], _texts(conversation)
    heard = _heard(conversation, number)
    told = {
        **heard,
        "told": claims.asked_claims(conversation.problem, texts, "told"),
        "tutor_persona": tutors.tutor_persona(conversation, texts),
        "tutor": texts.fill("tutor", control=texts.fill("control")),
        "asks_why": "y" if not heard["is_asked_why"] and _asks_why(conversation, number) else "",
    }
    calculation = turn.calculation
    if has_run(calculation):
        reason = texts.fill("asking_why") if told["asks_why"] else ""
        return texts.prompt(
            "received_python",
            **told,
            description=calculation.description,
            output=output(calculation),
            reason=reason,
        )
    failure = texts.fill("no_python_failed") if turn.HasField("calculation") else ""
    return texts.prompt("no_python", **told, failure=failure)


def _heard(conversation: Conversation, number: int) -> dict[str, str]:
    """Returns the slots of what the tutor hears at a turn."""
    progress = progress_by_turn(conversation)[number - 1]
    is_asked_why = number > 1 and is_asked_for_reason(conversation.turns[number - 2])
    return {
        "question": conversation.problem.question,
        "solution": _solution(conversation.problem),
        "conversation": transcript(conversation.turns[:number], for_reply=True),
        "progress": words(conversation.problem.language)["progress"].format(
            step=progress.step, steps=progress.steps, wrong=progress.wrong_answers
        ),
        "step": str(progress.step),
        "wrong_answers": str(progress.wrong_answers),
        "is_asked_why": "y" if is_asked_why else "",
    }


def _asks_why(conversation: Conversation, turn: int) -> bool:
    """Draws whether a right answer is asked for its reason; that of a person cannot be judged."""
    if conversation.person:
        return False
    share: float = _texts(conversation).table("asking")["why"]
    return draw(conversation.run.seed, conversation.id, turn, "why").random() < share


def _solution(problem: Problem) -> str:
    """Returns the solution that the tutor leads by; a plan that a model read in one is shown behind it."""
    steps = problem.enrichment.detailed_solution or steps_text(problem, with_results=False)
    return f"{problem.solution}\n\n{steps}" if problem.plan == PLAN_SOURCE_MODEL else steps


def learners(changed: Mapping[str, str]) -> Mapping[str, Learner]:
    return {
        name: Learner(
            share=row["share"],
            shares=Shares(
                mistaken=row["mistaken"], shaky=row["shaky"], evidence=[row["evidence"][one] for one in EVIDENCE]
            ),
        )
        for name, row in TEMPLATES.of(changed).table("learners").items()
    }


def personas(changed: Mapping[str, str]) -> Mapping[str, Persona]:
    return {name: Persona(**persona) for name, persona in TEMPLATES.of(changed).table("personas").items()}
