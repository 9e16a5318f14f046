"""Writes a report or an export of a dataset to a file, in a process of its own: it takes seconds of a processor.

usage: python -m soliloquy_services.gateway.produce_file DATASET report|FORMAT OUT BYTES
"""

import os
import resource
import shutil
import sys
from pathlib import Path

from soliloquy.runtime.failure import Failure

REPORT = "report"
# Runs that are under way come first.
_NICENESS = 10


def produce(place: str, kind: str, out: Path) -> None:
    """Raises Failure and OSError."""
    # Imported here because they load Arrow, and the gateway's own process imports this module for its constant.
    from soliloquy.dataset.exports.exporting import export
    from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, find
    from soliloquy.dataset.reading import Dataset
    from soliloquy.dataset.report.writing import write_report
    from soliloquy.problems.bank.catalogue import catalogue

    dataset = Dataset(place)
    if kind == REPORT:
        write_report(dataset, out, catalogue)
        return
    form = find(kind)
    if not isinstance(form, FolderFormat):
        export(dataset, kind, out, choice=ExportOptions())
        return
    folder = out.with_suffix("")
    export(dataset, kind, folder, choice=ExportOptions())
    shutil.make_archive(str(folder), "zip", folder)


def main() -> None:
    place, kind, out, most_bytes = sys.argv[1:]
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), int(most_bytes)))
    try:
        produce(place, kind, Path(out))
    except (Failure, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
