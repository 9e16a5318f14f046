"""What the zygote was started with, forgotten also where the kernel shows it to every job: /proc/1/environ."""

import ctypes
import os


def forget() -> None:
    block = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    entries: list[int] = []
    while address := block[len(entries)]:
        entries.append(address)
    os.environ.clear()
    for address in entries:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
