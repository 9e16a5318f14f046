"""MATHWELL: word problems, each written with the function that solves it, executed and judged by three criteria."""

from soliloquy.recipes.labels import Labels
from soliloquy.recipes.mathwell import (
    commissions,
    composer,
    judging,
    lessons,
    prompting,
    records,
    rules,
    words,
    writer,
)
from soliloquy.recipes.mathwell.labels_pb2 import ProblemLabels
from soliloquy.recipes.mathwell.scripted import SPEAKERS
from soliloquy.recipes.mathwell.scripted.noise import NOISE, RATES
from soliloquy.recipes.recipe import Recipe

RECIPE = Recipe(
    title="Word problems",
    story=words.STORY,
    labels=Labels(problem=ProblemLabels),
    topics=prompting.topics(),
    commissioned=commissions.commissioned,
    enrichment_prompt=prompting.writing,
    planner=writer.enrich,
    student=writer.begin,
    tutor=writer.commission,
    codegen=writer.write,
    composer=composer.finish,
    load_judge=judging.load_judge,
    review=rules.judged,
    check=rules.judged,
    agreeing={"right": (), "wrong": ()},
    columns=words.COLUMNS,
    evaluations={},
    record=records.record,
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.given_prompts,
    lessons=lessons.lessons,
    dialogue=lessons.dialogue,
    speakers=SPEAKERS,
    noise=NOISE,
    noise_rates=RATES,
)
