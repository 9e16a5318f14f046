"""Boots a pool's sandboxes, with the runsc, platform and limits that work on this machine."""

import asyncio
import dataclasses
import itertools
import logging
import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path
from platform import machine

from soliloquy.v1.sandbox_pb2 import STATUS_OK
from soliloquy_services.executor import metrics
from soliloquy_services.executor.guest.vet import VetResult
from soliloquy_services.executor.gvisor import bundle, cgroups, container, folder, runsc
from soliloquy_services.executor.gvisor.cgroups import Cgroup, NoCgroups
from soliloquy_services.executor.gvisor.container import ContainerSpec
from soliloquy_services.executor.gvisor.folder import PrivateFolder
from soliloquy_services.executor.gvisor.runsc import PLATFORMS, Runsc, RunscFailed, SandboxUnavailable
from soliloquy_services.executor.policy import CGROUP, DENIED, MATH, SandboxSettings, guest_policy
from soliloquy_services.executor.reports import InvalidReport
from soliloquy_services.executor.sandbox import SandboxDied, WarmSandbox
from soliloquy_services.executor.submission import Submission

_log = logging.getLogger(__name__)

# More than a job may have: on a busy machine the first job in a sandbox is slow.
_SELFTEST_SECONDS = 5.0
# A boot may fail once because of the machine; a platform that fails more often does not work.
_TRIES = 2
# With fewer, the errors of runsc and its children say little.
_FEWEST_DESCRIPTORS = 512
# A sandbox must prove this from inside before it gets a job.
_SELFTEST = """
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


@dataclass(frozen=True, kw_only=True)
class SandboxLauncher:
    runsc: Runsc
    platform: str
    folder: PrivateFolder
    settings: SandboxSettings
    # If none can be made, only the guest's own limits bound a sandbox, and `unbounded` says why.
    cgroup: Cgroup | None
    unbounded: str
    ordinals: "itertools.count[int]" = field(default_factory=itertools.count)
    # The sandbox that was booted to find out what works, until it is needed.
    booted: list[WarmSandbox] = field(default_factory=list)

    async def boot(self, kind: str = MATH) -> WarmSandbox:
        """Returns a sandbox that has passed its self-test; raises SandboxUnavailable if none boots."""
        if kind == MATH and self.booted:
            return self.booted.pop()
        started = time.monotonic()
        spec = self._spec(str(next(self.ordinals)), kind)
        running = await container.start(spec)
        sandbox = WarmSandbox(running)
        try:
            async with asyncio.timeout(self.settings.boot_seconds):
                await sandbox.greet(guest_policy(self.settings, kind))
            if spec.cgroup and not spec.cgroup.binds(self._memory_bytes):
                raise SandboxUnavailable(f"runsc has not set the sandbox's memory limit of {self._memory_bytes} bytes")
            sandbox.proofs = await selftest(sandbox, self.settings, canary=self.folder.path / folder.OWNER)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, InvalidReport, SandboxDied) as error:
            metrics.BOOTS.labels("failed").inc()
            try:
                ended = await running.ended_by_itself()
            finally:
                await sandbox.close()
            killer = runsc.killer_of(ended)
            why = f"it was killed by {killer}" if killer else running.last_words or _told(error)
            failure = RunscFailed if ended and not killer else SandboxUnavailable
            raise failure(f"no sandbox boots with {self.runsc.path} ({self.platform}): {why}") from error
        except BaseException:
            await sandbox.close()
            raise
        seconds = time.monotonic() - started
        metrics.BOOTS.labels("booted").inc()
        metrics.BOOT.observe(seconds)
        _log.info("%s is up after %.2f s (%s, %s)", spec.folder, seconds, kind, self.platform)
        return sandbox

    @property
    def _memory_bytes(self) -> int:
        return self.settings.memory_bytes + CGROUP["overhead_bytes"]

    def _spec(self, name: str, kind: str) -> ContainerSpec:
        home = self.folder.path
        cgroup = self.cgroup.sub(name) if self.cgroup else None
        limits = cgroup.limits(memory_bytes=self._memory_bytes, pids=CGROUP["pids"]) if cgroup else {}
        return ContainerSpec(
            command=[
                *(self.runsc.path, f"--root={home / name}/state", f"--platform={self.platform}", "--network=none"),
                *([] if os.geteuid() == 0 else ["--rootless"]),
                *([] if cgroup else ["--ignore-cgroups"]),
                # A name that is unique on the machine, because runsc names a machine-wide socket after it.
                *("run", f"--bundle={home / name}", f"{home.name}-{name}"),
            ],
            folder=home / name,
            config=bundle.config(home, kind, limits),
            cgroup=cgroup,
            isolation=f"gvisor-{self.platform}",
            runsc_version=self.runsc.version,
        )


def _told(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


async def selftest(sandbox: WarmSandbox, settings: SandboxSettings, *, canary: Path) -> list[str]:
    """Returns what the sandbox proved; raises SandboxUnavailable with what it failed to prove.

    `canary` is any file of the host.
    """
    constants = f"CANARY, MEMORY_BYTES = {str(canary)!r}, {settings.memory_bytes}"
    job = Submission(
        id="selftest",
        code=f"{constants}\n{_SELFTEST}",
        names=("unproven", "proven"),
        wall_seconds=_SELFTEST_SECONDS,
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


async def open_launcher(settings: SandboxSettings) -> SandboxLauncher:
    """Returns a launcher that has booted a sandbox."""
    found = await runsc.find()
    if machine() not in DENIED:
        raise SandboxUnavailable("policy.toml lists no denied system calls for this machine: add its table")
    home = await asyncio.to_thread(_create_folder, settings.runtime_dir)
    try:
        cgroup, unbounded = _cgroup(home)
        launcher = SandboxLauncher(
            runsc=found, platform=PLATFORMS[0], folder=home, settings=settings, cgroup=cgroup, unbounded=unbounded
        )
        return await _probe(launcher)
    except BaseException:
        home.remove()
        raise


def _create_folder(runtime_dir: Path) -> PrivateFolder:
    """Creates the pool's folder, after removing those that dead pools have left."""
    try:
        folder.sweep(runtime_dir)
        home = folder.claim(runtime_dir)
        try:
            bundle.lay_out(home.path)
        except BaseException:
            home.remove()
            raise
    except OSError as error:
        raise SandboxUnavailable(f"cannot create sandboxes in {runtime_dir}: {error.strerror}") from error
    return home


