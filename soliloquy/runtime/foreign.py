"""Keeps commands from writing into folders that hold somebody's own files."""

from pathlib import Path

from soliloquy.runtime.failure import Failure

# A file system's own folder, and the lock that a command takes before it writes anything else.
_NOBODYS = {"lost+found", "lock"}


def refuse_foreign(folder: Path, *marks: str, option: str = "--out") -> None:
    """Raises Failure if a folder holds visible files, and none of the marks that our commands leave."""
    if not folder.is_dir() or any((folder / mark).exists() for mark in marks):
        return
    found = sorted(
        path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name not in _NOBODYS
    )
    if found:
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise Failure(f"{folder} is not empty: it holds {found[0]}{others}: choose another {option}")
