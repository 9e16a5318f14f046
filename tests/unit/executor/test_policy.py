"""The policy file, its seccomp program, and the folder that a pool owns."""

import json
import struct
import subprocess
import sys
from pathlib import Path

from soliloquy_services.executor.guest.jail import seccomp_filter
from soliloquy_services.executor.gvisor import folder
from soliloquy_services.executor.policy import KINDS, MATH, SandboxSettings, guest_policy, kind_for
from tests.cases import each_case

_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
_ARCH = 0xC000003E


def verdict(program: bytes, *, arch: int, number: int) -> int:
    """Returns what the kernel's BPF machine would, for the instructions that the filter uses."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    loaded, at = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        match code:
            case 0x20:
                loaded = {0: number, 4: arch}[operand]
            case 0x15:
                at += if_true if loaded == operand else if_false
            case 0x35:
                at += if_true if loaded >= operand else if_false
            case 0x06:
                return int(operand)


def test_the_filter_refuses_what_the_policy_denies_and_nothing_else() -> None:
    denied = set(json.loads(guest_policy(SandboxSettings()))["jail"]["denied"])
    program = seccomp_filter("x86_64", sorted(denied))
    refused = {number for number in range(512) if verdict(program, arch=_ARCH, number=number) == _REFUSE}
    assert refused == denied
    assert verdict(program, arch=_ARCH, number=0) == _ALLOW


def test_calls_of_another_architecture_kill_and_x32_calls_are_refused() -> None:
    program = seccomp_filter("x86_64", [41, 57])
    assert verdict(program, arch=0x40000003, number=0) == _KILL
    assert verdict(program, arch=_ARCH, number=0x40000000) == _REFUSE


def test_the_policy_denies_the_ways_to_processes_and_sockets() -> None:
    denied = json.loads(guest_policy(SandboxSettings()))["jail"]["denied"]
    assert len(denied) < 250, "a BPF jump reaches 255 instructions"
    assert len(set(denied)) == len(denied)


@each_case
def test_code_is_run_where_what_it_imports_is_and_little_else(imports: list[str], kind: str) -> None:
    assert kind_for(imports) == kind


def test_each_kind_loads_its_packages_ahead_and_math_none() -> None:
    loaded = {kind: set(json.loads(guest_policy(SandboxSettings(), kind))["preload"]) for kind in KINDS}
    assert "math" in loaded[MATH]
    assert loaded["numpy"] - loaded[MATH] == {"numpy"}
    assert loaded["sympy"] - loaded[MATH] == {"numpy", "sympy"}


def test_only_the_folders_of_dead_owners_are_swept(tmp_path: Path) -> None:
    living = folder.claim(tmp_path)
    dead = subprocess.run(
        [sys.executable, "-c", _CLAIM, tmp_path], capture_output=True, text=True, check=True
    ).stdout.strip()
    stranger = tmp_path / "soliloquy-sandbox-of-somebody"
    stranger.mkdir()
    assert Path(dead).is_dir()
    folder.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([living.path, stranger])
    living.remove()


def test_a_folder_that_is_being_claimed_is_left_alone(tmp_path: Path) -> None:
    claimed = tmp_path / f"{folder.PREFIX}fresh"
    claimed.mkdir()
    (claimed / folder.OWNER).touch()
    folder.sweep(tmp_path)
    assert claimed.is_dir()


_CLAIM = """
import os, sys
from pathlib import Path
from soliloquy_services.executor.gvisor import folder
print(folder.claim(Path(sys.argv[1])).path, flush=True)
os._exit(0)
"""
