"""Code Soliloquies: a tutor that calculates before it answers."""

from soliloquy.recipes import codegen, reader
from soliloquy.recipes.person import Guide, Person
from soliloquy.recipes.recipe import Recipe
from soliloquy.recipes.soliloquy import codes, composer, goals, lessons, planner, prompting, rules, student, truth
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.recipes.soliloquy.seat import SEAT
from soliloquy.runtime.files import table_beside

RECIPE = Recipe(
    enrichment_prompt=prompting.enriching,
    planner=planner.enrich,
    student=student.reply,
    tutor=codegen.decider(prompting.deciding, truth.has_unsettled_number),
    codegen=codegen.code_writer(prompting.TEMPLATES),
    composer=composer.reply,
    reader=reader.message_reader(prompting.TEMPLATES),
    check=rules.check,
    rules=rules.RULES,
    incomplete=rules.incomplete,
    goals=goals.learning_goals,
    agreeing=rules.POLICY["agreeing"],
    evaluations=codes.WORDS["evaluations"],
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.conversation_prompts,
    lessons=lessons.lessons,
    dialogue=lessons.dialogue,
    person=Person(
        visible_text=dict.fromkeys(("soliloquy/received_python", "soliloquy/no_python"), Reply.text_so_far),
        guide=Guide(**table_beside(__file__, "guide.toml")),
    ),
    seat=SEAT,
)