def _cgroup(home: PrivateFolder) -> tuple[Cgroup | None, str]:
    try:
        cgroup = cgroups.find(home.path.name)
        home.note(cgroup.folders)
        cgroup.make()
    except NoCgroups as reason:
        return None, str(reason)
    except OSError as error:
        raise SandboxUnavailable(f"cannot create a control group: {error}") from error
    return cgroup, ""


async def _probe(launcher: SandboxLauncher) -> SandboxLauncher:
    """Finds the first platform that boots, in the control group if there is one."""
    platforms = [launcher.settings.platform] if launcher.settings.platform else PLATFORMS
    faults: list[SandboxUnavailable] = []
    for platform in platforms:
        candidate = dataclasses.replace(launcher, platform=platform)
        for _ in range(_TRIES):
            try:
                candidate.booted.append(await candidate.boot())
            except SandboxUnavailable as fault:
                faults.append(fault)
            else:
                return candidate
    told = "; ".join(dict.fromkeys(map(str, faults)))
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= descriptors < _FEWEST_DESCRIPTORS:
        raise SandboxUnavailable(f"{told}; a process may open only {descriptors} files: raise the limit (ulimit -n)")
    is_broken = all(isinstance(fault, RunscFailed) for fault in faults)
    raise SandboxUnavailable(told + (f"; if runsc is broken or too old, {runsc.INSTALL}" if is_broken else ""))
