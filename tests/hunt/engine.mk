# SPDX-License-Identifier: GPL-2.0-or-later
# The engine's objects for tests, each built again only where something changed: once for the release
# build's tests, once with sanitizers and all laws.  hunt.mk and ../unit/unit.mk include it.  make.sh
# calls make with one of them, under a lock, or two would build one object at once.
ENGINE_MK := $(lastword $(MAKEFILE_LIST))
TOP := $(abspath $(dir $(ENGINE_MK))../..)
OUT ?= $(TOP)/build/hunt
LIBRARIES := glib-2.0 zlib libzstd
HUNT_WARNINGS := -Wall -Wextra -Werror
# The lines that sanitizers' reports name; all that gdb can show (DEBUG=-g) takes a fifth longer.
DEBUG := -g1
HUNT_FLAGS := -std=gnu11 $(DEBUG) $(HUNT_WARNINGS) -fno-pie -MMD -MP -I$(TOP)/ftl -I$(TOP)/ftl/replay $(shell pkg-config --cflags $(LIBRARIES))
SANITIZERS := -fsanitize=address,undefined
SANITIZED := -O1 $(SANITIZERS) -fno-sanitize-recover=all -DSCARP_CHECKED
# gold, where there is one, links each of the unit tests' 75 programs in half the time.
LINKER := $(if $(shell command -v ld.gold),-fuse-ld=gold)
LINKED := $(LINKER) $(shell pkg-config --libs $(LIBRARIES)) -lm
ENGINE := $(shell cd $(TOP) && find ftl -name '*.c' ! -path 'ftl/replay/*' ! -path 'ftl/rerun/*' ! -path 'ftl/cuts/*' ! -path 'ftl/why/*')

# $(call listed,FILE,NAMES): FILE has these names, and is written only when they change.  What depends
# on it is made again when a source has gone: no source is newer then.
listed = $(shell mkdir -p $(dir $(1)); printf '%s\n' $(2) | cmp -s - $(1) || printf '%s\n' $(2) >$(1))$(1)

$(OUT)/release/%.o: $(TOP)/%.c $(ENGINE_MK)
	@mkdir -p $(@D)
	$(CC) -O2 $(HUNT_FLAGS) -c -o $@ $<
$(OUT)/checked/%.o: $(TOP)/%.c $(ENGINE_MK)
	@mkdir -p $(@D)
	$(CC) $(SANITIZED) $(HUNT_FLAGS) -c -o $@ $<
# The laws only read, and take three quarters of a checked scenario's time when they have sanitizers,
# too, and almost half of a unit test's.  They have them in tests/fuzz.
$(OUT)/checked/%laws-plain.o: $(TOP)/%laws.c $(ENGINE_MK)
	@mkdir -p $(@D)
	$(CC) -O2 -DSCARP_CHECKED $(HUNT_FLAGS) -c -o $@ $<
