"""Checks an installed release: ready pods work, by the commands of its notes, under the restricted level."""

import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from tests.cluster.control_plane import until
from tests.node import images
from tests.node.release import NAMESPACE, RELEASE, SERVICES, Refused, Release, said, whole

pytestmark = pytest.mark.timeout(2400)
# The commands that the notes tell an operator to type.
_COMMAND = re.compile(r"^  (kubectl|helm|soliloquy) (.*)$", re.MULTILINE)


def test_every_service_consumes_when_helm_comes_back(release: Release) -> None:
    for service in SERVICES:
        [pod] = release.pods(service)
        [status] = pod["status"]["containerStatuses"]
        assert status["ready"], service
        assert status["restartCount"] == 0, service


def test_every_pod_runs_the_image_that_was_pushed(release: Release) -> None:
    for service in SERVICES:
        [pod] = release.pods(service)
        [status] = pod["status"]["containerStatuses"]
        digest = images.digests()["executor" if service == "executor" else "workers"]
        assert pod["spec"]["containers"][0]["image"].endswith(f"@{digest}")
        assert status["imageID"].endswith(digest)


def test_the_test_of_the_release_grows_ten_conversations(release: Release) -> None:
    assert '"accepted": 10' in release.helm("test", RELEASE, "--logs", "--timeout=10m")


def test_the_commands_of_the_notes_work(release: Release, tmp_path: Path) -> None:
    commands = [(program, shlex.split(words)) for program, words in _COMMAND.findall(release.notes)]
    assert {program for program, _ in commands} == {"kubectl", "helm", "soliloquy"}
    for program, words in commands:
        if program == "soliloquy":
            release.soliloquy(*words[:-1], str(tmp_path / "dataset"))
            assert len(whole(tmp_path / "dataset")) == 100
        elif "port-forward" in words:
            _forward(release, words)
        else:
            assert said(release.cluster.command("helm4" if program == "helm" else program, *words))


def _forward(release: Release, words: list[str]) -> None:
    """Keeps the port open until the end, while the gateway answers on this host."""
    with subprocess.Popen(release.cluster.command("kubectl", *words), stdout=subprocess.DEVNULL) as forward:
        try:
            until(lambda: _listed(release))
        finally:
            forward.kill()


def _listed(release: Release) -> None:
    try:
        release.soliloquy("runs", "list", "--gateway=127.0.0.1:8081", f"--token-file={release.token}")
    except Refused as error:
        raise AssertionError from error


def test_a_run_of_the_gateway_ends_with_all_it_was_asked_for(release: Release) -> None:
    started = time.monotonic()
    run = release.start(conversations=120, seed=1, in_flight=64)
    run.finish()
    print(f"\n120 conversations in {time.monotonic() - started:.0f} s")


@pytest.mark.parametrize("service", SERVICES)
def test_a_pod_has_no_more_than_it_needs(release: Release, service: str) -> None:
    """Checks from inside: an unprivileged user, a read-only root, and no token."""
    look = "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status"
    attempts = "touch /usr/x; ls /var/run/secrets; touch /tmp/x"
    seen = release.inside(service, "sh", "-c", f"{look}; {{ {attempts}; }} 2>&1")
    told = dict(line.split(":\t") for line in seen.splitlines() if ":\t" in line)
    assert seen.splitlines()[0] == "1000"
    assert int(told["CapEff"], 16) == int(told["CapBnd"], 16) == 0
    assert told["NoNewPrivs"] == "1"
    assert told["Seccomp"] == "2"
    assert "Read-only file system" in seen
    assert "cannot access '/var/run/secrets'" in seen


def test_the_executor_s_programs_run_in_gvisor(release: Release) -> None:
    """Checks that the executor has the chart's profile, which no other pod gets, and no additional right."""
    [pod] = release.pods("executor")
    [container] = pod["spec"]["containers"]
    assert container["securityContext"]["seccompProfile"]["type"] == "Localhost"
    assert "systrap" in release.kubectl("logs", release.pod("executor"))
    assert release.inside("executor", "soliloquy", "sandbox", "selftest")
    # Actions that only this pod is allowed.
    assert release.inside("executor", "unshare", "--user", "id", "-u")
    with pytest.raises(Refused, match="Operation not permitted"):
        release.inside("student", "unshare", "--user", "id", "-u")


def test_nobody_else_s_pod_is_taken_in_the_namespace(release: Release) -> None:
    with pytest.raises(Refused, match="violates PodSecurity"):
        said(release.cluster.command("kubectl", "run", "bad", f"--image={images.PAUSE}", f"--namespace={NAMESPACE}"))


def test_the_gateway_finds_the_executor_by_its_name(release: Release) -> None:
    """Resolves the executor's Service, where the chat runs its programs, by its cluster name."""
    connect = "import socket; socket.create_connection((%r, 50051), 10)"
    release.inside("gateway", "python", "-c", connect % f"{RELEASE}-soliloquy-executor.{NAMESPACE}.svc")
