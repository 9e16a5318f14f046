"""Why work cannot be done, in one line that a person can act on."""

from collections.abc import Iterable

# Characters of another library's message.
_MAX_CHARACTERS = 300


class Failure(Exception):
    """The work cannot be done as asked. A command that it reaches prints the message and ends."""

    exit_code = 2


class Broken(Failure):
    """The work broke off; trying again may help."""

    exit_code = 1


class Refused(Exception):
    """Retrying would never help: the event goes to the dead letters."""


def first_error(error: BaseException) -> BaseException:
    """Returns the first of the errors that tasks ended with."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def one_line(error: Exception) -> str:
    """Returns the message of a library, which may be a page."""
    return " ".join(str(error).split())[:_MAX_CHARACTERS]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns a question to put after a message about an unknown word; empty if no known word is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, [*known], n=1)
    return f": did you mean {near[0]}?" if near else ""
