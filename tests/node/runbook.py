"""Does what the runbook's entry of an alert says: runs its commands in a shell and reads the panels that it names."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chart import tools
from tests.chart.render import CHART
from tests.node.release import NAMESPACE, RELEASE, Release
from tests.observability.asking import Asked
from tests.unit.deploy.queries import filled
from tests.unit.rules.test_rules import sections

_COMMAND = re.compile(r"`((?:for [^`]+ )?(?:kubectl|soliloquy runs) [^`]+)`")
_PANEL = re.compile(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)")
# A command that takes longer is no look.
_LOOK_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A person with a shell that reaches the cluster, a token of the gateway, the dashboards and the runbook."""

    release: Release
    asked: Asked
    token: str

    def look(self, alert: Mapping[str, Any]) -> str:
        """Returns all that the entry's Look has an operator see."""
        text = _part(alert, "Look")
        seen = [f"$ {command}\n{self.shell(command, alert)}" for command in _COMMAND.findall(text)]
        seen += [f"[{title}]\n{self._panel(title)}" for title in _PANEL.findall(text)]
        assert seen, f"the entry of {alert['labels']['alertname']} has nothing to look at: {text}"
        return "\n".join(seen)

    def commands(self, alert: Mapping[str, Any]) -> list[str]:
        """Returns the commands of the entry's Do."""
        return _COMMAND.findall(_part(alert, "Do"))

    def shell(self, command: str, alert: Mapping[str, Any]) -> str:
        """Runs a line of the runbook as it stands; its variables are the alert's labels."""
        labels = {name.upper(): value for name, value in alert["labels"].items()}
        told = {"NS": NAMESPACE, "NAME": f"{RELEASE}-soliloquy", "RELEASE": RELEASE}
        reach = {"KUBECONFIG": str(self.release.cluster.kubeconfig()), "SOLILOQUY_TOKEN": self.token}
        reach["SOLILOQUY_GATEWAY"] = self.release.gateway
        programs = f"{tools.folder() / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command],
            env={**os.environ, **labels, **told, **reach, "PATH": programs},
            capture_output=True,
            text=True,
            check=False,
            timeout=_LOOK_SECONDS,
        )
        return done.stdout + done.stderr

    def _panel(self, title: str) -> str:
        """Returns what a panel shows at the moment, a line for each of its series above nothing."""
        queries = [
            target["expr"]
            for board in (CHART / "files/dashboards").glob("*.json")
            for panel in json.loads(board.read_text("utf-8"))["panels"]
            if panel.get("title") == title
            for target in panel["targets"]
        ]
        assert queries, f"no dashboard has a panel {title!r}"
        lines = [line for query in queries for line in self.asked.now(filled(query))]
        return "\n".join(f"{labels} {points[-1][1]:g}" for labels, points in lines if points[-1][1])


def _part(alert: Mapping[str, Any], name: str) -> str:
    anchor = alert["annotations"]["runbook_url"].partition("#")[2]
    _, _, rest = sections()[anchor].partition(f"**{name}.**")
    return " ".join(rest.partition("\n\n**")[0].split())
