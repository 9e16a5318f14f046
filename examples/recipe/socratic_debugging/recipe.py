"""Socratic debugging: the tutor runs the student's program before each reply, and leads to the bug by questions."""

from functools import partial

from socratic_debugging import prompting, rules, student, tutor
from socratic_debugging.program import POLICY
from socratic_debugging.scripted import SPEAKERS
from soliloquy.recipes.person import Person
from soliloquy.recipes.recipe import Recipe
from soliloquy.runtime.answers import partial_field

RECIPE = Recipe(
    title="Socratic debugging",
    story="A student explains a short program with a bug. The tutor runs it before each reply and asks one question.",
    student=student.reply,
    tutor=tutor.decide,
    codegen=tutor.write,
    composer=tutor.guide,
    check=rules.check,
    agreeing=POLICY["agreeing"],
    evaluations={"a": "a change that does not help", "b": "the fix", "g": "an explanation without a change"},
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.prompts,
    lessons=prompting.lessons,
    dialogue=prompting.dialogue,
    speakers=SPEAKERS,
    person=Person(visible_text={"debugging/tutoring": partial(partial_field, field="Text")}),
)
