"""Checks each service's workload: the service and its command line exist in the code."""

import json
import re
import shlex
from typing import Any

import click
import pytest
import yaml

from deploy.images import bake
from soliloquy.cli.main import commands
from soliloquy.cli.model_options import MODEL
from soliloquy.cli.observing import LOG_FORMAT, TRACE_SHARE
from soliloquy.cli.service import _HANDLERS, KAFKA_WAIT
from soliloquy.cli.service_options import PASSWORD_FILE, VARIABLES
from soliloquy.runs.assembly import declared
from soliloquy.runs.assignment import SERVICES
from soliloquy.runs.description import IMAGE
from tests.chart.render import CHART, HELMS, Document, Values, load, rendered
from tests.unit.chart.objects import (
    PUBLIC,
    REQUIRED,
    RETRAINED,
    SERVED,
    TRAINED,
    container,
    environment,
    kinds,
    named,
    objects,
    pods,
    services,
)

SECURED: Values = {
    "kafka": {
        "prefix": "a.",
        "tls": {"enabled": True, "ca": {"existingSecret": "ca"}, "client": {"existingSecret": "client"}},
        "sasl": {"enabled": True, "existingSecret": "user", "usernameKey": "name"},
    }
}
STAGES: dict[str, dict[str, Any]] = yaml.safe_load((CHART / "files/stages.yaml").read_text("utf-8"))


# The chat plays the tutor.
ASKERS = {name for name, (_, own) in _HANDLERS.items() if MODEL in own.values()} | {"gateway"}


def command(args: list[str]) -> tuple[click.Command, list[str]]:
    """Returns the command of a line, and its options."""
    found: click.Command = commands
    context = click.Context(commands)
    while isinstance(found, click.Group):
        _, chosen, args = found.resolve_command(context, args)
        assert chosen
        found = chosen
    return found, args


def test_every_service_has_a_workload_and_nothing_else_has() -> None:
    assert set(services(objects())) == {*SERVICES, "gateway"}
    assert set(services(objects({"services": {"planner": {"enabled": False}}}))) == {*SERVICES, "gateway"} - {"planner"}


