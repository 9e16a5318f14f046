"""MathDial: a student who believes in a wrong solution, and a tutor who chooses a move before each reply."""

from soliloquy.recipes import codegen, reader
from soliloquy.recipes.answers import TutorMessage
from soliloquy.recipes.mathdial import belief, claims, composer, lessons, moves, planner, prompting, rules, student
from soliloquy.recipes.mathdial.confusion import sampling_refusal
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.seat import SEAT
from soliloquy.recipes.person import Person
from soliloquy.recipes.recipe import Recipe
from soliloquy.v1.conversation_pb2 import Ending

RECIPE = Recipe(
    title="Dialogues about a wrong solution",
    always_enriched=True,
    enrichment_prompt=prompting.enriching,
    planner=planner.enrich,
    refuses=sampling_refusal,
    student=student.reply,
    tutor=codegen.decider(prompting.deciding, claims.has_unsettled_number, asks_always=False),
    codegen=codegen.code_writer(prompting.TEMPLATES),
    composer=composer.reply,
    reader=reader.message_reader(prompting.TEMPLATES),
    check=rules.checked,
    rules=rules.RULES,
    complete=(Ending.ENDING_SOLVED, Ending.ENDING_TURN_LIMIT),
    incomplete=rules.incomplete,
    goals=belief.learning_goals,
    agreeing=POLICY["agreeing"],
    personas=prompting.profiles,
    evaluations=moves.EVALUATIONS,
    fingerprints=prompting.TEMPLATES.fingerprints,
    prompts=prompting.given_prompts,
    lessons=lessons.lessons,
    dialogue=lessons.dialogue,
    replies=lessons.replies,
    person=Person(
        visible_text={"mathdial/replying": TutorMessage.text_so_far},
        open=student.begin,
        prior_work=SEAT.handed_in,
    ),
    seat=SEAT,
)
