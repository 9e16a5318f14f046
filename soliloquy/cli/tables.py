"""Tables in a terminal."""

from rich.table import Table


def table(*heads: str) -> Table:
    """Returns a table whose first column names the rows and whose others hold numbers."""
    made = Table(*heads)
    for column in made.columns[1:]:
        column.justify = "right"
    return made
