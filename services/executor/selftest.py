"""The self-test: what a sandbox must prove from inside before it gets a job."""

from pathlib import Path

from services.executor.guest.vet import VetResult
from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.sandbox import Sandbox, SandboxDied
from services.executor.settings import SandboxSettings
from services.executor.submission import Submission
from soliloquy.v1.sandbox_pb2 import STATUS_OK

# More than a job may have: on a busy machine the first job in a sandbox is slow.
_WALL_SECONDS = 5.0
_CODE = """
import ctypes, math, os, socket

def refused(attempt, *arguments):
    try:
        attempt(*arguments)
    except (OSError, MemoryError):
        return True
    return False

log = ctypes.create_string_buffer(65536)
ctypes.CDLL(None).klogctl(3, log, len(log))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
proofs = {
    "it calculates": math.isclose(math.hypot(3, 4) + 0.1 + 0.2, 5.3),
    "its kernel is gVisor": b"gVisor" in log.raw,
    "it sees no file of the host": not any(map(os.path.exists, (CANARY, "/etc/passwd", "/home", "/usr/bin/env"))),
    "its environment is empty": not os.environ,
    "it is not root": 0 not in (*os.getresuid(), *os.getresgid()) and not os.getgroups(),
    "it has no capability": int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0,
    "it opens no socket": refused(socket.socket),
    "it starts no process": refused(os.fork),
    "its memory is limited": refused(bytearray, MEMORY_BYTES),
    "its root is read-only": refused(open, "/file", "w"),
}
unproven = [proof for proof, holds in proofs.items() if not holds]
proven = list(proofs)
"""


async def selftest(sandbox: Sandbox, settings: SandboxSettings, *, canary: Path) -> list[str]:
    """Returns what the sandbox proved; raises SandboxUnavailable with what it failed to prove.

    `canary` is any file of the host.
    """
    constants = f"CANARY, MEMORY_BYTES = {str(canary)!r}, {settings.memory_bytes}"
    job = Submission(
        id="selftest",
        code=f"{constants}\n{_CODE}",
        names=("unproven", "proven"),
        wall_seconds=_WALL_SECONDS,
        memory_bytes=settings.memory_bytes,
        stdout_bytes=1,
        single_use=False,
    )
    try:
        done = await sandbox.run(job, VetResult(refused=""))
    except SandboxDied as error:
        raise SandboxUnavailable(f"the sandbox died in its self-test: {error}") from error
    if done.status != STATUS_OK:
        raise SandboxUnavailable(f"the sandbox failed its self-test: {done.error} (line {done.error_line})")
    unproven, proven = ([item.text for item in named.value.items.items] for named in done.values)
    if unproven:
        raise SandboxUnavailable(f"the sandbox failed its self-test; unproven: {', '.join(unproven)}")
    return proven
