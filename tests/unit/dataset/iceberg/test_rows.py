"""A row of the table loses nothing of its conversation, whichever recipes share the table."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from soliloquy.dataset.iceberg.rows import recipe_rows, table_rows, table_schema, timed_rows
from soliloquy.dataset.iceberg.tables import Tables
from soliloquy.dataset.rows import REASONS, RECIPE, messages, rows, schema, serialised_timings
from soliloquy.dataset.timings import timings, without_timings
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from tests.unit.dataset.iceberg.catalogs import catalog_in, collected
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
    return without_timings(rows((one.conversation for one in group), group[0].recipe))


@pytest.mark.parametrize("recipe", [*RECIPES, "not-installed"])
def test_a_row_of_the_table_is_the_row_of_its_recipe(recipe: str) -> None:
    group = every_kind("soliloquy" if recipe == "not-installed" else recipe)
    for one in group:
        one.recipe = recipe
    assert recipe_rows(table_rows(group), schema(recipe)).equals(expected(group), check_metadata=True)


def test_recipes_share_a_table_that_gets_the_labels_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Tables.created(catalog_in(tmp_path, monkeypatch)).conversations
    groups = {recipe: every_kind(recipe) for recipe in RECIPES}
    for group in groups.values():
        batch = table_rows(group)
        with table.update_schema() as update:
            update.union_by_name(batch.schema)
        table.append(pa.Table.from_batches([batch]))
    for recipe, group in groups.items():
        read = table.scan(row_filter=f"dataset == 'run-{recipe}-4f'").to_arrow()
        [batch] = read.combine_chunks().to_batches()
        batch = batch.take(pc.sort_indices(batch["origin"].field("offset")))
        assert messages(recipe_rows(batch, schema(recipe))) == messages(expected(group))
        whole = [Conversation.FromString(one.conversation) for one in group]
        times = timings(whole, [one.timings.collected_at for one in group])
        assert serialised_timings(timed_rows(batch)) == serialised_timings(times)
        assert batch["bucket"].to_pylist() == [2, 0, 0, 0]


def test_reasons_and_columns_alone_are_read_back() -> None:
    group = every_kind("mathdial", ["repeated: turn 2", "too long"])
    wanted = schema("mathdial").append(REASONS)
    read = recipe_rows(table_rows(group), wanted)
    assert read[REASONS.name].to_pylist() == [["repeated: turn 2", "too long"]] * len(group)
    part = pa.schema([wanted.field("id"), pa.field("run", pa.struct([wanted.field("run").type.field("seed")]))])
    read = recipe_rows(table_rows(group), part.with_metadata({RECIPE: "mathdial"}))
    assert read["run"].to_pylist()[2] == {"seed": 2**64 - 1}


def test_rows_of_an_earlier_contract_are_filled_with_its_defaults() -> None:
    group = every_kind("soliloquy")
    batch = table_rows(group).drop_columns(["person", "rewinds"])
    assert recipe_rows(batch, schema("soliloquy")).equals(expected(group))


def test_times_of_an_earlier_contract_are_filled_with_its_defaults() -> None:
    group = every_kind("soliloquy")
    batch = table_rows(group)
    times = batch["timings"]
    kept = [field for field in times.type if field.name != "executions"]
    earlier = pa.StructArray.from_arrays([times.field(field.name) for field in kept], fields=kept)
    batch = batch.set_column(batch.schema.get_field_index("timings"), "timings", earlier)
    read = timed_rows(batch)
    assert read.schema == timed_rows(table_rows(group)).schema
    assert read["executions"].to_pylist() == [[]] * len(group)


def test_an_imported_conversation_has_neither_times_nor_a_place() -> None:
    group = every_kind("soliloquy")
    for one in group[:2]:
        one.ClearField("timings")
        one.ClearField("origin")
    batch = table_rows(group)
    assert batch.schema == table_schema("soliloquy")
    assert batch["origin"].null_count == 2
    assert timed_rows(batch)["id"].to_pylist() == [one.id for one in group[2:]]
