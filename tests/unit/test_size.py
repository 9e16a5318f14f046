"""No part of the tree grows past its ceiling unnoticed."""

from benchmarks.size import CEILINGS, parts


def test_each_part_of_the_tree_stays_below_its_ceiling() -> None:
    found = parts()
    assert found.keys() == CEILINGS.keys()
    too_large = {name: part.lines for name, part in found.items() if part.lines > CEILINGS[name]}
    assert not too_large, "delete lines, or raise the ceiling in benchmarks/size.toml and say why"


def test_a_ceiling_sinks_with_its_part() -> None:
    loose = {name: part.lines for name, part in parts().items() if CEILINGS[name] > part.lines + 500}
    assert not loose, "lower the ceiling in benchmarks/size.toml to the lines that are left"
