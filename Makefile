# SPDX-License-Identifier: MIT
#
# The front door. Everything behind it is meson (meson.build) and a few scripts (tools/).
# `make help` prints what stands behind ## in the lines of the targets.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
COUNT ?= 10000
SEEDS ?= 10
REPEATS ?= 20
MINUTES ?= 30
LOAD ?= 0
# Debian's own tools: another python3 in PATH may lack meson's or PyOpenCL's packages.
MESON ?= PATH=/usr/bin:/bin:$$PATH meson

all: $(BUILD)/build.ninja ## the program and its guests, in BUILD=build (also without a target)
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	$(MESON) setup $(BUILD) --prefix=$(PREFIX)

# Packages come first: without them meson may not be there.
demo: ## install missing packages, build, record two small programs, report, export: results in demo/
	BUILD=$(BUILD) tools/setup.sh packages.debian
	$(MAKE) --no-print-directory $(BUILD)/build.ninja
	ninja -C $(BUILD) demo
	tools/demo.sh $(BUILD)

check: setup ## install missing packages, all tests and checks; the last line is "N passed, N failed[, N skipped]"
	BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tools/check.sh

setup: ## install the Debian 12 packages that building, the demo and the tests need
	BUILD=$(BUILD) tools/setup.sh

check-fresh: ## make demo on a new Debian 12 in a folder of its own, as root; TESTS=1: make check there, too
	FUZZ_SECONDS=$(FUZZ_SECONDS) tools/check_fresh.sh $(if $(TESTS),check)

check-vm: all ## our programs for the kernel in other kernels, KERNELS="6.1 6.12" (all: every series that the mirror has)
	/usr/bin/python3 tests/vm/check_vm.py $(BUILD) $(KERNELS)

check-apps: ## real applications with and without duet, by hand on a quiet machine: a table, in BUILD/apps too; 15 minutes
	BUILD=$(BUILD) tools/setup.sh packages.debian packages-test.debian tests/apps/packages.debian
	$(MAKE) --no-print-directory all
	tests/apps/run_apps.py --build $(BUILD) $(APPS)

check-trees: all ## COUNT=10000 random trees of processes, by hand: they end the same with and without a recorder; minutes
	tests/trees/run_trees.py --build $(BUILD) --count $(COUNT)

soak-agent: all ## MINUTES=30 of duet agent with short processes, containers, a full disk, kill -9, as root and by hand
	tests/soak/agent.py --build $(BUILD) --minutes $(MINUTES)

check-diagnosis: all ## SEEDS=10 LOAD=0 of programs with a planted cause, by hand on a quiet machine: the scores of the verdict
	tests/diagnosis/run.py --build $(BUILD) --seeds $(SEEDS) --load $(LOAD)

check-changes: all ## REPEATS=20 comparisons of programs with a planted change, by hand: the scores of duet diff
	tests/changes/run.py --build $(BUILD) --repeats $(REPEATS) --pool $(REPEATS)

accounts: all ## the end-to-end tests, and of every trace that they record the account by brute force
	DUET_CHECK_ACCOUNTS=2000 $(MESON) test -C $(BUILD) --suite e2e --timeout-multiplier 10 --print-errorlogs

bench: all ## measurements side by side
	bench/run.sh $(BUILD)

fuzz: ## fuzz the readers, FUZZ_SECONDS=60 in all
	tools/run_fuzz.sh build-fuzz $(FUZZ_SECONDS)

install: all ## into PREFIX=/usr/local, below DESTDIR
	$(if $(filter command,$(firstword $(origin PREFIX))),$(MESON) configure $(BUILD) --prefix=$(PREFIX))
	$(MESON) install -C $(BUILD) $(if $(DESTDIR),--destdir=$(abspath $(DESTDIR)))

clean: ## remove what the targets above made
	rm -rf $(BUILD) build-asan build-tsan build-fuzz demo

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

.PHONY: all help setup demo check check-fresh check-vm check-apps check-trees soak-agent check-diagnosis check-changes accounts bench fuzz install clean
