"""The places of a run, as `run.standing` tells: which problem has a conversation under way in each."""

from soliloquy.runtime.stretches import Stretches
from soliloquy.v1.events_pb2 import RunStanding


class Places:
    def __init__(self) -> None:
        # The ordinals of problems, by place.
        self.ordinals: dict[int, int] = {}
        # The ordinals of all problems that ever had a place.
        self.begun = Stretches()

    def tell(self, standing: RunStanding) -> None:
        """Takes what the topic says next."""
        if not standing.place:
            self.ordinals, self.begun = dict(enumerate(sorted(standing.under_way), start=1)), Stretches()
        elif standing.under_way:
            self.ordinals[standing.place] = standing.under_way[0]
        else:
            self.ordinals.pop(standing.place, None)
        self.begun.update(standing.begun)
        for ordinal in standing.under_way:
            self.begun.add(ordinal)