def test_the_chart_knows_of_each_service_what_the_code_knows() -> None:
    # Every service follows run.cancelled, and what is held waits by design: a backlog there does not measure its work.
    others = ("run.cancelled", "turn.held")
    handled = {each.name: [topic for topic in each.topics if topic not in others] for each in declared()}
    # The gateway follows topics and handles none.
    assert {name: stage["topics"] for name, stage in STAGES.items()} == handled | {"gateway": []}
    assert {name for name, stage in STAGES.items() if stage["model"]} == ASKERS


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_takes_the_command_line_of_its_pod(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = container(services(objects({"sandbox": {"audit": True}, "dataset": {"store": "s3://bucket/d"}}))[name])
    for variable, value in environment(pod).items():
        monkeypatch.setenv(variable, value if isinstance(value, str) else "lab-0")
    found, options = command(pod["args"])
    params = found.make_context(found.name, options).params
    assert (found.name, params["http"], params["grace"]) == (name, "0.0.0.0:9090", 20.0)


def test_every_variable_is_one_that_its_command_reads() -> None:
    seen = set()
    for _, pod in pods(objects(SECURED, {"model": {"engine": "openai", "baseUrl": "https://api.example.com/v1"}})):
        for each in pod["spec"]["containers"]:
            found, _ = command(each["args"])
            known = {KAFKA_WAIT, IMAGE, LOG_FORMAT, TRACE_SHARE, PASSWORD_FILE, *VARIABLES}
            known |= {str(option.envvar) for option in found.params if isinstance(option, click.Option)}
            assert {name for name in environment(each) if name.startswith("SOLILOQUY_")} <= known
            seen.add(found.name)
    assert seen == {*SERVICES, "gateway", "apply", "generate"}


def test_the_test_of_a_release_grows_a_conversation_by_its_services() -> None:
    test = named(objects(SECURED), "Pod")
    [grows] = test["spec"]["containers"]
    found, options = command(grows["args"])
    assert found.name == "generate"
    params = found.make_context("generate", options).params
    assert (params["conversations"], str(params["out"]), params["enrich"]) == (10, "/tmp/test", True)
    without = named(objects({"services": {"planner": {"enabled": False}}}), "Pod")
    assert "--enrich" not in without["spec"]["containers"][0]["args"]
    assert environment(grows)["SOLILOQUY_KAFKA_PREFIX"] == "a."
    assert test["metadata"]["annotations"]["helm.sh/hook"] == "test"


def test_retraining_takes_the_command_line_of_its_pod() -> None:
    found, options = command(container(named(objects(RETRAINED), "Deployment", "retraining"))["args"])
    known = {flag for option in found.params for flag in option.opts}
    assert found.name == "retrain"
    assert {option.split("=")[0] for option in options if option.startswith("--")} <= known


def test_a_trace_of_each_conversation_is_sent_but_by_the_executor() -> None:
    found = services(objects({"traces": {"url": "http://tempo:4318", "share": 0.1}}))
    sending = {name: environment(container(each)).get("SOLILOQUY_TRACE_SHARE") for name, each in found.items()}
    assert sending == dict.fromkeys(found, "0.1") | {"executor": None}


def test_a_service_waits_for_its_kafka_and_logs_as_it_is_told() -> None:
    for values, told in (({}, ("10m", "json")), ({"kafka": {"wait": "90s"}, "logFormat": "text"}, ("90s", "text"))):
        for each in services(objects(values)).values():
            found = environment(container(each))
            assert (found["SOLILOQUY_KAFKA_WAIT"], found["SOLILOQUY_LOG_FORMAT"]) == told


def test_what_a_training_is_to_do_reaches_it_word_by_word() -> None:
    found = objects(TRAINED)
    asked, frozen = TRAINED["training"]["args"], TRAINED["training"]["freeze"]
    job = named(found, "RayJob")
    freeze, train = job["spec"]["entrypoint"].split(" && ")

    def as_kubernetes_would(words: list[str]) -> list[str]:
        return [word.replace("$(JOB_NAME)", job["metadata"]["name"]) for word in words]

    assert shlex.split(freeze) == ["soliloquy", "freeze", "--once", *as_kubernetes_would(frozen)]
    assert shlex.split(train)[: 2 + len(asked)] == ["soliloquy", "train", *as_kubernetes_would(asked)]
    pod = named(found, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert [each["args"][: 1 + len(asked)] for each in (*pod["initContainers"], *pod["containers"])] == [
        ["freeze", "--once", *frozen],
        ["train", *asked],
    ]
    for words in (shlex.split(train)[1:], pod["containers"][0]["args"], shlex.split(freeze)[1:]):
        program, options = command(words)
        known = {flag for option in program.params for flag in option.opts}
        assert {word.split("=")[0] for word in options if word.startswith("--")} <= known


@pytest.mark.parametrize("drain", [5, 120])
def test_a_pod_may_take_longer_to_end_than_its_service(drain: int) -> None:
    for workload in services(objects({"defaults": {"drainSeconds": drain}})).values():
        pause = container(workload)["lifecycle"]["preStop"]["sleep"]["seconds"]
        assert f"--grace={drain}s" in container(workload)["args"]
        assert workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > pause + drain + 5


def test_a_successor_consumes_before_a_pod_goes() -> None:
    for name, workload in services(objects()).items():
        assert container(workload)["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
        if name == "gateway":
            # Only a database tells two of them which one drives.
            assert workload["spec"]["strategy"] == {"type": "Recreate"}
        elif name != "collector":
            assert workload["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    database = {"database": {"url": "postgresql://soliloquy@db/runs"}}
    two = services(objects({"gateway": database, "services": {"gateway": {"replicas": 2}}}))["gateway"]
    assert (two["spec"]["replicas"], two["spec"]["strategy"]["type"]) == (2, "RollingUpdate")


def test_what_a_service_says_goes_before_the_defaults_and_variables_are_added() -> None:
    of_all: Document = {"nodeSelector": {"pool": "all", "zone": "a"}, "env": [{"name": "A", "value": "1"}]}
    own: Document = {"nodeSelector": {"pool": "own"}, "env": [{"name": "B", "value": "2"}], "maxInFlight": 7}
    found = services(objects({"defaults": of_all, "services": {"tutor": own}}))
    tutor, student = (found[name]["spec"]["template"]["spec"] for name in ("tutor", "student"))
    assert (tutor["nodeSelector"], student["nodeSelector"]) == ({"pool": "own"}, {"pool": "all", "zone": "a"})
    assert [each["name"] for each in tutor["containers"][0]["env"][-2:]] == ["A", "B"]
    assert "--max-in-flight=7" in tutor["containers"][0]["args"]


def test_a_pod_goes_only_to_nodes_for_which_its_image_is_built() -> None:
    told = json.loads(bake.FILE.read_text("utf-8"))["target"]
    found = [*pods(objects(SERVED, TRAINED)), *pods(objects(RETRAINED))]
    seen = set()
    for _, pod in found:
        image = pod["spec"]["containers"][0]["image"].rpartition("/")[2].partition(":")[0]
        architectures = {platform.removeprefix("linux/") for platform in told[image]["platforms"]}
        selected = pod["spec"].get("nodeSelector", {}).get("kubernetes.io/arch")
        assert selected is None if architectures == {"amd64", "arm64"} else {selected} == architectures
        seen.add(image)
    assert seen == {"workers", "executor", "model"}


def test_a_variable_is_there_once_and_the_nearest_counts() -> None:
    told = [{"name": "TZ", "value": "UTC"}, {"name": "SOLILOQUY_LOG_FORMAT", "value": "text"}]
    of_one = {"services": {"tutor": {"env": [{"name": "TZ", "value": "CET"}]}}, "modelService": {"env": told[:1] * 2}}
    found = objects({"defaults": {"env": told}}, of_one, SERVED)
    for _, pod in pods(found):
        for each in pod["spec"]["containers"]:
            assert len(each["env"]) == len(environment(each))
    tutor = environment(container(services(found)["tutor"]))
    assert (tutor["TZ"], tutor["SOLILOQUY_LOG_FORMAT"]) == ("CET", "text")


def test_there_is_one_collector_whatever_the_others_have_and_its_volume_stays() -> None:
    collector = services(objects({"defaults": {"replicas": 3}}))["collector"]
    assert collector["spec"]["replicas"] == 1
    assert collector["spec"]["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    [claim] = collector["spec"]["volumeClaimTemplates"]
    assert {"name": claim["metadata"]["name"], "mountPath": "/data"} in container(collector)["volumeMounts"]


def test_changed_model_settings_start_those_anew_that_ask_a_model() -> None:
    def template(settings: str) -> dict[str, Document]:
        chosen: Values = {"model": {"engine": "", "settings": settings}}
        return {name: each["spec"]["template"] for name, each in services(objects(chosen)).items()}

    before, after = template("# one\n"), template("# other\n")
    assert {name for name in before if before[name] != after[name]} == ASKERS
    config = named(objects({"model": {"engine": "", "settings": "# one\n"}}), "ConfigMap", "models")
    assert config["data"] == {"models.toml": "# one\n"}


def test_a_digest_goes_before_a_tag_and_each_pod_has_the_image_of_its_kind() -> None:
    digest = f"sha256:{'0' * 64}"
    images = {name: {"repository": f"example.com/{name}", "tag": "9"} for name in ("workers", "executor", "model")}
    images["executor"]["digest"] = digest
    for place, pod in pods(objects({"images": images}, TRAINED)):
        kind = "model" if "train" in place else "executor" if place == "Deployment executor" else "workers"
        tag = f"@{digest}" if kind == "executor" else ":9"
        assert {each["image"] for each in pod["spec"]["containers"]} == {f"example.com/{kind}{tag}"}


def test_images_come_from_the_registry_of_all_unless_they_name_their_own() -> None:
    own = {"images": {"executor": {"repository": "localhost:5000/sandbox", "tag": "9"}}}
    for place, pod in pods(objects(own)):
        [image] = {each["image"] for each in pod["spec"]["containers"]}
        executor = place == "Deployment executor"
        assert image.startswith("localhost:5000/sandbox:9" if executor else "registry.example.com/tutoring/soliloquy/")


def test_every_pod_pulls_its_image_with_the_secrets_of_all() -> None:
    found = objects(SERVED, RETRAINED, TRAINED, {"images": {"pullSecrets": ["registry"]}})
    assert all(pod["spec"]["imagePullSecrets"] == [{"name": "registry"}] for _, pod in pods(found))


def test_each_service_has_an_account_of_its_own_and_the_executors_has_no_role() -> None:
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/datasets"}
    found = objects(SERVED, RETRAINED, TRAINED, {"serviceAccount": {"annotations": {"collector": role}}})
    accounts = kinds(found, "ServiceAccount")
    used = {
        (document["metadata"]["labels"]["app.kubernetes.io/component"], pod["spec"]["serviceAccountName"])
        for document in found
        for _, pod in pods([document])
        if pod["spec"].get("serviceAccountName", "default") != "default"
    }
    assert {account for _, account in used} <= {account["metadata"]["name"] for account in accounts.values()}
    assert all(account == f"lab-soliloquy-{component}" for component, account in used)
    assert [name for name, account in accounts.items() if "annotations" in account["metadata"]] == ["collector"]
    assert all(account["automountServiceAccountToken"] is False for account in accounts.values())
    assert not kinds(objects({"serviceAccount": {"create": False, "name": "own"}}), "ServiceAccount")


def test_no_pod_fills_its_node() -> None:
    for name, pod in pods(objects(SERVED, RETRAINED, TRAINED)):
        folders = [volume["emptyDir"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume]
        assert folders, name
        assert all(folder.get("sizeLimit") for folder in folders if folder.get("medium") != "Memory"), name


def test_the_profile_of_the_executor_is_installed_by_whom_the_values_say() -> None:
    profile = json.loads((CHART / "files/executor/seccomp.json").read_bytes())
    operator = objects({"sandbox": {"nested": {"profileBy": "operator"}}})
    made = named(operator, "SeccompProfile")
    assert "namespace" not in made["metadata"]
    assert [rule["names"] for rule in made["spec"]["syscalls"]] == [rule["names"] for rule in profile["syscalls"]]
    used = container(services(operator)["executor"])["securityContext"]["seccompProfile"]["localhostProfile"]
    assert used == f"operator/{made['metadata']['name']}.json"

    node: Values = {"services": {"executor": {"nodeSelector": {"pool": "sandboxes"}}}}
    installer = named(objects({"sandbox": {"nested": {"profileBy": "installer"}}}, node), "DaemonSet")
    assert installer["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "sandboxes"}
    assert not kinds(objects(), "DaemonSet")


def test_the_profile_of_the_executor_is_installed_unless_the_values_say_that_the_nodes_have_it() -> None:
    auto: Values = {"sandbox": {"nested": {"profileBy": "auto"}}}
    found = objects(auto)
    assert kinds(found, "DaemonSet").keys() == {"installer"}
    # Nodes with AppArmor would forbid gVisor's mounts, and the installer brings no profile for it.
    executor = container(services(found)["executor"])["securityContext"]
    assert executor["appArmorProfile"] == {"type": "Unconfined"}
    assert executor["seccompProfile"] == {"type": "Localhost", "localhostProfile": "soliloquy/executor.json"}
    operated = load(
        rendered(HELMS[0], REQUIRED, auto, api="security-profiles-operator.x-k8s.io/v1beta1/SeccompProfile")
    )
    assert kinds(operated, "SeccompProfile")
    assert not kinds(operated, "DaemonSet")


# Length limit of a Service's name, a label derived by a controller, or a name that KubeRay extends.
LONGEST = {"Service": 63, "StatefulSet": 52, "CronJob": 52, "RayService": 47, "RayJob": 47}


@pytest.mark.parametrize("release", ["a" * 53, "soliloquy", "grow.in.europe", "a-" * 20 + "a"])
def test_names_fit_whatever_the_release_is_called(release: str) -> None:
    found = load(rendered(HELMS[0], REQUIRED, PUBLIC, SERVED, TRAINED, {"apiVersionsCheck": False}, release=release))
    assert LONGEST.keys() <= {each["kind"] for each in found}
    for each in found:
        name = each["metadata"]["name"]
        assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name), name
        assert len(name) <= LONGEST.get(each["kind"], 63), name
