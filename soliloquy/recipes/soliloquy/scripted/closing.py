"""Closes a step or the whole problem: the idea that nobody has told, and words of farewell."""

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part
from soliloquy.recipes.scripted.slips import split_working
from soliloquy.recipes.soliloquy.scripted.hints import step_facts
from soliloquy.recipes.soliloquy.scripted.phrases import book, tutor_book
from soliloquy.recipes.soliloquy.scripted.steps import working
from soliloquy.texts.phrases import says


def untold_idea(reading: ParsedPrompt, said: str) -> str:
    """Returns the idea of a step that has been solved; empty if the tutor or the student has told it."""
    explanation = step_facts(reading)["explanation"]
    return "" if says(said, explanation.partition(". ")[0].rstrip(".")) else explanation


def farewell(reading: ParsedPrompt, *, told: bool) -> Part:
    """Says goodbye; who was told the last answer is not praised for having found it."""
    options = tutor_book(reading).wordings("tutor", "farewell", name=reading.step.result.name, hard=_hardest(reading))
    return Part(options=[text for text in options if not told or not book().cue("own_work").search(text)])


def _hardest(reading: ParsedPrompt) -> str:
    """Names the quantity with which the student had trouble; empty if there was none, or it has no name."""
    said = " ".join(reading.messages(student=True)[:-1])
    trouble = (
        step.result.name
        for step in reading.problem.steps
        if step.result.name
        and any(
            slip.working and says(said, shown)
            for slip in step.slips
            if (shown := split_working(slip)[1]) != working(step)
        )
    )
    return next(trouble, "")
