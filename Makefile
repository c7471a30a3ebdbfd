# SPDX-License-Identifier: GPL-2.0-or-later
# Every target fetches and builds what it needs, into one cache folder.

SCARP := scripts/scarp
N ?= 50
ROUNDS ?= 5
KILLS ?= 100
INTERRUPTIONS ?= 1000
PAPER ?= hpdc18
BASE ?= HEAD
PEER ?=
# Where `make install` puts it, and a folder that stands for / meanwhile, as packages want it.
PREFIX ?= /usr/local
DESTDIR ?=
# Sources of other people's suites, for `make conformance`: folders, or FIO=debian.
FIO ?=
BLKTESTS ?=
XFSTESTS ?=
LIBVFN ?=
ARGS ?=

# What `make test-long` does, one after the other; more is one more word here.
LONG := test-docs-long test-unit-long test-scripts-long test-e2e-long test-guest-long test-qtest-long test-array-long test-array-kills test-fuzz-long test-hunt-long test-laws test-determinism test-realtime-long test-file-systems test-tsan-guest test-instant

.DEFAULT_GOAL := help
NEED_PYTHON := run compare shell setup update-locks test test-long test-docs test-docs-long test-qtest test-guest test-upstream test-tsan \
	conformance test-tsan-guest test-guest-long test-qtest-long test-array-guest test-array-kills test-file-systems test-laws test-scripts test-scripts-long test-e2e test-e2e-long test-determinism test-reproduce determinism reproduce bench bench-array bench-guest bench-realtime bench-instant test-instant test-realtime-long against ranking mutate coverage lint test-kvm test-tcg hunt-nvme fuzz-device dist install uninstall
NEED_COMPILER := test-unit test-unit-long test-array test-array-long fuzz test-fuzz-long hunt test-hunt test-hunt-long hunt-array test-hunt-array
.PHONY: help clean python compiler $(NEED_PYTHON) $(NEED_COMPILER)

help: ## this list
	@echo "make TARGET [ARGS='options of scripts/scarp']"
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

# Only git and make may be assumed. The scripts install or name the rest, but they need Python first.
$(NEED_PYTHON): python
$(NEED_COMPILER): compiler

python:
	@sh scripts/ensure-python

compiler: python
	@$(SCARP) replay --list >/dev/null

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

test-long: ## hours: every command of the documents, the array's random runs, long fuzzing, a guest under thread sanitizer
	@$(MAKE) --no-print-directory --keep-going -j1 $(LONG)

test-unit: ## the engine's unit tests, with sanitizers (ARGS=/buffer: those whose names begin so)
	@sh tests/unit/run.sh $(ARGS)

test-unit-long:
	@sh tests/unit/run.sh -m slow

test-array: ## the SSD array: its rules, barriers, faults, io_uring and simulator, with sanitizers
	@sh tests/array/run.sh

test-array-long:
	@sh tests/array/run.sh -m slow

test-qtest: ## the device without a guest: exact latencies, data, aborts
	@$(SCARP) test-qtest

test-guest: ## in the guest: verify through GC, mkfs and fsck, trim, nvme-cli
	@$(SCARP) test-guest

test-upstream: ## QEMU's own nvme tests on the patched QEMU
	@$(SCARP) test-upstream

conformance: ## suites of others, here and on stock nvme (FIO=debian BLKTESTS=… XFSTESTS=… LIBVFN=…, ARGS=--long)
	@python3 tests/conformance/run.py $(if $(FIO),--fio '$(FIO)') $(if $(BLKTESTS),--blktests '$(BLKTESTS)') \
		$(if $(XFSTESTS),--xfstests '$(XFSTESTS)') $(if $(LIBVFN),--libvfn '$(LIBVFN)') $(ARGS)

test-tsan: ## the engine's thread under thread sanitizer (builds a second QEMU; ARGS=--guest for a guest, too)
	@python3 tests/qtest/tsan.py $(ARGS)

test-realtime-long:
	@SCARP_INTERRUPTIONS=$(INTERRUPTIONS) $(SCARP) test-qtest interruptions

test-qtest-long:
	@SCARP_TEST_ALL=1 $(SCARP) test-qtest

test-guest-long:
	@SCARP_TEST_ALL=1 $(SCARP) test-guest

test-kvm: ## a guest without an operating system drives the device, on KVM, too (ARGS=test_bare.OnKvm)
	@python3 tests/kvm/run.py $(ARGS)

test-tcg: ## which block of a guest's code QEMU runs next: interrupts, code that changes, breakpoints (ARGS=test_blocks.Debugger)
	@python3 tests/tcg/run.py $(ARGS)

test-array-guest: ## the SSD array in the guest: file systems, verify under GC, a killed server
	@SCARP_TEST_ALL=1 python3 tests/guest/run.py "SSD array as"

test-array-kills: ## the array's server in the guest killed at KILLS=100 random moments, recovered, checked
	@SCARP_KILLS=$(KILLS) python3 tests/guest/run.py "random moments"

test-tsan-guest:
	@python3 tests/qtest/tsan.py --guest

test-file-systems: ## in the guest: 4 file systems x 5 mappings x schemes, every byte verified (ARGS='--short ext4/*')
	@python3 tests/guest/file_systems.py $(ARGS)

test-laws: ## write amplification against the published formulas, within 2 %
	@SCARP_TEST_ALL=1 $(SCARP) test-laws

