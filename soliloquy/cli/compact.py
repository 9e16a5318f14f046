"""`soliloquy compact`: fewer, larger files in a store of tables."""

from dataclasses import asdict

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, DURATION
from soliloquy.cli.terminal import answer


@click.command(cls=Command)
@click.argument("store", metavar="iceberg:CATALOG/NAMESPACE")
def compact(
    store: str,
    *,
    keep: float = setting("How long earlier states of the tables can be read.", default="10m", type=DURATION),
    as_json: bool = AS_JSON,
) -> None:
    """Merge the files that collectors wrote into one for each 4,096 problems of a run, and remove old snapshots.

    Collectors and readers may go on meanwhile. Each commit copies what is known of all snapshots, so that many of them
    slow collectors down. Files that a killed collector left are removed after three days.
    """
    # Imported here because nothing else needs it.
    from soliloquy.dataset.iceberg.compaction import compact as compact_tables
    from soliloquy.dataset.iceberg.tables import Location

    done = compact_tables(Location.parsed(store), keep)
    lines = [
        f"{store}: {done.merged:,} files are merged into {done.written:,}; "
        f"{done.expired:,} snapshots and {done.removed:,} files are removed"
    ]
    if done.orphans:
        lines.append(f"{store}: {done.orphans:,} files of killed commits are removed")
    answer(asdict(done), lines, as_json=as_json)
