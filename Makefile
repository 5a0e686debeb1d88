# SPDX-License-Identifier: MIT
#
# The front door. Everything behind it is meson (meson.build) and a few scripts (tools/).
#
#	make            build/duet
#	make setup      install the Debian 12 packages that building, the demo and the tests need
#	make demo       record two small programs, report, export: results in demo/
#	make check      all tests and checks; the last line is "N passed, N failed[, N skipped]"
#	make bench      measurements side by side
#	make fuzz       fuzz the readers, FUZZ_SECONDS=60 in all
#	make install    into PREFIX=/usr/local, below DESTDIR

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
# Debian's own tools: another python3 in PATH may lack meson's or PyOpenCL's packages.
MESON ?= PATH=/usr/bin:/bin:$$PATH meson

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	$(MESON) setup $(BUILD) --prefix=$(PREFIX)

setup:
	tools/setup.sh

demo: all
	tools/demo.sh $(BUILD)

check:
	BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tools/check.sh

bench: all
	bench/run.sh $(BUILD)

fuzz:
	tools/run_fuzz.sh build-fuzz $(FUZZ_SECONDS)

install: all
	$(if $(filter command,$(firstword $(origin PREFIX))),$(MESON) configure $(BUILD) --prefix=$(PREFIX))
	$(MESON) install -C $(BUILD) $(if $(DESTDIR),--destdir=$(abspath $(DESTDIR)))

clean:
	rm -rf $(BUILD) build-asan build-tsan build-clang build-fuzz demo

.PHONY: all setup demo check bench fuzz install clean
