"""The processes of a model service's replicas."""

from benchmarks.runtime.processes import command, family, stats

_TITLE = b"ray::ServeReplica:"


def replicas(root: int) -> set[int]:
    """Those that descend from a process: the one that started Ray."""
    return {pid for pid in family({root}, stats()) if command(pid).startswith(_TITLE)}
