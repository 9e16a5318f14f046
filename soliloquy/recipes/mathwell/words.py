"""The words for a written problem on cards and pages."""

from soliloquy.recipes.labels import Column

COLUMNS = {
    "problem.authorship.opinions": Column(
        title="What the judges say", text="{criterion}: {ruling}, says {judge}: {because}"
    ),
}
STORY = """\
Each word problem was written to order, together with a Python function that solves it. The function ran in a sandbox,
and what it returned is the answer; both were then held against three criteria: solvable, accurate, appropriate."""
