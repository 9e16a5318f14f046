"""Starts a command under a seccomp profile, as a container runtime does: confine.py PROFILE COMMAND.."""

import ctypes
import errno
import json
import os
import sys
from typing import Any

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000


def confine(profile: dict[str, Any]) -> None:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    default = _REFUSE | profile.get("defaultErrnoRet", errno.EPERM)
    rules = ctypes.c_void_p(library.seccomp_init(default))
    for rule in profile["syscalls"]:
        action = _ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else _REFUSE | rule["errnoRet"]
        if action == default:
            continue
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            # A system call unknown to this kernel does not exist.
            assert number < 0 or library.seccomp_rule_add(rules, action, number, 0) == 0, name
    assert library.seccomp_load(rules) == 0


if __name__ == "__main__":
    confine(json.loads(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
