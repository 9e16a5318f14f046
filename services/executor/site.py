"""Where a pool's sandboxes boot: the runsc and platform that work here, and the pool's private folder."""

import asyncio
import dataclasses
import itertools
import logging
import time
from dataclasses import dataclass, field

from services.executor import bundle, folder, runsc
from services.executor.folder import PrivateFolder
from services.executor.policy import supported_machine
from services.executor.runsc import PLATFORMS, Runsc, SandboxUnavailable
from services.executor.sandbox import Sandbox, boot
from services.executor.selftest import selftest
from services.executor.settings import SandboxSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Site:
    runsc: Runsc
    platform: str
    folder: PrivateFolder
    settings: SandboxSettings
    ordinals: "itertools.count[int]" = field(default_factory=itertools.count)

    async def boot(self) -> Sandbox:
        """A sandbox that has passed its self-test."""
        home = self.folder.path
        # runsc names a socket after it that the whole machine shares.
        name = f"{home.name}-{next(self.ordinals)}"
        started = time.monotonic()
        sandbox = await boot(
            name,
            runsc=self.runsc,
            platform=self.platform,
            bundle=home / "bundle",
            folder=home,
            settings=self.settings,
        )
        try:
            await selftest(sandbox, canary=home / folder.OWNER)
        except BaseException:
            await sandbox.close()
            raise
        _log.info("%s is up after %.2f s (%s)", name, time.monotonic() - started, self.platform)
        return sandbox


async def open_site(settings: SandboxSettings) -> tuple[Site, Sandbox]:
    """The site, and its first sandbox as the proof that it works."""
    found = await runsc.find()
    if supported_machine() is None:
        raise SandboxUnavailable("policy.toml lists no denied system calls for this machine: add its table")
    await asyncio.to_thread(folder.sweep, settings.runtime_dir)
    home = folder.claim(settings.runtime_dir)
    try:
        await asyncio.to_thread(bundle.build, home.path / "bundle")
        return await _probe(Site(runsc=found, platform=PLATFORMS[0], folder=home, settings=settings))
    except BaseException:
        home.remove()
        raise


async def _probe(site: Site) -> tuple[Site, Sandbox]:
    faults = []
    for platform in [site.settings.platform] if site.settings.platform else PLATFORMS:
        candidate = dataclasses.replace(site, platform=platform)
        try:
            return candidate, await candidate.boot()
        except SandboxUnavailable as fault:
            faults.append(str(fault))
    raise SandboxUnavailable(f"{'; '.join(faults)}; if runsc is broken or too old, {runsc.INSTALL}")
