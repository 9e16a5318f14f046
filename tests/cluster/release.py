"""Installs a release of the chart in the cluster and reads its state."""

from dataclasses import dataclass
from pathlib import Path

from tests.chart.render import CHART
from tests.cluster.control_plane import ADMIN, Cluster
from tests.cluster.watching import Pod, component_of

PLAIN = ("--set=global.imageRegistry=registry.example", "--set=kafka.bootstrap=kafka.example:9092")
# The names that values-prod.yaml and values-gke.yaml leave open.
STORED = ("--set=dataset.store=gs://bucket/datasets",)
_WAIT = ("--wait", "--timeout=150s")
_KINDS = (
    "deployments,statefulsets,daemonsets,jobs,cronjobs,pods,services,configmaps,networkpolicies,poddisruptionbudgets,"
    "horizontalpodautoscalers,serviceaccounts,persistentvolumeclaims,scaledobjects,rayservices,podmonitors"
)
# Components whose old pod serves until its successor is ready; two gateways or collectors would do the same work.
ROLLED = frozenset({"curriculum", "planner", "student", "tutor", "codegen", "composer", "executor"})
# Components whose pods share their work, so that a scaler may add some.
SCALED = ROLLED - {"curriculum"}


@dataclass(frozen=True, kw_only=True)
class Release:
    cluster: Cluster
    namespace: str
    helm: str = "helm4"
    user: str = ADMIN

    def run(self, *arguments: str) -> str:
        return self.cluster.helm(self.helm, *arguments, f"--namespace={self.namespace}", user=self.user)

    def install(self, *flags: str, chart: Path = CHART) -> str:
        return self.run("install", "lab", str(chart), *_WAIT, *PLAIN, *flags)

    def upgrade(self, *flags: str) -> str:
        """Upgrades as the operator's guide says."""
        return self.run("upgrade", "lab", str(CHART), "--reset-then-reuse-values", *_WAIT, *flags)

    def rollback(self, revision: int, *flags: str) -> str:
        return self.run("rollback", "lab", str(revision), *_WAIT, *flags)

    def pods(self, component: str = "") -> list[Pod]:
        found = self.cluster.items("pods", f"--namespace={self.namespace}")
        return [pod for pod in found if not component or component_of(pod) == component]

    def replicas(self) -> dict[str, int]:
        """Returns wanted and ready pods per component."""
        workloads = self.cluster.items("deployments,statefulsets", f"--namespace={self.namespace}")
        wanted = {component_of(one): one["spec"]["replicas"] for one in workloads}
        assert {component_of(one): one["status"].get("readyReplicas", 0) for one in workloads} == wanted
        return wanted

    def images(self) -> set[str]:
        """Returns the images of all running pods that are not being deleted."""
        running = [pod for pod in self.pods() if pod["status"]["phase"] == "Running"]
        going = [pod for pod in running if "deletionTimestamp" not in pod["metadata"]]
        return {part["image"] for pod in going for part in pod["spec"]["containers"]}

    def objects(self) -> set[str]:
        found = self.cluster.items(
            _KINDS, f"--namespace={self.namespace}", "--selector=app.kubernetes.io/name=soliloquy"
        )
        # Objects that a controller created do not belong to the chart.
        mine = [one for one in found if "ownerReferences" not in one["metadata"]]
        return {f"{one['kind']}/{one['metadata']['name']}" for one in mine}
