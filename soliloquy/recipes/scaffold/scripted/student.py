"""Plays the student: shows the requested state, and sometimes another until the message is sent back."""

from collections.abc import Iterator
from random import Random

from soliloquy.recipes.scaffold.expected_answers import expects_formula, expects_number, final_number, gives_expected
from soliloquy.recipes.scaffold.learner import said, wrong_answers
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.scripted.phrases import book
from soliloquy.recipes.scaffold.scripted.steps import step, target, working
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase, verbatim
from soliloquy.recipes.scripted.slips import belief, is_of_the_pen, split_working
from soliloquy.recipes.scripted.stated import message
from soliloquy.runtime.model import ModelRefused
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import written_value
from soliloquy.v1.conversation_pb2 import Quantity, Slip, Step

# The wordings of an answer that are tried: in some, another number would be taken for it.
_TRIED = 4


def reply(reading: ParsedPrompt, rng: Random) -> str:
    kinds = list(POLICY["states"]["shares"])
    kind = reading.attributes("state").get("kind", "")
    if kind not in kinds:
        raise ModelRefused(f"the <state> of {reading.prompt} has kind {kind!r}; it must be one of {', '.join(kinds)}")
    if not reading.has("rejected") and rng.random() < book().tables["student"]["rates"]["unlike"]:
        kind = rng.choice([other for other in kinds if other != kind])
    if kind == "correct":
        parts = [*_reason(reading), *_right(reading, rng)]
    elif kind == "incorrect":
        parts = [*_reason(reading), *_wrong(reading, rng)]
    else:
        parts = [book().part("student", "says", kind, name=step(reading).result.name)]
    text = capitalize(rephrase(parts, rng, reading.word_limit, reading.messages(student=True)))
    return message(text, _result(text, reading) if kind in ("correct", "incorrect") else ())


def _result(text: str, reading: ParsedPrompt) -> Iterator[Quantity]:
    """Yields the result that a message gives for the sub-question; the last step that it covers may have no symbol."""
    if expects_number(target(reading)) and (found := final_number(text)):
        yield Quantity(symbol=step(reading).result.symbol, value=found.value)


def _right(reading: ParsedPrompt, rng: Random) -> list[Part]:
    wanted, at = target(reading), step(reading)
    answer = wanted.answer.rstrip(".")
    is_worked = expects_number(wanted) and written_value(at.result.value, at.result.unit) == answer
    kind = "formula" if expects_formula(wanted.answer) else "correct"
    slots = {"answer": answer, "working": working(at) if is_worked else "", "name": _name(at) if is_worked else ""}
    answers = list(book().wordings("student", "says", kind, **slots))
    rng.shuffle(answers)
    # Of "the result of step 1 180°" another number may be read.
    read_as = (True,) if expects_number(wanted) else (True, None)
    fitting = [text for text in answers[:_TRIED] if gives_expected(text, wanted) in read_as]
    return [_lead(reading), Part(options=fitting or [f"{answer}."])]


def _reason(reading: ParsedPrompt) -> list[Part]:
    """Says why the answer before was right, if the tutor has asked for that along with what comes next."""
    if not _is_asked(reading, "asks_why"):
        return []
    said = reading.messages(student=True)[-1]
    solved = next((one for one in reversed(reading.problem.steps) if _is_told(said, one)), None)
    idea = solved.explanation.partition(". ")[0].rstrip(".") if solved else ""
    idea = "" if any(sign.isdigit() or sign in "=?" for sign in idea) else idea
    return [book().part("student", "says", "reason", idea=idea)]


def _is_told(said: str, one: Step) -> bool:
    value = one.HasField("result") and says(said, written_value(one.result.value, one.result.unit))
    return value or bool(one.formula and says(said, one.formula)) or bool(working(one) and says(said, working(one)))


def _wrong(reading: ParsedPrompt, rng: Random) -> list[Part]:
    """Gives the wrong answer of the misconception that the prompt names, and its reason if asked or now and then."""
    wanted, at = target(reading), step(reading)
    held = reading.attributes("misconception").get("working", "") if reading.has("misconception") else ""
    ways = [slip for slip in wrong_answers(at, wanted) if not held or slip.working == held]
    if not ways:
        return [book().part("student", "says", "mistaken")]
    slip = rng.choice(ways)
    is_asked = _is_asked(reading, "asks_how")
    is_again = _has_said(reading, slip)
    lead = _lead(reading)
    numbers = split_working(slip)[1]
    # Asked how, a student without a working to show says why.
    because = slip.because if is_asked and not numbers else belief(slip)
    if is_asked or is_again:
        lead = book().part("student", "says", "explaining" if is_asked else "unconvinced")
    reason = Part(options=())
    is_told = any(says(text, because.rstrip(".")) for text in reading.messages(student=True)[-3:])
    if because and (is_asked or (not is_told and rng.random() < book().tables["student"]["rates"]["gives_reason"])):
        # Who explains itself has said so.
        reason = verbatim(because) if is_again else book().part("student", "says", "belief", because=because)
    kind = "wrongly" if expects_formula(wanted.answer) or not at.HasField("result") else "incorrect"
    slots = {
        "wrong": numbers if kind == "incorrect" else said(slip, wanted),
        "slip": written_value(slip.value, slip.unit),
    }
    if is_asked and kind == "incorrect" and numbers:
        kind = "worked"
    answers = list(book().wordings("student", "says", kind, **slots))
    rng.shuffle(answers)
    fitting = [text for text in answers[:_TRIED] if gives_expected(text, wanted) is not True]
    return [lead, reason, Part(options=fitting or [f"{slots['slip']}."])]


def _name(at: Step) -> str:
    """Returns what a result is called; empty if its unit says that again."""
    return "" if at.result.unit and at.result.unit in at.result.name else at.result.name


def _lead(reading: ParsedPrompt) -> Part:
    """Returns a transition to an answer: after help, after a change of mind, or at a new sub-question."""
    if reading.attributes("state").get("knowledge") == "corrected":
        wanted, said = target(reading), (slip for slip in step(reading).slips if _has_said(reading, slip))
        lapse = next((slip for slip in said if is_of_the_pen(slip)), None)
        # The number that was miscopied may be read as a part of the way that is asked for.
        if lapse and gives_expected(f"{lapse.because} {wanted.answer}", wanted) is not False:
            return Part(options=(lapse.because,), optional=True)
        return book().part("student", "says", "corrected")
    if _is_asked(reading, "asks_why"):
        return Part(options=())
    if reading.attributes("state").get("place") == "later":
        strays = book().cue("irrelevant").search(reading.messages(student=True)[-1])
        return book().part("student", "says", "refocused" if strays else "helped")
    return book().part("student", "says", "lead")


def _is_asked(reading: ParsedPrompt, cue: str) -> bool:
    return any(book().cue(cue).search(asked) for asked in reading.messages(student=False)[-1:])


def _has_said(reading: ParsedPrompt, slip: Slip) -> bool:
    value = written_value(slip.value, slip.unit)
    told = reading.messages(student=True)[1:][-1:]
    return any(says(text, value) or says(text, slip.working) for text in told)
