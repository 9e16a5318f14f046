"""Which problems of a file a recipe can use, and why it cannot use the others."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from soliloquy.v1.conversation_pb2 import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    usable: Sequence[Problem]
    # Why a problem is of no use, by its place in the source; begins with the kind of the reason and a colon.
    refused: Mapping[str, str]

    def __str__(self) -> str:
        """Counts each kind of reason, with an example."""
        whole = len(self.usable) + len(self.refused)
        line = f"{len(self.usable):,} of {whole:,} problems are of use"
        kinds = Counter(why.partition(":")[0] for why in self.refused.values())
        for kind, count in kinds.most_common():
            first = next(one for one, why in self.refused.items() if why.startswith(kind))
            line += f"; {count:,} {'is' if count == 1 else 'are'} not: {kind}, such as {first}"
        return line


def use_of(problems: Sequence[Problem], refuses: Callable[[Problem], str]) -> Use:
    reasons = [refuses(problem) for problem in problems]
    return Use(
        usable=[problem for problem, why in zip(problems, reasons, strict=True) if not why],
        refused={problem.source: why for problem, why in zip(problems, reasons, strict=True) if why},
    )
