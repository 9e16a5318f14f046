"""Draws who the tutor is. A persona changes how the tutor says things, and nothing of what a recipe has it do."""

from soliloquy.recipes.prompt_checks import ANY, Kind
from soliloquy.recipes.seat import is_taught
from soliloquy.recipes.templates import Texts
from soliloquy.runtime.failure import Refused
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation

# The kind of `shared_prompts/tutors.toml`, and the slots of `shared_prompts/tutor_persona.txt`.
TABLE: Kind = {ANY: {"share": float, "manner": str}}
SLOTS = {"tutor_name", "manner"}


def draw_tutor(conversation: Conversation, texts: Texts) -> None:
    """Draws the persona that the tutor keeps for the whole conversation; for a person's tutor none is drawn."""
    shares = {name: row["share"] for name, row in texts.table("tutors").items()}
    choice = draw(conversation.run.seed, conversation.id, "tutor persona")
    conversation.tutor_persona = choice.choices(list(shares), list(shares.values()))[0]


def tutor_persona(conversation: Conversation, texts: Texts) -> str:
    """Returns what a prompt says of the tutor's persona; empty if none was drawn, or it has no manner of its own."""
    name, known = conversation.tutor_persona, texts.table("tutors")
    if not name or is_taught(conversation):
        return ""
    if name not in known:
        recipe = conversation.run.recipe
        raise Refused(f"the recipe {recipe!r} has no tutor {name[:80]!r}: use one of {', '.join(known)}")
    manner = known[name]["manner"]
    return texts.fill("tutor_persona", tutor_name=name, manner=manner) if manner else ""
