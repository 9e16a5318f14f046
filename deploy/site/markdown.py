"""Tables of Markdown, with texts that the code holds as plain ones."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines) + "\n"


def prose(text: str) -> str:
    """Returns a plain text as Markdown; what stands between backticks stays code."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = (part.translate(_SPECIAL) for part in parts[::2])
    return "`".join(parts)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


_SPECIAL = str.maketrans({"<": "&lt;", "|": "&#124;", "*": "\\*", "[": "\\[", "_": "\\_"})
