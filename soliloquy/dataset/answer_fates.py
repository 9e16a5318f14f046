"""Names what became of an answer, and tells which stood at the first try."""

from collections.abc import Collection, Sequence

STANDS, SENT_BACK, TAKEN_BACK = "stand", "sent back", "taken back"


def is_read_at_once(outcome: str) -> bool:
    return outcome in ("PARSE_OUTCOME_STRICT", "PARSE_OUTCOME_REPAIRED")


def tries(answers: Sequence[tuple[str, bool]], back: Collection[int], mended: Collection[str]) -> dict[int, bool]:
    """Returns the places of a turn's answers that stand, and whether the first try at each stood.

    An answer is its role and whether it was read at once; the roles in `mended` had answers that went `back`.
    """
    stood, still_mended = dict[int, bool](), {*mended}
    for place, (role, at_once) in enumerate(answers):
        if place not in back:
            stood[place] = at_once and role not in still_mended
            # The first answer that stands came after the one that was sent back.
            still_mended.discard(role)
    return stood
