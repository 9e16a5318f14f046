"""Tells a tentative answer ("So she has 42 apples?") from a question about numbers ("So I multiply by 6?")."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from soliloquy.truth.numbers import Number
from soliloquy.truth.patterns import lazy_pattern

_CUES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _any(kind: str, form: str) -> re.Pattern[str]:
    return lazy_pattern(form.format("|".join(_CUES[kind])), re.IGNORECASE)


FILLERS = "|".join(_CUES["fillers"])
_BEGINS = rf"\W*(?:(?:{FILLERS}|{'|'.join(_CUES['links'])})\b\W*)*"
_ASKING = _any("asking", _BEGINS + r"(?:{})\b")
_ASKING_ANYWHERE = _any("asking_anywhere", r"\b(?:{})\b")
_TAG = _any("tags", r",\s*(?:{})\W*$")
_OPEN_END = _any("open_ends", r"(?:=|\b(?:{}))\W*$")
_ASKING_WHETHER = _any("asking_whether", _BEGINS + r"(?:{})\W*(?:(?:something|about|around|like|roughly|maybe)\W*)*")
_PLANNER, _RESULT = "|".join(_CUES["planners"]), "|".join(_CUES["results"])
_PLANS = _any("plans", _BEGINS + rf"(?:{_PLANNER})?(?:{{}})\b(?!.*(?:=|\b(?:{_RESULT})\b))")
_EITHER = lazy_pattern(r"\bor\b|\bbetween\b.*\band\b", re.IGNORECASE)


def is_tentative(question: str, numbers: Sequence[Number]) -> bool:
    """Whether a question with these numbers states an answer: it asks for nothing else, and tells no plan."""
    clause = re.split(r",\s", question[: numbers[0].start])[-1]
    if _ASKING_WHETHER.fullmatch(clause):
        return len(numbers) == 1 or _EITHER.search(question, numbers[0].end) is not None
    untagged = _TAG.sub("", question)
    asks = _ASKING.match(untagged) or _ASKING_ANYWHERE.search(untagged) or _OPEN_END.search(untagged)
    return not asks and not _PLANS.match(untagged)
