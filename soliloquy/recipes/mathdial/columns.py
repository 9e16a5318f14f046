"""How the recipe's labels are shown."""

from soliloquy.recipes.labels import Column
from soliloquy.recipes.mathdial.moves import TEMPLATES

_MEANINGS = {move: row["meaning"] for move, row in TEMPLATES.own.table("moves").items()}
COLUMNS = {
    "conversation.student_name": Column(title="name", names_student=True),
    "enrichment.confusion.solution": Column(title="What the student handed in", text="{}"),
    "enrichment.confusion.belief": Column(title="What the student believes", text="{}"),
    "enrichment.confusion.category": Column(
        title="error", heading="The error in the solution that the student believes in", misconception=True
    ),
    "student.belief": Column(title="belief", heading="What its messages still believe", drawn="its wrong solution: {}"),
    "tutor.move": Column(title="move", heading="The tutor's moves", words=_MEANINGS, response=True),
    "tutor.move_intent": Column(title="intent", heading="What the moves are for"),
}
