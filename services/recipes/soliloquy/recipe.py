"""Code Soliloquies: a tutor that calculates before it answers."""

from services.recipes.recipe import Recipe
from services.recipes.soliloquy import codegen, composer, prompting, records, restoring, rules, student, tutor

RECIPE = Recipe(
    student=student.reply,
    tutor=tutor.decide,
    codegen=codegen.write,
    composer=composer.reply,
    faults=rules.faults,
    checked=rules.checked,
    record=records.record,
    restore=restoring.restored,
    fingerprints=prompting.fingerprints,
    prompts=prompting.given_prompts,
)
