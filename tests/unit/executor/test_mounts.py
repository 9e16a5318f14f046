"""The kernel's list of mounts is parsed with all its escapes."""

from pathlib import Path

from soliloquy_services.executor.gvisor import mounts
from soliloquy_services.executor.gvisor.mounts import Mount


def test_mounts_are_read_with_their_names_unescaped() -> None:
    listing = (
        "36 35 98:0 /mnt1 /a\\040b\\134c rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
        "64 27 0:4 net:[4026532182] /run/null-netns rw - nsfs nsfs rw\n"
    )
    assert list(mounts.parse(listing)) == [
        Mount(root="/mnt1", point=Path("/a b\\c"), kind="ext3", options=frozenset({"rw", "errors=continue"})),
        Mount(root="net:[4026532182]", point=Path("/run/null-netns"), kind="nsfs", options=frozenset({"rw"})),
    ]


def test_this_machines_own_mounts_can_be_read() -> None:
    assert Path("/proc") in {mount.point for mount in mounts.parse(mounts.MOUNTINFO.read_text("utf-8"))}


def test_a_folder_without_mounts_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    mounts.unmount_below(tmp_path)
    assert (tmp_path / "file").exists()
