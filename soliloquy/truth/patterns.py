"""Patterns that are compiled at their first use: most commands never use the large ones."""

import re
from typing import Any, cast


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    return cast("re.Pattern[str]", _Uncompiled(text, flags))


class _Uncompiled:
    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Stored in the instance, so that further uses cost no more than those of a compiled pattern.
        found = self.__dict__[name] = getattr(re.compile(self._text, self._flags), name)
        return found
