"""Checks the model service on KubeRay, and trainings: Ray's configuration matches Ray and the code."""

from importlib.util import find_spec
from typing import Any

import pytest
import yaml

from soliloquy.runtime.ray_session import ENVIRONMENT as ANYWHERE
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy_services.model.serving import ENVIRONMENT, FAST, SERVICER
from soliloquy_training.ray import ENVIRONMENT as TRAINING
from tests.chart.render import CHART, Document, Values
from tests.unit.chart.objects import RETRAINED, SERVED, TRAINED, container, environment, kinds, named, objects, services


def service(*values: Values) -> Document:
    spec: Document = named(objects(SERVED, *values), "RayService")["spec"]
    return spec


def groups(cluster: Document) -> list[Document]:
    return [each["template"]["spec"] for each in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray Serve is missing: pip install 'soliloquy-tutor[serve]'")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray's own
def test_ray_serve_and_the_application_take_their_configuration() -> None:
    from ray.serve.schema import ServeDeploySchema

    from soliloquy.cli.model_app import Args, engine_settings, serving_settings

    chosen: Values = {
        "modelService": {
            "adapters": {"tutor": "/models/tutor"},
            "replicas": {"max": 2},
            "engineSettings": {"batch": 96, "vllm": {"tensor_parallel": 2, "kv_cache": "fp8"}},
            "workers": {"replicas": {"max": 2}, "resources": {"limits": {"nvidia.com/gpu": 2}}},
        },
        "traces": {"url": "http://tempo:4318", "share": 0.1},
        "logFormat": "text",
    }
    config = ServeDeploySchema.model_validate(yaml.safe_load(service(chosen)["serveConfigV2"]))
    assert (config.http_options.port, config.grpc_options.port) == (8000, 9000)
    assert config.grpc_options.grpc_servicer_functions == [SERVICER]
    assert config.logging_config.encoding == "TEXT"
    [application] = config.applications
    assert application.import_path == "soliloquy.cli.model_app:build"
    args = Args.model_validate(application.args)
    assert (args.engine, str(args.model), args.adapters) == ("vllm", "/models/base", {"tutor": "/models/tutor"})
    assert (args.min_replicas, args.max_replicas) == (1, 2)
    serving, engine = serving_settings(args), engine_settings(args)
    assert engine
    assert (serving.gpus, serving.target_ongoing, serving.max_ongoing) == (2, 96, 192)
    assert (engine.batch, engine.vllm.gpus, engine.vllm.kv_cache) == (96, 2, "fp8")
    assert serving.traces == TraceSettings(url="http://tempo:4318/v1/traces", share=0.1)


def test_ray_is_told_in_the_cluster_what_it_is_told_on_one_machine() -> None:
    told = yaml.safe_load((CHART / "files/ray-environment.yaml").read_text("utf-8"))
    assert told == {
        "serve": ENVIRONMENT | FAST,
        # The image decides where the code is.
        "train": {name: value for name, value in {**ANYWHERE, **TRAINING}.items() if name != "PYTHONPATH"},
    }
    for pod in groups(service()["rayClusterConfig"]):
        assert told["serve"].items() <= environment(pod["containers"][0]).items()


def test_the_services_ask_the_model_service_of_the_release() -> None:
    found = objects(SERVED)
    student = services(found)["student"]["spec"]["template"]["spec"]["containers"][0]
    assert environment(student)["SOLILOQUY_MODEL"] == "ray"
    # KubeRay names the Service so, and adopts ports called serve and serve-grpc.
    asked = f"{named(found, 'RayService')['metadata']['name']}-serve-svc.tutoring.svc:9000"
    assert environment(student)["SOLILOQUY_MODEL_ADDRESS"] == asked
    for pod in groups(service()["rayClusterConfig"]):
        ports = {each["name"]: each["containerPort"] for each in pod["containers"][0]["ports"]}
        assert (ports["serve"], ports["serve-grpc"]) == (8000, 9000)


def test_ray_alone_gets_a_token_and_only_where_it_adds_pods() -> None:
    grows = service()["rayClusterConfig"]
    head, worker = groups(grows)
    assert [pod["automountServiceAccountToken"] for pod in (head, worker)] == [False, False]
    [token] = [volume["name"] for volume in head["volumes"] if "serviceAccountToken" in str(volume)]
    assert token in {mount["name"] for mount in grows["autoscalerOptions"]["volumeMounts"]}
    assert token not in {mount["name"] for mount in head["containers"][0]["volumeMounts"]}
    assert "serviceAccountToken" not in str(worker)
    fixed = service({"modelService": {"workers": {"replicas": {"max": 1}}}})["rayClusterConfig"]
    assert "enableInTreeAutoscaling" not in fixed
    assert "serviceAccountToken" not in str(fixed)


def test_the_head_hears_the_first_request_where_no_worker_is_kept() -> None:
    zero: Values = {"modelService": {"replicas": {"min": 0}, "workers": {"replicas": {"min": 0}}}}
    spec = service(zero)
    assert spec["excludeHeadPodFromServeSvc"] is False
    assert yaml.safe_load(spec["serveConfigV2"])["applications"][0]["args"]["min_replicas"] == 0


def test_a_replica_has_no_place_on_the_head_and_its_weights_are_only_read() -> None:
    spec = service({"modelService": {"weights": {"existingClaim": "weights"}}})
    assert spec["rayClusterConfig"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert spec["excludeHeadPodFromServeSvc"] is True
    head, worker = groups(spec["rayClusterConfig"])
    mounts = [
        {each["name"]: each.get("readOnly") for each in pod["containers"][0]["volumeMounts"]} for pod in (head, worker)
    ]
    assert ["weights" in each for each in mounts] == [False, True]
    assert mounts[1]["weights"] is True


def test_ray_asks_whoever_comes_for_a_token_unless_told_otherwise() -> None:
    for values, mode in (({}, "token"), ({"modelService": {"tokenAuth": False}}, "disabled")):
        assert service(values)["rayClusterConfig"]["authOptions"] == {"mode": mode}
        job = named(objects(SERVED, TRAINED, values), "RayJob")["spec"]
        assert job["rayClusterSpec"]["authOptions"] == {"mode": mode}


def test_what_the_head_knows_outlives_it_in_a_redis() -> None:
    assert "gcsFaultToleranceOptions" not in service()["rayClusterConfig"]
    redis: Values = {"modelService": {"head": {"redis": {"address": "valkey.data:6380", "existingSecret": "valkey"}}}}
    assert service(redis)["rayClusterConfig"]["gcsFaultToleranceOptions"] == {
        "redisAddress": "valkey.data:6380",
        "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "valkey", "key": "password"}}},
    }
    reached = kinds(objects(SERVED, redis), "NetworkPolicy")["model-ray"]["spec"]["egress"]
    assert [{"protocol": "TCP", "port": 6380}] in [rule["ports"] for rule in reached if "ports" in rule]


@pytest.mark.parametrize(("least", "kept"), [(1, None), (2, 1), (4, 3)])
def test_a_drain_takes_one_gpu_worker_at_a_time_where_there_are_several(least: int, kept: int | None) -> None:
    found = objects(SERVED, {"modelService": {"workers": {"replicas": {"min": least, "max": 4}}}})
    budget = kinds(found, "PodDisruptionBudget").get("model")
    assert (budget and budget["spec"]["minAvailable"]) == kept
    if budget:
        # A RayCluster cannot be asked for its size.
        assert "maxUnavailable" not in budget["spec"]
        assert budget["spec"]["selector"]["matchLabels"]["ray.io/node-type"] == "worker"


def test_an_upgrade_may_move_requests_over_in_steps() -> None:
    assert service()["upgradeStrategy"] == {"type": "NewCluster"}
    steps: Values = {
        "modelService": {
            "upgrade": "NewClusterWithIncrementalUpgrade",
            "incremental": {"gatewayClassName": "istio"},
            "workers": {"replicas": {"min": 1, "max": 2}},
        }
    }
    assert service(steps)["upgradeStrategy"]["clusterUpgradeOptions"] == {
        "gatewayClassName": "istio",
        "maxSurgePercent": 25,
        "stepSizePercent": 10,
        "intervalSeconds": 30,
    }


def test_weights_may_come_as_an_image() -> None:
    _, worker = groups(service({"modelService": {"weights": {"image": "r.example/w:1"}}})["rayClusterConfig"])
    assert {"reference": "r.example/w:1", "pullPolicy": "IfNotPresent"} in [v.get("image") for v in worker["volumes"]]
    assert {"name": "weights", "mountPath": "/models", "readOnly": True} in worker["containers"][0]["volumeMounts"]


def test_weights_may_be_fetched_before_a_worker_serves() -> None:
    weights = {"source": "s3://bucket/base", "existingSecret": "store", "digest": "a" * 64, "size": "20Gi"}
    fetched = objects(SERVED, {"modelService": {"weights": weights}})
    head, worker = groups(named(fetched, "RayService")["spec"]["rayClusterConfig"])
    assert "initContainers" not in head
    [fetch] = worker["initContainers"]
    assert fetch["command"] == ["soliloquy", "model", "fetch", "s3://bucket/base", "/models/base", "--digest", "a" * 64]
    assert fetch["image"] == worker["containers"][0]["image"]
    assert fetch["envFrom"] == [{"secretRef": {"name": "store"}}]
    assert {"name": "weights", "emptyDir": {"sizeLimit": "20Gi"}} in worker["volumes"]
    # Only the fetch writes.
    assert {"name": "weights", "mountPath": "/models"} in fetch["volumeMounts"]
    assert {"name": "weights", "mountPath": "/models", "readOnly": True} in worker["containers"][0]["volumeMounts"]
    reaches = kinds(fetched, "NetworkPolicy")["store"]["spec"]["podSelector"]["matchExpressions"][0]["values"]
    assert reaches == ["model"]


def test_answers_under_way_have_longer_than_the_replica_that_ends() -> None:
    spec = service({"modelService": {"drainSeconds": 300}})
    assert yaml.safe_load(spec["serveConfigV2"])["applications"][0]["args"]["grace"] == 300
    for pod in groups(spec["rayClusterConfig"]):
        assert pod["terminationGracePeriodSeconds"] > 300


def test_retraining_judges_in_the_sandbox_by_the_rights_of_the_executor_and_writes_what_the_model_service_reads() -> (
    None
):
    found = objects(RETRAINED, {"modelService": {"adapterVolume": {"existingClaim": "adapters"}}})
    works = services(found)
    retraining, executor = (container(works[name]) for name in ("retraining", "executor"))
    assert retraining["securityContext"] == executor["securityContext"]
    assert works["retraining"]["spec"]["strategy"] == {"type": "Recreate"}
    _, worker = groups(named(found, "RayService")["spec"]["rayClusterConfig"])
    for pod, read_only in ((retraining, False), (worker["containers"][0], True)):
        assert {"name": "adapters", "mountPath": "/adapters", "readOnly": read_only} in pod["volumeMounts"]
    address = environment(container(works["student"]))["SOLILOQUY_MODEL_ADDRESS"]
    assert f"--model-address={address}" in retraining["args"]


def trainings(*values: Values) -> list[Document]:
    return objects(TRAINED, *values)


def test_another_training_is_another_ray_job_and_the_same_one_the_same() -> None:
    def name(*values: Values) -> str:
        called: str = named(trainings(*values), "RayJob")["metadata"]["name"]
        return called

    assert name() == name({"services": {"student": {"replicas": 4}}})
    assert name() != name({"training": {"args": ["--config", "scaffold", "--name=$(JOB_NAME)"]}})
    assert name() != name({"images": {"model": {"tag": "9"}}})


def test_a_ray_job_trains_on_as_many_gpu_pods_as_asked() -> None:
    job = named(trainings({"training": {"rayJob": {"workers": 2}}}), "RayJob")["spec"]
    assert job["entrypoint"].endswith(" --ray --workers 2")
    [workers] = job["rayClusterSpec"]["workerGroupSpecs"]
    assert (workers["replicas"], workers["minReplicas"], workers["maxReplicas"]) == (2, 2, 2)
    limits = [pod["containers"][0]["resources"]["limits"] for pod in groups(job["rayClusterSpec"])]
    assert ["nvidia.com/gpu" in each for each in limits] == [False, True]


@pytest.mark.parametrize("existing", ["", "checkpoints"])
def test_what_a_training_leaves_stays_when_the_release_goes(existing: str) -> None:
    found = trainings({"training": {"persistence": {"existingClaim": existing}}})
    claims = kinds(found, "PersistentVolumeClaim")
    assert set(claims) == (set() if existing else {"training"})
    pods: list[dict[str, Any]] = groups(named(found, "RayJob")["spec"]["rayClusterSpec"])
    for pod in (*pods, named(found, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]):
        [claim] = [volume["persistentVolumeClaim"] for volume in pod["volumes"] if volume["name"] == "trained"]
        assert claim["claimName"] == (existing or "lab-soliloquy-training")
    for claim in claims.values():
        assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_a_training_on_time_has_the_name_of_its_job_which_a_repeated_pod_has_too() -> None:
    pod = named(trainings(), "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    of_the_job = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}}
    for each in (*pod["initContainers"], *pod["containers"]):
        assert environment(each)["JOB_NAME"] == of_the_job
