"""MATHWELL: word problems, each written with the function that solves it, executed and judged by three criteria."""

from soliloquy.recipes.mathwell import (
    composer,
    judging,
    lessons,
    planner,
    prompting,
    records,
    restoring,
    rules,
    student,
    tutor,
    words,
    writer,
)
from soliloquy.recipes.mathwell.scripted import SPEAKERS
from soliloquy.recipes.recipe import Recipe

RECIPE = Recipe(
    title="Word problems",
    story=words.STORY,
    topics=prompting.topics(),
    enrichment_prompt=prompting.writing,
    planner=planner.enrich,
    student=student.begin,
    tutor=tutor.commission,
    codegen=writer.write,
    composer=composer.finish,
    load_judge=judging.load_judge,
    review=rules.judged,
    check=rules.judged,
    agreeing={"right": (), "wrong": ()},
    words=words.WORDS,
    remark=words.remark,
    record=records.record,
    restore=restoring.restore,
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.given_prompts,
    lessons=lessons.lessons,
    dialogue=lessons.dialogue,
    speakers=SPEAKERS,
)
