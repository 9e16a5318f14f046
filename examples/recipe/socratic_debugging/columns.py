"""How the recipe's labels are shown."""

from soliloquy.recipes.labels import Column

COLUMNS = {
    "conversation.bug": Column(title="bug", heading="The kinds of bugs"),
    "conversation.found": Column(title="found", heading="Found by the student"),
    "student.line": Column(title="line", heading="The lines that messages were to change", drawn="to change: line {}"),
    "tutor.points_at": Column(title="points at", heading="What the tutor's questions point at", response=True),
}
