"""Makes a person's text fit for a prompt."""

import re
import unicodedata

from services.gateway.refusals import Code, Refusal

_ALLOWED = "\n\t"
# Tags divide prompts: a tag in a person's text must not end a part of one.
_TAG = re.compile(r"<(/?[A-Za-z_]\w*(?:\s+\w+\s*=\s*\"[^\"<>]*\")*\s*/?)>")


def clean_text(what: str, text: str, most: int) -> str:
    """Drops control characters and defuses tags; raises a Refusal for an empty or long text."""
    if len(text) > most:
        raise Refusal(Code.TOO_LARGE, f"{what} has {len(text)} characters: send at most {most}")
    cleaned = "".join(character for character in text if character in _ALLOWED or not _is_control(character)).strip()
    if not cleaned:
        raise Refusal(Code.INVALID, f"{what} is empty")
    return _TAG.sub(r"‹\1›", cleaned)


def _is_control(character: str) -> bool:
    """Counts direction marks, surrogates and unassigned characters too."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn") and character != "\u200d"
