"""ScaffoldLM: a plan of sub-questions, a student with drawn states, and a tutor that assesses before it answers."""

from soliloquy.recipes import codegen, reader
from soliloquy.recipes.person import Person
from soliloquy.recipes.recipe import Recipe
from soliloquy.recipes.scaffold import (
    composer,
    goals,
    lessons,
    plan_prompting,
    planner,
    prompting,
    rules,
    student,
    tutor,
)
from soliloquy.recipes.scaffold.answers import Tutored
from soliloquy.recipes.scaffold.memory import glossed_with_plan
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.seat import SEAT

RECIPE = Recipe(
    title="Dialogues along a plan",
    always_enriched=True,
    enrichment_prompt=plan_prompting.planning,
    planner=planner.enrich,
    refuses=planner.why_unplannable,
    student=student.reply,
    student_again=student.retry,
    tutor=tutor.check,
    codegen=codegen.code_writer(prompting.TEMPLATES),
    composer=composer.reply,
    reader=reader.message_reader(prompting.TEMPLATES),
    check=rules.check,
    rules=rules.RULES,
    judging=("scaffold/judging",),
    goals=goals.learning_goals,
    agreeing=POLICY["agreeing"],
    evaluations=POLICY["evaluations"],
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.conversation_prompts,
    lessons=lessons.lessons,
    glossed=glossed_with_plan,
    dialogue=lessons.dialogue,
    person=Person(
        visible_text={"scaffold/tutoring": Tutored.reply_so_far},
        open=student.open_conversation,
        record_student=student.record_message,
        record_tutor=student.record_reply,
    ),
    seat=SEAT,
)