test-instant: ## guests that are one run until an instant, `scarp why` beside them and alone (some 60 guests)
	@$(SCARP) test-e2e test_why test_instant
	@$(SCARP) test-qtest test_replay
	@SCARP_TEST_ALL=1 $(SCARP) test-instant

test-scripts: ## parsing, table, report and arguments on synthetic results
	@$(SCARP) test-scripts

test-scripts-long:
	@SCARP_TEST_ALL=1 $(SCARP) test-scripts

test-e2e: ## replayer, simulator, report and pages as a user meets them
	@$(SCARP) test-e2e

test-e2e-long:
	@SCARP_TEST_ALL=1 $(SCARP) test-e2e

test-docs: ## the fast commands of README and docs (ARGS='docs/replay.md' for one page)
	@python3 tests/docs/run.py $(ARGS)

test-docs-long: ## all commands of README and docs, which takes hours (ARGS='docs/replay.md' for one page)
	@python3 tests/docs/run.py --long $(ARGS)

test-determinism: ## 12 runs, half on a busy host, compared byte for byte
	@$(SCARP) determinism

determinism: ## the same N times (N=50) and how many results are distinct
	@$(SCARP) determinism -n $(N)

test-reproduce: ## few workloads and seeds of the papers' experiments: directions
	@$(SCARP) test-reproduce

reproduce: ## a paper's experiments and verdicts, into docs/results (PAPER=hpdc18, or all; QUICK=1: directions in minutes; ROW=1b SET=gc.after_reads=1: one row under another choice)
	@$(SCARP) reproduce $(PAPER) $(if $(QUICK),--quick) $(if $(ROW),--row '$(ROW)') $(foreach s,$(SET),--set '$(s)')

bench: ## the engine's speed and memory on one core, against its goals (ROUNDS=3 ARGS='--only mappings'; PEER=…/MQSim: beside MQSim)
	@$(if $(PEER),python3 tests/bench/peer.py --rounds $(ROUNDS) '$(PEER)',$(SCARP) bench --rounds $(ROUNDS) $(ARGS))

ranking: ## do MQSim and this engine put the same schemes in the same order? (PEER=…/MQSim)
	@python3 tests/bench/ranking.py $(ARGS) '$(PEER)'

against: ## the engine beside that of BASE=HEAD: same results? (ARGS='--rounds 5': as fast?)
	@python3 tests/bench/against.py $(BASE) $(ARGS)

bench-array: ## the guest's instructions for each I/O of the SSD array, beside fio's own engine on one drive
	@$(SCARP) bench-array

bench-guest: ## guest I/Os per second of a core, against stock nvme on null-co (ROUNDS=5)
	@$(SCARP) bench-guest --rounds $(ROUNDS)

bench-instant: ## how soon `scarp why`, the report and `compare --at` answer, on the log of `make run`
	@$(SCARP) bench-instant

bench-realtime: ## the engine's thread on the host's clock: rates and lateness (ROUNDS=5; ARGS=--guest: of reads in a guest)
	@$(SCARP) bench-realtime --rounds $(ROUNDS) $(ARGS)

mutate: ## does a test see a line that is changed, in ftl/ or guest/array? (ARGS='--only ftl/gc/* --sample 50')
	@python3 tests/mutate/mutate.py $(ARGS)

fuzz: ## the parsers and the engine, SECONDS each (default 60), by libFuzzer where clang has it
	@sh tests/fuzz/run.sh $(or $(SECONDS),60)

hunt-nvme: ## random NVMe commands and interruptions, without a guest (ARGS='--seeds 100 --commands 1000 --sanitize')
	@python3 tests/hunt-nvme/run.py $(ARGS)

fuzz-device: ## QEMU's own fuzzer on the drive and on stock nvme, and what of hw/ it reached (ARGS='--seconds 600')
	@python3 tests/fuzz-device/run.py $(ARGS)

hunt: ## random drives, schemes and hosts, until a law breaks (ARGS='--scheme mine --seconds 60', ARGS='checked …': all laws)
	@sh tests/hunt/run.sh $(ARGS)

test-hunt-long:
	@sh tests/hunt/run.sh test 1200
	@sh tests/hunt-array/run.sh test 600

test-hunt: ## the scenarios that once failed, then 60 s of those that follow from the commit (SECONDS)
	@sh tests/hunt/run.sh test $(or $(SECONDS),60)

hunt-array: ## random SSD arrays, requests, faults and restarts, without a kernel (ARGS='checked --seconds 60')
	@sh tests/hunt-array/run.sh $(ARGS)

test-hunt-array: ## the arrays that once failed, then 30 s of those that follow from the commit (SECONDS)
	@sh tests/hunt-array/run.sh test $(or $(SECONDS),30)

coverage: ## branches of the engine that neither unit tests nor the hunt take (ARGS='--count 20000 --seed 7')
	@python3 tests/coverage/coverage.py $(ARGS)

test-fuzz-long:
	@sh tests/fuzz/run.sh 600

update-locks: ## what the mirror and the Python registry have today becomes what is locked (scripts/locks)
	@$(SCARP) update-locks

lint: ## Python (ruff, mypy), C and patches (checkpatch), the engine's rooms, shell, words, licences, names
	@$(SCARP) lint

dist: ## a tarball of git's files in out/dist, the same bytes each time
	@$(SCARP) dist

install: ## programs, library, scarp, manual, completions (PREFIX=/usr/local DESTDIR=)
	@$(SCARP) install --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

uninstall: ## what install wrote (the same PREFIX and DESTDIR)
	@$(SCARP) uninstall --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

clean: ## remove results; the cache stays
	rm -rf out build
