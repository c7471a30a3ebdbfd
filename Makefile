# SPDX-License-Identifier: GPL-2.0-or-later
# Every target fetches and builds what it needs, into one cache folder.

SCARP := scripts/scarp
N ?= 50
ROUNDS ?= 5
PAPER ?= hpdc18
BASE ?= HEAD
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: fuzz help setup run compare shell test test-unit test-qtest test-guest test-upstream test-laws test-e2e test-reproduce \
	test-tsan test-array test-determinism determinism bench against bench-guest reproduce lint clean

help: ## this list
	@echo "make TARGET [ARGS='options of scripts/scarp']"
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

run: ## compare baseline with ideal on the demo drive: table, picture, out/latest
	@$(SCARP) run $(ARGS)

compare: ## schemes side by side in the guest, from one drive (ARGS='--schemes a,b --job …')
	@$(SCARP) compare $(ARGS)

shell: ## a guest's prompt on the drive (ARGS='--mkfs ext4')
	@$(SCARP) shell $(ARGS)

setup: ## only fetch and build what runs and tests need
	@$(SCARP) setup

test: ## every suite; ends with one line: N passed, N failed
	@$(SCARP) test

test-unit: ## the engine's unit tests, with sanitizers
	@sh tests/unit/run.sh

test-array: ## the SSD array's core: its rules, barriers and faults, with sanitizers
	@sh tests/array/run.sh

test-qtest: ## the device without a guest: exact latencies, data, aborts
	@$(SCARP) test-qtest

test-guest: ## in the guest: verify through GC, mkfs and fsck, trim, nvme-cli
	@$(SCARP) test-guest

test-upstream: ## QEMU's own nvme tests on the patched QEMU
	@$(SCARP) test-upstream

test-tsan: ## the engine's thread under thread sanitizer (builds a second QEMU; ARGS=--guest for a guest, too)
	@python3 tests/qtest/tsan.py $(ARGS)

test-laws: ## write amplification against the published formulas, within 2 %
	@$(SCARP) test-laws

test-e2e: ## parsing, table, report and arguments on synthetic results
	@$(SCARP) test-e2e

test-determinism: ## 12 runs, half on a busy host, compared byte for byte
	@$(SCARP) determinism

determinism: ## the same N times (N=50) and how many results are distinct
	@$(SCARP) determinism -n $(N)

test-reproduce: ## few workloads and seeds of the papers' experiments: directions
	@$(SCARP) test-reproduce

reproduce: ## a paper's experiments and verdicts, into docs/results (PAPER=hpdc18, or all)
	@$(SCARP) reproduce $(PAPER)

bench: ## the engine's speed and memory on one core, against its goals (ROUNDS=3)
	@$(SCARP) bench --rounds $(ROUNDS)

against: ## the engine beside that of BASE=HEAD: same results? (ARGS='--rounds 5': as fast?)
	@python3 tests/bench/against.py $(BASE) $(ARGS)

bench-guest: ## guest I/Os per wall second, against stock nvme on null-co (ROUNDS=5)
	@$(SCARP) bench-guest --rounds $(ROUNDS)

fuzz: ## the parsers, SECONDS each (default 60), by libFuzzer where clang has it
	@sh tests/fuzz/run.sh $(or $(SECONDS),60)

lint: ## ruff, and QEMU's checkpatch on C files and patches
	@$(SCARP) lint

clean: ## remove results; the cache stays
	rm -rf out build
