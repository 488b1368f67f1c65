# Every target sets itself up: it needs make and Python 3.11, 3.12 or 3.13; the e2e targets also root, Go and apt-get.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell $(PYTHON) -c 'import hashlib;print(hashlib.sha256(open("requirements.lock","rb").read()+open("pyproject.toml","rb").read()).hexdigest()[:12])')

.DEFAULT_GOAL := help
.PHONY: help setup test demo soak check format check-coverage docs parity e2e e2e-smoke e2e-newest e2e-build image cluster-up install cluster-verify cluster-observe uninstall cluster-down lock replay-reference bench bench-quick bench-curves

help: ## Say what there is.
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup: $(READY) ## Create .venv with the locked dependencies.

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "evenkeel needs Python 3.11, 3.12 or 3.13, this is " + sys.version.split()[0] + "; set PYTHON=/path/to/python3.12")'
	@echo "setting up .venv with the packages of requirements.lock; it takes about a minute" >&2
	@$(PYTHON) -m venv --clear $(VENV) || { echo "no working venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

test: setup ## Run the tests; needs no network, root or Go after set-up.
	@# Compiled files are kept: workers and the programs that tests start would each compile the same modules anew.
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --numprocesses=2 --dist=loadfile --no-loadscope-reorder --max-worker-restart=0 tests

soak: setup ## The same tests with many more examples of each law; about an hour, by hand.
	$(BIN)/python -m pytest -q --numprocesses=2 --dist=loadfile --no-loadscope-reorder --max-worker-restart=0 --hypothesis-profile=soak tests

SCENARIO ?= burn
demo: setup ## Play a scenario on the embedded cluster: make demo SCENARIO=oom; DEMO_FLAGS="--keep" leaves it up.
	@$(BIN)/evenkeel demo $(SCENARIO) $(DEMO_FLAGS)

check: setup ## Format, lint, types, import contracts.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup ## Format and fix what can be fixed.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check-coverage: setup ## Run the tests with branch coverage and report it.
	$(BIN)/python -m coverage run -m pytest -q tests
	$(BIN)/python -m coverage report

docs: setup ## Write the generated pages of docs/ anew.
	$(BIN)/python -m evenkeel.cli.document_flags
	$(BIN)/python -m evenkeel.cli.document_decisions
	$(BIN)/python -m evenkeel.cli.document_switches docs/parity.md
	$(BIN)/python -m evenkeel.cli.document_metrics
	$(BIN)/python -m evenkeel.cli.document_api
	$(BIN)/python -m bench.report docs/performance.md

PARITY_FLAGS = $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED))
parity: setup ## Compare with upstream (needs Go); ONLY=recommender|updater|admission|process, CASES=n, SEED=s.
	$(BIN)/python -m e2e.parity$(if $(filter process,$(ONLY)),.process, run $(if $(ONLY),--only $(ONLY),--processes)) $(PARITY_FLAGS)

e2e-build: setup ## Build the cluster's binaries from Go modules (cached outside the work tree).
	$(BIN)/python -m e2e.cluster build

e2e: e2e-build ## Everything on a real control plane and kubelet; root only.
	$(BIN)/python -m pytest -q --numprocesses=4 --dist=loadscope --max-worker-restart=0 e2e

e2e-smoke: setup ## The burn scenario and one eviction on the real cluster; root only.
	$(BIN)/python -m e2e.cluster build --only kubernetes
	$(BIN)/python -m e2e.cluster build --only metrics-server
	$(BIN)/python -m pytest -q e2e -m smoke

e2e-newest: setup ## The short form and what is new, on the newest Kubernetes (1.37) and containerd 2; root only.
	$(BIN)/python -m e2e.cluster build --only kubernetes-1.37
	$(BIN)/python -m e2e.cluster build --only containerd
	$(BIN)/python -m e2e.cluster build --only metrics-server
	EVENKEEL_KUBERNETES=1.37 $(BIN)/python -m pytest -q e2e

image: setup ## The image of the three processes, without Docker: results/image/evenkeel.tar; root or mmdebstrap and umoci.
	$(BIN)/python -m e2e.image

cluster-up: e2e-build ## A real local cluster that stays until cluster-down; root only.
	$(BIN)/python -m e2e.cluster up

install: image ## Evenkeel as pods on the local cluster, from the image and the manifests; root only.
	$(BIN)/python -m e2e.deployment install

cluster-verify: setup ## Have a pod resized in place on the local cluster, then ask the doctor.
	$(BIN)/python -m e2e.deployment verify

cluster-observe: setup ## Follow that pod for a minute.
	$(BIN)/python -m e2e.deployment observe

uninstall: setup ## Remove Evenkeel from the local cluster.
	$(BIN)/python -m e2e.deployment uninstall

cluster-down: setup ## Take the local cluster down.
	$(BIN)/python -m e2e.cluster down

bench: setup ## Measure against upstream's Go packages (needs Go); ROW=R-4 for one row, results in results/bench.
	$(BIN)/python -m bench $(ROW)

bench-quick: setup ## A reduced size of each benchmark, in minutes.
	$(BIN)/python -m bench --quick $(ROW)

bench-curves: setup ## How time grows from 1,000 to 100,000 containers, beside upstream's (needs Go); results in results/bench.
	$(BIN)/python -m bench.curves

replay-reference: setup ## Replay the recorded traces and hold every figure against its reference.
	@$(BIN)/evenkeel replay tests/data/traces $(foreach name,vpa-default vpa-min0 krr-simple oracle,--strategy $(name)) \
	  --compare tests/data/replay-reference.json

lock: setup ## Resolve requirements.lock anew from pyproject.toml.
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-annotate --no-header --extra replay --group dev pyproject.toml --output-file requirements.lock
