"""What a person writes, made fit for a prompt."""

import re
import unicodedata

from services.gateway.refusals import Code, Refusal

_KEPT = "\n\t"
# Prompts are divided by tags: one that a person writes must not end a part of them.
_TAG = re.compile(r"<(/?[A-Za-z_]\w*(?:\s+\w+\s*=\s*\"[^\"<>]*\")*\s*/?)>")


def cleaned(what: str, text: str, most: int) -> str:
    """Without control characters and with its tags as plain words; a Refusal for one that is empty or too long."""
    if len(text) > most:
        raise Refusal(Code.TOO_LARGE, f"{what} has {len(text)} characters: at most {most} are read")
    kept = "".join(character for character in text if character in _KEPT or not _is_control(character)).strip()
    if not kept:
        raise Refusal(Code.INVALID, f"{what} is empty: write something")
    return _TAG.sub(r"‹\1›", kept)


def _is_control(character: str) -> bool:
    """Also what turns the direction of writing, half characters and what has no meaning yet."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn") and character != "\u200d"
