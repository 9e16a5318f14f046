.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# Hashes and names only: a lock that works with whatever index the machine uses.
RESOLVE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

# Hundreds of processes are started by the tests, and each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Three processes keep two cores busy, since tests wait too; tests/conftest.py says what one of them takes together.
SHARED := --dist loadscope --no-loadscope-reorder
# What is held to times has no more than one other beside it: the sandboxes one process, Ray the other.
ALONE := $(patsubst %,tests/integration/model/test_%.py,serve whole_loop adapters_in_service) \
	$(patsubst %,tests/integration/executor/test_%.py,containment hostile_jobs inside jobs lanes pool)

# uv installs in seconds what takes pip a minute. Where it has not the index that pip is told of, pip does it.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) \
	|| $(BIN)/pip install --quiet --no-compile --require-hashes -r $(1)

.PHONY: help demo test lint protos kafka observe faults bench dashboards docs pictures images-check chart-cluster chart-node lock clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: .venv/installed .venv/runsc ## Grow 50 conversations on this machine, set-up included
	$(BIN)/soliloquy generate --problems physics --conversations 50 --seed 17 --out demo-dataset
	@echo "Read one:    $(BIN)/soliloquy show demo-dataset"
	@$(BIN)/soliloquy report demo-dataset

test: .venv/serve .venv/runsc .venv/kafka .venv/chromium .venv/prometheus .venv/chart ## Run the tests, set-up included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 $(SHARED) $(ALONE:%=--ignore %)
	$(BIN)/python -m pytest -n 2 $(SHARED) $(ALONE)

lint: .venv/dev ## Check style, types and the protobuf contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python protos/check.py

protos: .venv/dev ## Compile the protobuf contract and compare it with the last release's
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python protos/check.py

kafka: .venv/dev ## Run a Kafka broker on 127.0.0.1:9092 until Ctrl-C, for development
	$(BIN)/python -m tests.kafka

observe: .venv/installed .venv/prometheus ## Run a Prometheus with our rules against `soliloquy up --http-from 9100`
	$(BIN)/soliloquy observe

faults: .venv/dev .venv/runsc .venv/kafka .venv/prometheus ## Kill runs, collectors and workers, soak the sandbox, read thousands of conversations (minutes)
	$(BIN)/python -m pytest -s tests/chaos

bench: .venv/dev .venv/runsc ## Measure the transport, the sandbox and the whole loop (minutes)
	$(BIN)/python -m benchmarks all

dashboards: .venv/dev ## Write the Grafana dashboards that the chart brings
	$(BIN)/python -m deploy.dashboards

docs: .venv/dev ## Write the pages that are made from data
	$(BIN)/python -m deploy.metrics_table
	$(BIN)/python -m deploy.topics_file
	$(BIN)/python -m deploy.values_table

pictures: .venv/serve .venv/runsc .venv/kafka .venv/prometheus ## Draw the dashboards of a run of some minutes
	$(BIN)/python -m tests.integration.observability.pictures

images-check: .venv/dev ## Walk the images' build steps in roots of their own, and run what they make (root; minutes)
	$(BIN)/python -m tests.images

chart-cluster: .venv/chart ## Install, upgrade, roll back and drain the chart in a real Kubernetes (12 minutes; its build by Go half an hour more)
	$(BIN)/python -m tests.cluster.binaries
	$(BIN)/python -m pytest tests/cluster

chart-node: .venv/chart .venv/kafka ## Run the chart's pods on a node of this machine: installs, kills, drains, upgrades (root; minutes)
	$(BIN)/python -m tests.node

lock: .venv/dev ## Resolve the dependencies anew
	$(RESOLVE) --extra build --output-file requirements.lock
	$(RESOLVE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock
	$(RESOLVE) --extra dev --extra serve --extra train --constraint requirements-dev.lock --output-file requirements-serve.lock
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
		| $(RESOLVE:pyproject.toml=-) --constraint requirements-dev.lock --output-file deploy/images/build.lock
	$(RESOLVE) --extra s3 --extra otlp --constraint requirements-dev.lock --output-file deploy/images/workers.lock
	$(RESOLVE:--universal=--python-platform x86_64-manylinux_2_28) --extra s3 --extra otlp --extra vllm --extra train \
		--output-file deploy/images/model.lock

clean: ## Remove everything the build made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache demo-dataset
	rm -f soliloquy/v1/*_pb2*.py soliloquy/v1/*_pb2*.pyi
	find soliloquy services training benchmarks deploy tests protos -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv
	-$(BIN)/pip install --quiet uv

.venv/installed: .venv/bin/python requirements.lock pyproject.toml protos/hatch_build.py $(wildcard protos/soliloquy/v1/*.proto)
	$(call install,requirements.lock)
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev: .venv/installed requirements-dev.lock
	$(call install,requirements-dev.lock)
	@touch $@

# Several GB, which only what runs weights needs; uv fetches them side by side, and once a machine.
.venv/serve: .venv/dev requirements-serve.lock
	$(call install,requirements-serve.lock)
	@touch $@

# Where it cannot be had, the tests say why.
.venv/kafka: .venv/dev tests/kafka/pom.xml
	@-$(BIN)/python -m tests.kafka.jars && touch $@

.venv/chart: .venv/dev tests/chart/tools.toml
	@-$(BIN)/python -m tests.chart.tools && touch $@

.venv/chromium: .venv/bin/python
	@-sh tests/e2e/install-chromium.sh && touch $@

.venv/prometheus: .venv/bin/python
	@-sh tests/observability/install-prometheus.sh && touch $@

.venv/runsc: .venv/bin/python
	@sh services/executor/gvisor/install-runsc.sh
	@touch $@
