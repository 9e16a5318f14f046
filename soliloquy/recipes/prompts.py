"""Prompts that a run has in place of its recipe's own."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeVar

from soliloquy.recipes.packages import folder
from soliloquy.runtime.failure import Failure, did_you_mean

# A process receives them in a line of at most 1 MiB.
_MOST_BYTES = 256 * 1024
_TAG = re.compile(r"</?\w+(?=[ >])")
T = TypeVar("T")


class BrokenPrompt(Failure):
    """A prompt file cannot be rendered; the message names the file and what to fix."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompts:
    """The text of each prompt file of a recipe; some differ from the recipe's own."""

    # The recipe's own files.
    folder: Path
    texts: tuple[tuple[str, str], ...]
    # The folder that they were read from, for messages.
    origin: str = field(compare=False)

    def bound(self, act: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function of the recipe, awaitable or not, that reads these prompts."""

        @wraps(act)
        def within(*values: Any, **named: Any) -> Any:
            with self._in_use():
                result = act(*values, **named)
            return self._awaited(result) if isawaitable(result) else result

        return within

    async def _awaited(self, result: Awaitable[T]) -> T:
        with self._in_use():
            return await result

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        token = _IN_USE.set(self)
        try:
            yield
        finally:
            _IN_USE.reset(token)


# Set by the functions of a recipe that was found with prompts, while they run.
_IN_USE: ContextVar[Prompts | None] = ContextVar("prompts", default=None)


def prompts_for(folder: Path) -> Prompts | None:
    """Returns the prompts that the running function of a recipe reads in place of the files of its folder."""
    prompts = _IN_USE.get()
    return prompts if prompts and prompts.folder == folder else None


def own_folder(recipe: str) -> Path:
    """Returns the folder of a recipe's own prompts; raises UnknownRecipe."""
    return folder(recipe) / "prompts"


def changed_prompts(recipe: str, place: Path) -> Prompts | None:
    """Returns a recipe's prompts with the files of another folder in place of its own; None if they are the same.

    Raises BrokenPrompt for a file that the recipe does not have; `fingerprints` refuses one that cannot be filled in.
    """
    own = {path.name: read_text(path, str(path)) for path in sorted(own_folder(recipe).iterdir())}
    changed: dict[str, str] = {}
    for path in (path for path in sorted(place.iterdir()) if not path.name.startswith(".")):
        if path.name not in own:
            near = did_you_mean(path.name, own) or f"; it has {', '.join(own)}"
            raise BrokenPrompt(f"{path}: the recipe {recipe} has no such prompt{near}")
        changed[path.name] = read_text(path, str(path))
    if not changed:
        raise BrokenPrompt(f"{place} holds no prompts: soliloquy recipes prompts {recipe} --out {place} writes them")
    if (size := sum(len(text.encode()) for text in changed.values())) > _MOST_BYTES:
        raise BrokenPrompt(f"{place} holds {size:,} bytes of prompts: use at most {_MOST_BYTES:,}")
    return None if own | changed == own else stored_prompts(recipe, own | changed, str(place))


def check_tags(prompts: Prompts) -> None:
    """Raises BrokenPrompt for a text that lacks a tag of the recipe's own: the scripted model reads the tags."""
    for file, text in prompts.texts:
        own = _TAG.findall(read_text(prompts.folder / file, file))
        if lost := next((tag for tag in own if tag not in _TAG.findall(text)), ""):
            why = "the scripted model reads its sections: keep it, or use another --model"
            raise BrokenPrompt(f"{prompts.origin}/{file}: {lost}> is missing: {why}")


def stored_prompts(recipe: str, texts: Mapping[str, str], origin: str) -> Prompts:
    return Prompts(folder=own_folder(recipe), texts=tuple(sorted(texts.items())), origin=origin)


def read_text(path: Path, named: str) -> str:
    """Raises BrokenPrompt, which begins with the name."""
    try:
        # Some editors begin a file with a mark of its encoding.
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise BrokenPrompt(f"{named}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BrokenPrompt(f"{named}: is not UTF-8 (byte {error.start}): save it as UTF-8") from error
