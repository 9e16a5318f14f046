"""The judges that a process is started with: classifiers in files that a run names by digest."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Opinion, Problem

# Gives opinions of a problem without asking a model.
Judge = Callable[[Problem], Iterable[Opinion]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judges:
    by_digest: Mapping[str, Judge] = field(default_factory=dict)

    def named(self, digest: str) -> Judge:
        if digest not in self.by_digest:
            known = ", ".join(known[:12] for known in sorted(self.by_digest)) or "none"
            raise Refused(
                f"the run wants the classifiers {digest[:12]}, and this composer has {known}: "
                "start it with --classifiers"
            )
        return self.by_digest[digest]
