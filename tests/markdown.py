"""Reads pages of Markdown as a renderer does."""

from collections.abc import Iterator

from markdown_it import MarkdownIt

# A text that is markup in every other word.
HOSTILE = (
    "<script>alert(1)</script> [x](javascript:alert(1)) ![y](z) | `a` ``` **b** _c_ ~~d~~ &lt; "
    "\\| $\\frac{e}$\n# f\n\n- g\\"
)
SHOWN = " ".join(HOSTILE.split())

_READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def structure(text: str) -> list[str]:
    """Returns what a page is made of: headings, tables, links and HTML, without the words."""
    return [kind for kind, _ in _tokens(text)]


def words(text: str) -> set[str]:
    return {content for kind, content in _tokens(text) if kind == "text"}


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for token in _READER.parse(text):
        yield token.type, token.content
        yield from ((child.type, child.content) for child in token.children or ())
