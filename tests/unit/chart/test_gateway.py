"""Checks the gateway in a cluster: it requires a token, and its values' ways lead to it."""

import click
import pytest

from soliloquy.cli.webhook_options import SECRET
from tests.chart.render import Document, Values
from tests.unit.chart.objects import PUBLIC, REQUIRED, container, environment, kinds, named, objects, refusal, services
from tests.unit.chart.test_services import command

ALL: Values = {
    "gateway": {
        "tls": {"existingSecret": "certificate", "clientCaKey": "ca.crt"},
        "ingress": {"annotations": {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}},
        "problems": {"existingClaim": "problems"},
        "adapters": {"existingClaim": "adapters"},
        "evaluations": {"existingClaim": "evaluations"},
        "chatEndpoints": ["https://api.example.com/v1"],
    },
    "dataset": {"store": "s3://bucket/datasets", "existingSecret": "object-store"},
}


def options(*values: Values) -> dict[str, str]:
    args = container(services(objects(*values))["gateway"])["args"]
    return dict(arg.removeprefix("--").split("=", 1) for arg in args[2:])


def mounts(pod: Document) -> dict[str, str]:
    return {each["mountPath"]: each["name"] for each in pod["volumeMounts"] if each.get("readOnly")}


def test_without_tokens_it_hears_nobody_but_its_own_pod() -> None:
    found = objects()
    told = options()
    assert (told["listen"], told["grpc"]) == ("127.0.0.1:8080", "127.0.0.1:8081")
    assert "gateway" not in kinds(found, "Service")
    assert "gateway" not in kinds(found, "NetworkPolicy")
    assert not kinds(found, "Ingress")


def test_with_tokens_it_hears_whoever_has_one() -> None:
    told = options(PUBLIC)
    assert (told["listen"], told["grpc"]) == ("0.0.0.0:8080", "0.0.0.0:8081")
    pod = services(objects(PUBLIC))["gateway"]["spec"]["template"]["spec"]
    folder, _, file = told["tokens"].rpartition("/")
    [secret] = [each["secret"] for each in pod["volumes"] if each["name"] == mounts(pod["containers"][0])[folder]]
    assert (secret["secretName"], secret["items"]) == ("tokens", [{"key": "tokens.toml", "path": file}])
    # A file mounted by subPath would never change.
    assert all("subPath" not in each for each in pod["containers"][0]["volumeMounts"])


def test_the_service_the_ingress_and_the_route_lead_to_the_ports_that_it_listens_on() -> None:
    found = objects(PUBLIC)
    pod = container(services(found)["gateway"])
    numbers = {port["name"]: port["containerPort"] for port in pod["ports"]}
    service = named(found, "Service", "gateway")["spec"]
    ports = {port["name"]: (port["port"], numbers[port["targetPort"]]) for port in service["ports"]}
    assert ports == {"http": (8080, 8080), "grpc": (8081, 8081)}
    assert service["selector"] == services(found)["gateway"]["spec"]["selector"]["matchLabels"]

    ingress = named(found, "Ingress")["spec"]
    [rule] = ingress["rules"]
    assert ingress["tls"] == [{"hosts": ["soliloquy.example.com"], "secretName": "certificate"}]
    assert rule["host"] == "soliloquy.example.com"
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "lab-soliloquy-gateway", "port": {"name": "http"}}

    route = named(found, "HTTPRoute")["spec"]
    led = {each["matches"][0]["path"]["value"]: each["backendRefs"][0]["port"] for each in route["rules"]}
    assert led == {"/soliloquy.v1.RunService": 8081, "/": 8080}
    assert route["hostnames"] == ["soliloquy.example.com"]


@pytest.mark.parametrize(
    ("tls", "protocol"), [({"existingSecret": "", "clientCaKey": ""}, "kubernetes.io/h2c"), ({}, None)]
)
def test_who_leads_there_is_told_how_grpc_is_spoken(tls: Values, protocol: str | None) -> None:
    service = named(objects(PUBLIC, ALL, {"gateway": {"tls": tls}}), "Service", "gateway")["spec"]
    [grpc] = [port for port in service["ports"] if port["name"] == "grpc"]
    assert grpc.get("appProtocol") == protocol


def test_it_takes_the_command_line_of_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = container(services(objects(PUBLIC, ALL, {"defaults": {"maxInFlight": 16}}))["gateway"])
    for variable, value in environment(pod).items():
        monkeypatch.setenv(variable, str(value))
    found, args = command(pod["args"])
    # Files that exist only in the pod are skipped.
    known = {flag for option in found.params if isinstance(option, click.Option) for flag in option.opts}
    assert {arg.split("=")[0] for arg in args} <= known
    assert found.name == "gateway"


