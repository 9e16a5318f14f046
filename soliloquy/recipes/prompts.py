"""Prompt files that a run has in place of its recipe's own: the text of each changed file, by its name."""

import functools
from collections.abc import Mapping
from pathlib import Path, PurePath

from soliloquy.recipes.packages import folder
from soliloquy.runtime.failure import Failure, Refused, did_you_mean
from soliloquy.runtime.files import read_regular_text
from soliloquy.v1.runs_pb2 import Run

# Every event of a run carries them.
MOST_BYTES = 32 * 1024
# The tutor's possible personas, for every recipe with this slot.
_SHARED = Path(__file__).with_name("shared_prompts")
_LANGUAGES = "languages"
_TUTORS = b"$tutor_persona"


class BrokenPrompt(Failure):
    """A prompt file cannot be rendered; the message names the file and what to fix."""


class BadPromptText(BrokenPrompt, Refused):
    """The file was read, and its text cannot be rendered: events of its run are not tried again."""


def own_files(recipe: str) -> Mapping[str, Path]:
    """Returns the prompt files of a recipe by name; raises UnknownRecipe."""
    return files_of(folder(recipe) / "prompts")


def files_of(place: Path) -> Mapping[str, Path]:
    """Returns the files of a folder, and the shared ones that its texts take up and it has not itself."""
    files = {path.name: path for path in place.iterdir()}
    if any(_TUTORS in path.read_bytes() for path in files.values() if path.suffix == ".txt"):
        files = {path.name: path for path in _SHARED.iterdir()} | files
    return dict(sorted(files.items()))


def beside(path: Path, language: str) -> Path:
    """Returns the place of a file or folder of a recipe in a language; English stands in the recipe's own folder."""
    return path.parent / _LANGUAGES / language / path.name if language else path


def texts_in(language: str, place: Path) -> dict[str, str]:
    """Returns the texts of a folder of prompts in a language, with the shared ones; none in English.

    Raises BrokenPrompt for a folder that nobody has translated.
    """
    return dict(_translated(language, place)) if language else {}


@functools.cache
def _translated(language: str, place: Path) -> Mapping[str, str]:
    if not (there := beside(place, language)).is_dir():
        raise BrokenPrompt(f"there are no prompts of {place.parent.name} in the language {language}: write {there}")
    shared = (_SHARED.parent / _LANGUAGES / language).iterdir()
    wanted = files_of(place)
    files = {path.name: path for path in (*shared, *there.iterdir()) if path.name in wanted}
    return {name: read_text(path, str(path)) for name, path in sorted(files.items())}


def spoken_prompts(recipe: str, language: str) -> dict[str, str]:
    """Returns the prompts with which a run of a recipe speaks another language than English; raises BrokenPrompt."""
    return texts_in(language, folder(recipe) / "prompts") if language else {}


def changed_in(run: Run) -> list[str]:
    """Returns the names of the prompts that a run has changed, besides those of its language."""
    spoken = spoken_prompts(run.recipe, run.language)
    return sorted(name for name, text in run.prompts.items() if text != spoken.get(name))


def own_texts(recipe: str, language: str = "") -> dict[str, str]:
    own = {name: read_text(path, str(path)) for name, path in own_files(recipe).items()}
    return own | spoken_prompts(recipe, language)


def changed_texts(recipe: str, place: Path, language: str = "") -> dict[str, str]:
    """Returns the files of a folder that differ from the recipe's own; raises BrokenPrompt."""
    own = own_texts(recipe, language)
    there = {path.name: path for path in sorted(place.iterdir()) if not path.name.startswith(".")}
    if not there:
        raise BrokenPrompt(f"{place} holds no prompts: soliloquy recipes prompts {recipe} --out {place} writes them")
    texts = {name: read_text(path, str(path)) for name, path in there.items()}
    return {name: text for name, text in texts.items() if text != own.get(name)}


def check_files(recipe: str, changed: Mapping[str, str]) -> None:
    """Raises BrokenPrompt for files that are not the recipe's, or too large."""
    if (size := sum(len(text.encode()) for text in changed.values())) > MOST_BYTES:
        raise BrokenPrompt(f"the changed prompts have {size:,} bytes: use at most {MOST_BYTES:,}")
    own = own_texts(recipe)
    unknown = next((file for file in changed if file not in own), None)
    if unknown is not None:
        near = (
            did_you_mean(PurePath(unknown).stem[:80], [PurePath(file).stem for file in own])
            or f"; it has {', '.join(own)}"
        )
        raise BrokenPrompt(f"{unknown[:80]}: the recipe {recipe} has no such prompt{near}")


def read_text(path: Path, named: str) -> str:
    """Raises BrokenPrompt, which begins with the name."""
    try:
        # Some editors begin a file with a mark of its encoding.
        return read_regular_text(path, "utf-8-sig")
    except OSError as error:
        raise BrokenPrompt(f"{named}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BrokenPrompt(f"{named}: is not UTF-8 (byte {error.start}): save it as UTF-8") from error
