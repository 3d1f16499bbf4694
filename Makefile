# Everything a fresh clone needs: Python >= 3.11, git and make. The real tiers also need root and
# Go; without them they are skipped, loudly.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
PROGRAM = $(VENV)/.program
READY = $(VENV)/.ready
SOURCES = elasticgpu provisioners tests benchmarks examples
# Percent of branches below which `make coverage` fails.
FAIL_UNDER = 100

.PHONY: help test test-fast conformance coverage scenarios machine mutants lint format demo demo-cluster crds \
  names policies stored \
  protos constraints lines clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# The program alone, with what its demo needs; the rest of the environment builds on it.
$(PROGRAM): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: there is no $(PYTHON) here"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "make: $(PYTHON) is older than 3.11; name another with PYTHON=python3.12"; exit 1; }
	@echo "making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e '.[fast,testing]'
	@touch $@

$(READY): $(PROGRAM)
	@$(PIP) 'pip>=25.1'
	@$(PIP) -e '.[agent,fast,testing]' --group dev
	@touch $@

test: $(READY)  ## all tests; the real tiers need root and Go
	$(BIN)/python -m pytest elasticgpu provisioners tests -n 2 $(ARGS)

test-fast: $(READY)  ## the tests that need no cluster
	$(BIN)/python -m pytest elasticgpu provisioners tests --ignore=tests/cases --ignore=tests/cluster \
	  --ignore=tests/transport/test_real_server.py --ignore=tests/scenarios/test_real.py \
	  --ignore=tests/cli/test_real_server.py --ignore=tests/benchmarks -m 'not apiserver' $(ARGS)

coverage: $(READY)  ## every branch of api, rules and provisioner.py is taken by their own tables, without chance
	$(BIN)/python -m pytest elasticgpu/api elasticgpu/rules elasticgpu/provisioner.py tests/api tests/rules \
	  tests/provisioner tests/architecture/test_crds.py -q -m 'not hypothesis' --cov --cov-report= $(ARGS)
	$(BIN)/coverage report --fail-under=$(FAIL_UNDER)

conformance: $(READY)  ## what the embedded API server and a real one do alike, behaviour by behaviour
	$(BIN)/python -m pytest tests/conformance --table $(ARGS)

scenarios: $(READY)  ## the 65 scenarios, a fault at every write; ARGS=--all-faults on the real server too
	$(BIN)/python -m pytest tests/scenarios $(ARGS)

machine: $(READY)  ## users, admins, nodes, faults and crashes in any order; STEPS=20000, SEED=7 replays one
	STEPS=$(STEPS) SEED=$(SEED) $(BIN)/python -m pytest tests/machine --show-capture=no -q $(ARGS)

mutants: $(READY)  ## plant known faults one at a time: some test must notice each
	$(BIN)/python -m tests.mutants $(ARGS)

lint: $(READY)  ## ruff, mypy, import contracts
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports

format: $(READY)  ## rewrite the sources as ruff wants them
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

demo: $(PROGRAM)  ## the whole system here and now, without a cluster; ARGS=--keep stays up for kubectl
	@$(BIN)/elasticgpu demo $(ARGS)

demo-cluster: $(READY)  ## three manifests on a real cluster, ending inside the container; ARGS=--keep
	$(BIN)/python -m tests.cases.demo $(ARGS)

bench-bind: $(READY)  ## binds beside the PV controller and the server's ceiling; ARGS=--quick; ends in one line of JSON
	$(BIN)/python -m benchmarks.bind $(ARGS)

bench-apiserver: $(READY)  ## the embedded API server beside a real one; ends in one line of JSON
	$(BIN)/python -m benchmarks.apiserver $(ARGS)

crds: $(READY)  ## regenerate crds/ and the chart's copy
	$(BIN)/python -m elasticgpu.api.schema crds/
	cp crds/*.yaml helm/elasticgpu/files/crds/

names: $(READY)  ## regenerate docs/names.md
	$(BIN)/python -m tests.api.names_page

policies: $(READY)  ## render the chart's admission policies for the simulation; needs helm or Go
	$(BIN)/python -m tests.chart.policies

stored: $(READY)  ## keep this release's CRDs for later ones to be compared with; RELEASE=v0.2.0
	$(BIN)/python -m tests.api.compat $(RELEASE)

protos: $(READY)  ## regenerate the kubelet's gRPC stubs
	scripts/generate-protos.sh

constraints: $(READY)  ## pin what is installed now
	$(BIN)/pip freeze --exclude-editable --exclude pip > constraints.txt

lines:  ## lines of Python per room
	@for room in errors.py api rules provisioner.py cluster controllers agent testing cli; do \
	  printf '%-16s %5d\n' $$room $$(find elasticgpu/$$room -name '*.py' | xargs cat | wc -l); done
	@for room in provisioners tests/cases tests/cluster tests; do \
	  printf '%-16s %5d\n' $$room $$(find $$room -name '*.py' | xargs cat | wc -l); done

clean:  ## remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