def test_what_it_reads_is_mounted_where_it_is_told_to_look() -> None:
    told = options(PUBLIC, ALL)
    pod = container(services(objects(PUBLIC, ALL))["gateway"])
    assert told["store"] == "s3://bucket/datasets"
    assert pod["envFrom"] == [{"secretRef": {"name": "object-store"}}]
    for option in ("problem-files", "adapters", "evaluations"):
        assert mounts(pod)[told[option]] == told[option].strip("/")
    for option in ("tls-cert", "tls-key", "client-ca"):
        assert told[option].rpartition("/")[0] in mounts(pod)


def test_it_remembers_its_runs_in_the_database_that_the_values_name() -> None:
    database = {"url": "postgresql://soliloquy@db.lab/gateway", "existingSecret": "database"}
    found = services(objects(PUBLIC, ALL, {"gateway": {"database": database}}))
    assert options(PUBLIC, ALL, {"gateway": {"database": database}})["database"] == database["url"]
    secrets = [{"secretRef": {"name": name}} for name in ("object-store", "database")]
    assert container(found["gateway"])["envFrom"] == secrets
    assert container(found["collector"])["envFrom"] == secrets[:1]


def test_it_tells_webhooks_with_the_secret_that_signs_and_deletes_runs_when_the_values_say() -> None:
    hooks = {"urls": ["https://hooks.lab/run"], "existingSecret": "hooks"}
    gateway = container(services(objects({"gateway": {"webhooks": hooks, "deleteRunsAfterDays": 90}}))["gateway"])
    assert {"--webhook=https://hooks.lab/run", "--delete-runs-after=90"} <= {*gateway["args"]}
    assert environment(gateway)[SECRET] == {"secretKeyRef": {"name": "hooks", "key": "secret"}}
    assert SECRET not in environment(container(services(objects())["gateway"]))
    why = refusal(REQUIRED, {"gateway": {"webhooks": {"urls": hooks["urls"]}}})
    assert "gateway.webhooks.urls requires gateway.webhooks.existingSecret" in why


def test_a_chat_may_ask_each_of_the_listed_apis() -> None:
    urls = ["https://api.example.com/v1", "http://model.lab:8000/v1"]
    args = container(services(objects({"gateway": {"chatEndpoints": urls}}))["gateway"])["args"]
    assert [arg for arg in args if arg.startswith("--chat-endpoint=")] == [f"--chat-endpoint={url}" for url in urls]


def test_the_chat_asks_the_sandboxes_of_the_release() -> None:
    found = objects()
    service = named(found, "Service", "executor")
    [port] = service["spec"]["ports"]
    assert options()["sandbox"] == f"{service['metadata']['name']}.tutoring.svc:{port['port']}"
    executor = container(services(found)["executor"])
    assert f"--grpc=0.0.0.0:{port['port']}" in executor["args"]
    assert {"name": port["targetPort"], "containerPort": port["port"]} in executor["ports"]


def test_the_chat_and_the_sandboxes_show_each_other_certificates() -> None:
    found = objects({"sandbox": {"tls": {"executorSecret": "of-executor", "gatewaySecret": "of-gateway"}}})
    read = {
        name: {each["secret"]["secretName"] for each in one["spec"]["template"]["spec"]["volumes"] if "secret" in each}
        for name, one in services(found).items()
    }
    assert {name: secrets for name, secrets in read.items() if secrets} == {
        "executor": {"of-executor"},
        "gateway": {"of-gateway"},
    }
    executor, gateway = container(services(found)["executor"]), container(services(found)["gateway"])
    served = dict(arg.removeprefix("--").split("=", 1) for arg in executor["args"] if "/" in arg)
    called = {name: str(value) for name, value in environment(gateway).items() if name.endswith("_FILE")}
    for pod, files in ((executor, served), (gateway, called)):
        assert {file.rpartition("/")[0] for file in files.values()} <= set(mounts(pod))
    names = {name: file.rpartition("/")[2] for name, file in (served | called).items()}
    assert names == {
        "tls-cert": "tls.crt",
        "tls-key": "tls.key",
        "client-ca": "ca.crt",
        "SOLILOQUY_CA_FILE": "ca.crt",
        "SOLILOQUY_CERTIFICATE_FILE": "tls.crt",
        "SOLILOQUY_KEY_FILE": "tls.key",
    }
    known = {flag for option in command(executor["args"])[0].params for flag in option.opts}
    assert {f"--{flag}" for flag in served} <= known


def test_without_it_the_executor_listens_to_nobody() -> None:
    found = objects({"services": {"gateway": {"enabled": False}}})
    assert "executor" not in kinds(found, "Service")
    assert not [arg for arg in container(services(found)["executor"])["args"] if arg.startswith("--grpc")]
