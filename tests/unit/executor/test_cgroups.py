"""Control groups are found on machines of every layout, and removed again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from soliloquy_services.executor.gvisor import bundle, cgroups, folder
from soliloquy_services.executor.gvisor.bundle import Mount
from soliloquy_services.executor.gvisor.cgroups import Cgroup, NoCgroups, placed
from tests.cases import each_case

_FIRST = """30 25 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 30 0:29 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:30 / /sys/fs/cgroup/pids rw,relatime shared:7 - cgroup cgroup rw,pids
34 30 0:31 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
35 30 0:32 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
_SECOND = "30 25 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_where_each_controller_has_a_hierarchy_a_pools_group_is_inside_our_own() -> None:
    own = "5:cpu,cpuacct:/\n4:memory:/service\n3:pids:/a/b\n2:name=systemd:/\n0::/\n"
    found = placed("pool", _FIRST.format(root="/"), own)
    assert found.path == "pool"
    assert [str(path) for path in found.limited] == [
        "/sys/fs/cgroup/memory/service/pool",
        "/sys/fs/cgroup/pids/a/b/pool",
    ]
    assert {str(path) for path in found.others} == {
        "/sys/fs/cgroup/cpu,cpuacct/pool",
        "/sys/fs/cgroup/systemd/pool",
    }


def test_in_an_image_the_hierarchy_begins_where_it_is_mounted() -> None:
    found = placed("pool", _FIRST.format(root="/docker/1"), "4:memory:/docker/1/service\n3:pids:/\n")
    assert str(found.limited[0]) == "/sys/fs/cgroup/memory/service/pool"


def test_a_controller_that_is_out_of_reach_is_named() -> None:
    with pytest.raises(NoCgroups, match="'memory'"):
        placed("pool", _FIRST.format(root="/docker/1"), "4:memory:/docker/2\n3:pids:/\n")
    with pytest.raises(NoCgroups, match="'pids'"):
        placed("pool", _FIRST.format(root="/"), "4:memory:/\n0::/\n")


def test_where_there_is_one_hierarchy_a_pools_group_is_beside_our_own() -> None:
    found = placed("pool", _SECOND, "0::/system.slice/soliloquy.service\n")
    assert found.path == "/system.slice/pool"
    assert found.folders == (Path("/sys/fs/cgroup/system.slice/pool"),)
    assert placed("pool", _SECOND, "0::/\n").path == "/pool"


def group(parent: Path, *files: str) -> Cgroup:
    """Returns a control group in a folder whose groups have these files."""
    parent.mkdir()
    for file in files:
        (parent / file).write_text("")
    return Cgroup(path="pool", limited=(parent / "pool",), others=())


def test_a_group_that_cannot_be_made_or_limits_nothing_is_refused(tmp_path: Path) -> None:
    useless = group(tmp_path / "useless")
    with pytest.raises(NoCgroups, match="useless does not delegate memory and pids"):
        useless.make()
    assert list((tmp_path / "useless").iterdir()) == []
    with pytest.raises(NoCgroups, match=r"cannot create a control group: .*nowhere/pool"):
        Cgroup(path="pool", limited=(tmp_path / "nowhere" / "pool",), others=()).make()


def test_swap_is_limited_where_it_is_counted(tmp_path: Path) -> None:
    told = group(tmp_path / "plain", "memory.max").limits(memory_bytes=5, pids=3)
    assert told == {"cgroupsPath": "pool", "resources": {"memory": {"limit": 5}, "pids": {"limit": 3}}}
    told = group(tmp_path / "swapping", "memory.max", "memory.swap.max").limits(memory_bytes=5, pids=3)
    assert told["resources"]["memory"] == {"limit": 5, "swap": 5}


@each_case
def test_a_limit_binds_if_it_is_set_and_somebody_is_under_it(
    tmp_path: Path, limit: str, members: str, binds: bool
) -> None:
    one = group(tmp_path / "parent")
    one.limited[0].mkdir()
    (one.limited[0] / "memory.max").write_text(limit)
    (one.limited[0] / "cgroup.procs").write_text(members)
    assert one.binds(5000) is binds


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make control groups")
def test_whoever_is_left_in_a_group_is_ended_with_it() -> None:
    one = cgroups.find(f"soliloquy-test-{os.getpid()}")
    try:
        one.make()
    except NoCgroups as reason:
        pytest.skip(str(reason))
    nested = one.sub("1").limited[0]
    nested.mkdir()
    left = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert left.stdin is not None
    (nested / "cgroup.procs").write_text(str(left.pid))
    cgroups.remove(one.folders)
    assert left.wait(timeout=10) == -9
    left.stdin.close()
    assert not any(path.exists() for path in one.folders)


def test_a_folder_removes_only_the_groups_that_bear_its_name(tmp_path: Path) -> None:
    claimed = folder.claim(tmp_path)
    own, other = tmp_path / "groups" / claimed.path.name, tmp_path / "groups" / "other"
    for path in (own, other):
        path.mkdir(parents=True)
    claimed.note([own, other])
    claimed.remove()
    assert not own.exists()
    assert other.is_dir()


def test_mounts_are_read_with_their_names_unescaped() -> None:
    listing = (
        "36 35 98:0 /mnt1 /a\\040b\\134c rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
        "64 27 0:4 net:[4026532182] /run/null-netns rw - nsfs nsfs rw\n"
    )
    assert list(bundle.parse(listing)) == [
        Mount(root="/mnt1", point=Path("/a b\\c"), kind="ext3", options=frozenset({"rw", "errors=continue"})),
        Mount(root="net:[4026532182]", point=Path("/run/null-netns"), kind="nsfs", options=frozenset({"rw"})),
    ]
