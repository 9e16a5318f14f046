"""MATHWELL: word problems, each written with the function that solves it, executed and judged by three criteria."""

from soliloquy.recipes.recipe import Recipe
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy_papers.mathwell import commissions, composer, judging, lessons, prompting, rules, writer
from soliloquy_papers.mathwell.scripted.noise import NOISE, RATES
from soliloquy_papers.mathwell.scripted.speakers import SPEAKERS

_STORY = """\
Each word problem was written to order, together with a Python function that solves it. The function ran in a sandbox,
and what it returned is the answer; both were then held against three criteria: solvable, accurate, appropriate."""
RECIPE = Recipe(
    title="Word problems",
    story=_STORY,
    topics=prompting.topics,
    commissioned=commissions.commissioned,
    enrichment_prompt=prompting.writing,
    planner=writer.enrich,
    student=writer.begin,
    tutor=writer.commission,
    codegen=writer.write,
    composer=composer.finish,
    load_judge=judging.load_judge,
    check=rules.judged,
    # Its composer judges, and the mildest of several judgements is not the best.
    ranked=(),
    complete=Ending.values(),
    agreeing={"right": (), "wrong": ()},
    evaluations={},
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.given_prompts,
    lessons=lessons.lessons,
    dialogue=lessons.dialogue,
    speakers=SPEAKERS,
    noise=NOISE,
    noise_rates=RATES,
)
