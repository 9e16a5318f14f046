"""Where a pool's sandboxes boot: the runsc, platform and limits that work here, and the pool's private folder."""

import asyncio
import dataclasses
import itertools
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

from services.executor import metrics
from services.executor.gvisor import bundle, cgroups, container, folder, runsc
from services.executor.gvisor.cgroups import Cgroup, NoCgroups
from services.executor.gvisor.container import ContainerSpec
from services.executor.gvisor.folder import PrivateFolder
from services.executor.gvisor.runsc import PLATFORMS, Runsc, SandboxUnavailable
from services.executor.policy import CGROUP, MATH, guest_policy, supported_machine
from services.executor.reports import InvalidReport
from services.executor.sandbox import Sandbox, SandboxDied
from services.executor.selftest import selftest
from services.executor.settings import SandboxSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class SandboxLauncher:
    runsc: Runsc
    platform: str
    folder: PrivateFolder
    settings: SandboxSettings
    # None: only the guest's own limits bound a sandbox, and `unbounded` says why.
    cgroup: Cgroup | None
    unbounded: str
    ordinals: "itertools.count[int]" = field(default_factory=itertools.count)
    # The sandbox that showed that all this works, until somebody wants it.
    booted: list[Sandbox] = field(default_factory=list)

    async def boot(self, kind: str = MATH) -> Sandbox:
        """A sandbox that has passed its self-test; SandboxUnavailable where none comes up."""
        if kind == MATH and self.booted:
            return self.booted.pop()
        started = time.monotonic()
        plan = self._plan(str(next(self.ordinals)), kind)
        running = await container.start(plan)
        sandbox = Sandbox(running)
        try:
            async with asyncio.timeout(self.settings.boot_seconds):
                await sandbox.greet(guest_policy(self.settings, kind))
            if plan.cgroup and not plan.cgroup.binds(self._memory_bytes):
                raise SandboxUnavailable(f"runsc has put the sandbox under no limit of {self._memory_bytes} bytes")
            sandbox.proofs = await selftest(sandbox, self.settings, canary=self.folder.path / folder.OWNER)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, InvalidReport, SandboxDied) as error:
            metrics.BOOTS.labels("failed").inc()
            await sandbox.close()
            why = running.last_words or f"{type(error).__name__} {error}".strip()
            raise SandboxUnavailable(f"no sandbox boots with {self.runsc.path} ({self.platform}): {why}") from error
        except BaseException:
            await sandbox.close()
            raise
        seconds = time.monotonic() - started
        metrics.BOOTS.labels("booted").inc()
        metrics.BOOT.observe(seconds)
        _log.info("%s is up after %.2f s (%s, %s)", plan.folder, seconds, kind, self.platform)
        return sandbox

    def close(self) -> None:
        """Ends what is left of its sandboxes."""
        self.folder.remove()

    @property
    def _memory_bytes(self) -> int:
        return self.settings.memory_bytes + CGROUP["overhead_bytes"]

    def _plan(self, name: str, kind: str) -> ContainerSpec:
        home = self.folder.path
        cgroup = self.cgroup.sub(name) if self.cgroup else None
        limits = cgroup.limits(memory_bytes=self._memory_bytes, pids=CGROUP["pids"]) if cgroup else {}
        return ContainerSpec(
            command=self.runsc.command(
                platform=self.platform,
                cgroups=cgroup is not None,
                state=home / name / "state",
                bundle=home / name,
                # runsc names a socket after it that the whole machine shares.
                name=f"{home.name}-{name}",
            ),
            folder=home / name,
            config=bundle.config(home, kind, limits),
            cgroup=cgroup,
            isolation=f"gvisor-{self.platform}",
            runsc_version=self.runsc.version,
        )


async def open_launcher(settings: SandboxSettings) -> SandboxLauncher:
    """A launcher on which a sandbox has booted."""
    found = await runsc.find()
    if supported_machine() is None:
        raise SandboxUnavailable("policy.toml lists no denied system calls for this machine: add its table")
    home = await asyncio.to_thread(_settle, settings.runtime_dir)
    try:
        cgroup, unbounded = _cgroup(home)
        launcher = SandboxLauncher(
            runsc=found, platform=PLATFORMS[0], folder=home, settings=settings, cgroup=cgroup, unbounded=unbounded
        )
        return await _probed(launcher)
    except BaseException:
        home.remove()
        raise


def _settle(runtime_dir: Path) -> PrivateFolder:
    """A folder with the root of all sandboxes, where others have left theirs before."""
    try:
        folder.sweep(runtime_dir)
        home = folder.claim(runtime_dir)
    except OSError as error:
        raise SandboxUnavailable(f"no sandbox can live in {runtime_dir}: {error.strerror}") from error
    try:
        bundle.lay_out(home.path)
    except BaseException as error:
        home.remove()
        if isinstance(error, OSError):
            raise SandboxUnavailable(f"no sandbox can live in {runtime_dir}: {error.strerror}") from error
        raise
    return home


def _cgroup(home: PrivateFolder) -> tuple[Cgroup | None, str]:
    try:
        cgroup = cgroups.find(home.path.name)
        home.note(cgroup.folders)
        cgroup.make()
    except NoCgroups as reason:
        return None, str(reason)
    return cgroup, ""


async def _probed(launcher: SandboxLauncher) -> SandboxLauncher:
    """With the first platform that boots; without cgroups only where none boots with them."""
    platforms = [launcher.settings.platform] if launcher.settings.platform else PLATFORMS
    faults: list[str] = []
    for cgroup in dict.fromkeys((launcher.cgroup, None)):
        unbounded = launcher.unbounded or "; ".join(faults)
        for platform in platforms:
            candidate = dataclasses.replace(launcher, platform=platform, cgroup=cgroup, unbounded=unbounded)
            try:
                candidate.booted.append(await candidate.boot())
            except SandboxUnavailable as fault:
                faults.append(str(fault))
                continue
            if launcher.cgroup and not cgroup:
                _log.warning("no control group bounds the sandboxes, because with one none boots: %s", unbounded)
            return candidate
    raise SandboxUnavailable(f"{'; '.join(dict.fromkeys(faults))}; if runsc is broken or too old, {runsc.INSTALL}")
