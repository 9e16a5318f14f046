"""Reads problems of other languages by their gloss, and gives them their own words back."""

from collections.abc import Sequence

from soliloquy.problems.files.file_steps import derived_slips
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.files.stated_results import stated_answer
from soliloquy.problems.files.step_questions import ENGLISH, ask_differently, phrases_in, unnamed_question
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.locales import Locale, gloss, locale
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Problem, Step


def glossed_answer(text: str, language: str) -> str:
    """Returns an answer as readers know it; a word behind its number that they do not know is what it counts."""
    read = gloss(text, language)
    number, _, things = read.rpartition(" ")
    is_count = bool(language) and things.isalpha() and stated_answer(read) is None
    return number if is_count and stated_answer(number) is not None else read


def glossed_row(row: ProblemRow, language: str) -> ProblemRow:
    texts = {name: gloss(getattr(row, name), language) for name in ("question", "solution", "detailed_solution")}
    steps = [
        step.model_copy(update={"explanation": gloss(step.explanation, language), "ask": gloss(step.ask, language)})
        for step in row.steps or ()
    ]
    answer = row.answer and row.answer.model_copy(update={"unit": gloss(row.answer.unit, language)})
    return row.model_copy(update={**texts, "steps": steps or None, "answer": answer})


def in_own_words(problem: Problem, row: ProblemRow, language: str) -> Problem:
    """Returns a problem that was made of the gloss of a row, with the words of the row."""
    own = Problem()
    own.CopyFrom(problem)
    own.language, own.question, own.solution = language, row.question, row.solution
    own.enrichment.detailed_solution = row.detailed_solution
    if not row.detailed_solution:
        own.ClearField("enrichment")
    known, phrases = locale(language), phrases_in(language)
    rows = row.steps or []
    told = [step.explanation for step in rows]
    if own.plan == PLAN_SOURCE_PROSE:
        told = _parts(row.detailed_solution or row.solution, own.steps, known)
    for at, step in enumerate(own.steps):
        symbol = step.result.symbol if step.HasField("result") else ""
        ask = (rows[at].ask if at < len(rows) else "") or unnamed_question(step.number, symbol, phrases)
        if at >= len(told):
            # Behind the steps of the solution the answer stands alone, or in another unit.
            is_answer = step.ask == ENGLISH.asks_answer
            ask = phrases.asks_answer if is_answer else phrases.converted.format(unit=step.result.unit)
        step.explanation = told[at] if at < len(told) else phrases.states_answer if is_answer else step.formula
        step.ask = ask
        if step.result.name == ENGLISH.result.format(number=step.number):
            step.result.name = phrases.result.format(number=step.number)
        if own.HasField("answer") and own.answer.symbol == step.result.symbol:
            own.answer.name = step.result.name
        if symbol and (at >= len(rows) or rows[at].slips is None):
            expression = parse_expression(step.expression) if step.expression else None
            del step.slips[:]
            step.slips.extend(derived_slips(expression, step.inputs, step.result, step.number, language))
    ask_differently(own.steps, own={step.ask for step in rows}, phrases=phrases)
    return own


def _parts(text: str, steps: Sequence[Step], known: Locale) -> list[str]:
    """Returns the parts of a text whose glosses are the explanations of the steps, as far as they are."""
    read, end, parts = "".join(gloss for _, gloss in known.pieces(text)), 0, list[str]()
    for step in steps:
        if (start := read.find(step.explanation, end)) < 0:
            break
        end = start + len(step.explanation)
        parts.append(known.original(text, start, end).strip())
    return parts
