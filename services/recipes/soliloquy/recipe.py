"""Code Soliloquies: a tutor that calculates before it answers."""

from services.recipes.recipe import Recipe
from services.recipes.soliloquy import codegen, composer, filters, prompting, records, restoring, student, tutor

RECIPE = Recipe(
    student=student.reply,
    tutor=tutor.decide,
    codegen=codegen.write,
    composer=composer.reply,
    faults=filters.faults,
    record=records.record,
    restore=restoring.restored,
    fingerprints=prompting.fingerprints,
    prompts=prompting.given_prompts,
)
