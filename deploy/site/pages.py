"""Copies the pages of the repository, and all that they lead to."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A block of code has no links.
_BLOCK_OR_LINK = re.compile(
    r"^ *(?P<ticks>`{3,}).*?^ *(?P=ticks)$|\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)(?P<heading>[^)]*)\)",
    re.MULTILINE | re.DOTALL,
)
_PICTURES = (".png", ".svg")
# Suffixes that are not what the highlighter calls the language.
_LANGUAGES = {"proto": "protobuf", "lark": "text", "txt": "text"}


def collect(first: Iterable[Path], out: Path) -> None:
    """Copies these pages and pictures, and those that they link to; source files and folders become pages.

    Paths stay those of the repository, so that a link between pages holds there and on the site.
    """
    waiting, done = [*first], set[Path]()
    while waiting:
        file = waiting.pop()
        # A notebook becomes a page when it is executed.
        if file in done or file.suffix == ".ipynb":
            continue
        done.add(file)
        target = out / _page(file).relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in _PICTURES:
            target.write_bytes(file.read_bytes())
            continue
        text = _text(file)
        target.write_text(_BLOCK_OR_LINK.sub(partial(_relinked, file), text), "utf-8")
        waiting.extend(_linked(file, text))


def _text(file: Path) -> str:
    if file.suffix == ".md":
        return file.read_text("utf-8")
    if file.is_dir():
        names = (one.name for one in sorted(file.iterdir()) if one.is_file())
        body = "".join(f"* `{name}`\n" for name in names)
    else:
        suffix = file.suffix.removeprefix(".")
        body = f"````{_LANGUAGES.get(suffix, suffix)}\n{file.read_text('utf-8')}\n````\n"
    return f"---\nsearch: {{exclude: true}}\n---\n# {file.relative_to(ROOT)}\n\n{body}"


def _linked(page: Path, text: str) -> Iterator[Path]:
    for found in _BLOCK_OR_LINK.finditer(text):
        if found["path"]:
            yield _target(page, found["path"])


def _relinked(page: Path, found: re.Match[str]) -> str:
    if not found["path"]:
        return found[0]
    target = os.path.relpath(_page(_target(page, found["path"])), _page(page).parent)
    return f"]({target}{found['heading']})"


def _target(page: Path, link: str) -> Path:
    target = ((page if page.is_dir() else page.parent) / link).resolve()
    readme = target / "README.md"
    return readme if readme.exists() else target


def _page(file: Path) -> Path:
    """Returns the place of the page that shows a file or folder."""
    if file.is_dir():
        return file / "index.md"
    if file.suffix == ".ipynb":
        return file.with_suffix(".md")
    return file if file.suffix in (".md", *_PICTURES) else file.with_name(f"{file.name}.md")
