# SPDX-License-Identifier: GPL-2.0-or-later
# The engine and the hunt in one program, built again only where something changed:
# make -f tests/hunt/hunt.mk release|checked [OUT=folder], or unit T=test-edges: a program of tests/unit
TOP := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
OUT ?= $(TOP)/build/hunt
LIBRARIES := glib-2.0 zlib libzstd
HUNT_WARNINGS := -Wall -Wextra -Werror
HUNT_FLAGS := -std=gnu11 -g $(HUNT_WARNINGS) -fno-pie -MMD -MP -I$(TOP)/ftl -I$(TOP)/ftl/replay $(shell pkg-config --cflags $(LIBRARIES))
SANITIZED := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -DSCARP_CHECKED
SOURCES := $(shell cd $(TOP) && find ftl tests/hunt -name '*.c' ! -path 'ftl/replay/*') ftl/replay/contract.c
RELEASE := $(SOURCES:%.c=$(OUT)/release/%.o)
CHECKED := $(SOURCES:%.c=$(OUT)/checked/%.o)

ENGINE := $(filter $(OUT)/checked/ftl/%,$(CHECKED))

.PHONY: release checked unit
release: $(OUT)/release/hunt
checked: $(OUT)/checked/hunt
unit: $(OUT)/unit/$(T)

$(OUT)/release/hunt: $(RELEASE)
	$(CC) -no-pie -o $@ $^ $(shell pkg-config --libs $(LIBRARIES)) -lm
$(OUT)/checked/hunt: $(CHECKED)
	$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ $(shell pkg-config --libs $(LIBRARIES)) -lm
$(OUT)/unit/%: $(TOP)/tests/unit/%.c $(ENGINE)
	@mkdir -p $(@D)
	$(CC) -no-pie $(SANITIZED) $(filter-out -MMD -MP,$(HUNT_FLAGS)) -o $@ $^ $(shell pkg-config --libs $(LIBRARIES)) -lm
$(OUT)/release/%.o: $(TOP)/%.c
	@mkdir -p $(@D)
	$(CC) -O2 $(HUNT_FLAGS) -c -o $@ $<
# The laws only read, and take three quarters of a checked scenario's time when they have sanitizers,
# too.  They have them in tests/unit and tests/fuzz.
$(OUT)/checked/%laws.o: $(TOP)/%laws.c
	@mkdir -p $(@D)
	$(CC) -O2 -DSCARP_CHECKED $(HUNT_FLAGS) -c -o $@ $<
$(OUT)/checked/%.o: $(TOP)/%.c
	@mkdir -p $(@D)
	$(CC) $(SANITIZED) $(HUNT_FLAGS) -c -o $@ $<
-include $(RELEASE:.o=.d) $(CHECKED:.o=.d)
