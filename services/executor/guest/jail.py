"""Drops a child's privileges, resources and system calls before it sees its job."""

import ctypes
import os
import resource
import struct

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_PR_SET_KEEPCAPS = 8
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_REFUSE = 0x00050000 | 1  # EPERM

_LOAD_WORD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_RETURN = 0x06
_OFFSET_NUMBER = 0
_OFFSET_ARCH = 4

_CAPABILITY_VERSION_3 = 0x20080522


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class Jail:
    """Prepared before the fork, so that entering takes only a few system calls."""

    def __init__(self, *, machine: str, denied: list[int], cpu_seconds: int) -> None:
        self._cpu_seconds = cpu_seconds
        self._libc = ctypes.CDLL(None, use_errno=True)
        instructions = seccomp_filter(machine, denied)
        self._instructions = ctypes.create_string_buffer(instructions, len(instructions))
        self._program = _FilterProgram(len(instructions) // 8, ctypes.addressof(self._instructions))
        self._program_pointer = ctypes.byref(self._program)
        self._capability_header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
        self._no_capabilities = bytes(24)

    def limit_cpu(self) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (self._cpu_seconds, self._cpu_seconds))

    def enter(self, uid: int) -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        _require(self._libc.capset(self._capability_header, self._no_capabilities), "capset")
        _require(self._libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._program_pointer, 0, 0), "seccomp")


def step_down(uid: int) -> None:
    """Switches from root to an unnamed user that keeps exactly the capabilities that the bundle granted."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, held = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), ctypes.create_string_buffer(24)
    _require(libc.capget(header, held), "capget")
    _require(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "prctl")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _require(libc.capset(header, held.raw), "capset")
    _require(libc.prctl(_PR_SET_KEEPCAPS, 0, 0, 0, 0), "prctl")


def limit(*, memory_bytes: int, file_bytes: int, open_files: int) -> None:
    """Sets the limits that the zygote can live with itself and its children inherit."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def seccomp_filter(machine: str, denied: list[int]) -> bytes:
    """Returns a BPF program that refuses the denied system calls and allows all others."""
    checks = [_instruction(_JUMP_EQUAL, number, len(denied) - position, 0) for position, number in enumerate(denied)]
    return b"".join(
        [
            _instruction(_LOAD_WORD, _OFFSET_ARCH),
            _instruction(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0),
            _instruction(_RETURN, _KILL_PROCESS),
            _instruction(_LOAD_WORD, _OFFSET_NUMBER),
            _instruction(_JUMP_AT_LEAST, _X32_BIT, len(denied) + 1, 0),
            *checks,
            _instruction(_RETURN, _ALLOW),
            _instruction(_RETURN, _REFUSE),
        ]
    )


def _require(returned: int, call: str) -> None:
    if returned != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)
