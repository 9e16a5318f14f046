"""How the recipe's labels are shown."""

from soliloquy.recipes.labels import Column

COLUMNS = {
    "problem.authorship.opinions": Column(
        title="What the judges say", text="{criterion}: {ruling}, says {judge}: {because}"
    ),
    "problem.authorship.opinions.ruling": Column(title="meets a criterion", heading="What judges say of the criteria"),
}
