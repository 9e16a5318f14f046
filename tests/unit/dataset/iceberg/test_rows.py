"""A row of the table loses nothing of its conversation, whichever recipes share the table."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from soliloquy.dataset.iceberg.rows import COLLECTED_AT, recipe_rows, table_schema
from soliloquy.dataset.iceberg.tables import Tables
from soliloquy.dataset.rows import REASONS, RECIPE, messages, rows, schema
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from tests.unit.dataset.iceberg.catalogs import catalog_in, collected, in_table
from tests.unit.dataset.labelled import RECIPES, labelled
from tests.unit.dataset.small import small
from tests.unit.dataset.test_rows import conversation


def every_kind(recipe: str, reasons: Sequence[str] = ()) -> list[Collected]:
    """Returns conversations of a recipe: with labels, with every kind of value, and empty."""
    every = [labelled(small(9000), recipe), labelled(small(3), recipe), conversation(), Conversation()]
    every[0].turns[0].calls[0].seconds = 1.5
    for one in every:
        one.run.recipe, one.run.id, one.run.growing = recipe, f"run-{recipe}", "4f"
    return collected(every, reasons)


def expected(group: Sequence[Collected]) -> pa.RecordBatch:
    return rows((one.conversation for one in group), group[0].recipe)


@pytest.mark.parametrize("recipe", [*RECIPES, "not-installed"])
def test_a_row_of_the_table_is_the_row_of_its_recipe(recipe: str) -> None:
    group = every_kind("soliloquy" if recipe == "not-installed" else recipe)
    for one in group:
        one.recipe = recipe
    assert recipe_rows(in_table("run", group), schema(recipe)).equals(expected(group), check_metadata=True)


def test_recipes_share_a_table_that_gets_the_labels_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Tables.created(catalog_in(tmp_path, monkeypatch)).conversations
    groups = {recipe: every_kind(recipe) for recipe in RECIPES}
    for recipe, group in groups.items():
        batch = in_table(f"run-{recipe}", group)
        with table.update_schema() as update:
            update.union_by_name(batch.schema)
        table.append(pa.Table.from_batches([batch]))
    for recipe, group in groups.items():
        read = table.scan(row_filter=f"dataset == 'run-{recipe}'").to_arrow()
        [batch] = read.combine_chunks().to_batches()
        batch = batch.take(pc.sort_indices(batch["origin"].field("offset")))
        assert messages(recipe_rows(batch, schema(recipe))) == messages(expected(group))
        assert batch[COLLECTED_AT.name].to_pylist() == [one.timings.collected_at for one in group]
        assert batch["bucket"].to_pylist() == [2, 0, 0, 0]


def test_reasons_and_columns_alone_are_read_back() -> None:
    group = every_kind("mathdial", ["repeated: turn 2", "too long"])
    wanted = schema("mathdial").append(REASONS)
    read = recipe_rows(in_table("run", group), wanted)
    assert read[REASONS.name].to_pylist() == [["repeated: turn 2", "too long"]] * len(group)
    part = pa.schema([wanted.field("id"), pa.field("run", pa.struct([wanted.field("run").type.field("seed")]))])
    read = recipe_rows(in_table("run", group), part.with_metadata({RECIPE: "mathdial"}))
    assert read["run"].to_pylist()[2] == {"seed": 2**64 - 1}


def test_rows_of_an_earlier_contract_are_filled_with_its_defaults() -> None:
    group = every_kind("soliloquy")
    batch = in_table("run", group).drop_columns(["person", "rewinds"])
    assert recipe_rows(batch, schema("soliloquy")).equals(expected(group))


def test_an_imported_conversation_has_neither_times_nor_a_place() -> None:
    group = every_kind("soliloquy")
    for one in group[:2]:
        one.ClearField("timings")
        one.ClearField("origin")
    batch = in_table("run", group)
    assert batch.schema == table_schema("soliloquy")
    assert batch["origin"].null_count == 2
    assert batch[COLLECTED_AT.name].to_pylist() == [None, None, 1700000002.5, 1700000003.5]
