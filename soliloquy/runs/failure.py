"""Why work cannot be done, in one line that a person can act on."""


class Failure(Exception):
    """The work cannot be done as asked; trying again would not help."""

    exit_code = 2


class Broken(Failure):
    """The work broke off; trying again may help."""

    exit_code = 1
