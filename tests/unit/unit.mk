# SPDX-License-Identifier: GPL-2.0-or-later
# The unit tests' programs, with sanitizers and every law, built again only where something changed:
# make -f tests/unit/unit.mk all, or test-edges: one of them, as build/hunt/unit/test-edges; or objects:
# the engine and the replayer with sanitizers in every file, as tests/fuzz has them; or linked: the same
# with plain laws, as the programs here and tests/array have them.  list, list-objects and list-linked
# name them.
UNIT_MK := $(lastword $(MAKEFILE_LIST))
include $(dir $(UNIT_MK))../hunt/engine.mk
TESTS := $(shell cd $(TOP) && find tests/unit -name '*.c')
# Those of a part of the device that needs neither QEMU nor an engine: they include its source.
HW_TESTS := $(patsubst $(TOP)/%,%,$(wildcard $(TOP)/tests/hw/*.c))
NAMES := $(notdir $(TESTS:.c=) $(HW_TESTS:.c=))
# The programs beside the engine, without their main().
SHARED := $(ENGINE) $(shell cd $(TOP) && find ftl/replay ftl/rerun ftl/cuts ftl/why -name '*.c' ! -name main.c)
OBJECTS := $(SHARED:%.c=$(OUT)/checked/%.o)
LINKED_OBJECTS := $(OBJECTS:%laws.o=%laws-plain.o)
PROGRAMS := $(addprefix $(OUT)/unit/,$(NAMES))
ifneq ($(words $(NAMES)),$(words $(sort $(NAMES))))
$(error two files of tests/unit and tests/hw have one name)
endif

# A test's own file is compiled once for each run or two: optimising it costs more than it saves.
UNOPTIMISED := -O0

.PHONY: all objects linked list list-objects list-linked $(NAMES)
.DEFAULT_GOAL := all
all: $(PROGRAMS)
$(NAMES): %: $(OUT)/unit/%
objects: $(OBJECTS)
linked: $(LINKED_OBJECTS)
list:
	@printf '%s\n' $(PROGRAMS)
list-objects:
	@printf '%s\n' $(OBJECTS)
list-linked:
	@printf '%s\n' $(LINKED_OBJECTS)

MADE_OF := $(UNIT_MK) $(call listed,$(OUT)/unit/objects,$(SHARED))
VPATH := $(sort $(dir $(addprefix $(TOP)/,$(TESTS))))
$(OUT)/unit/%: %.c $(LINKED_OBJECTS) $(MADE_OF)
	@mkdir -p $(@D)
	$(CC) -no-pie $(SANITIZED) $(UNOPTIMISED) $(filter-out -MMD -MP,$(HUNT_FLAGS)) -MMD -MP -MF $@.d -MT $@ -o $@ $< $(LINKED_OBJECTS) $(LINKED)

# As QEMU's build has it, parameters may be unused.
HW_FLAGS := -D_GNU_SOURCE -Wno-unused-parameter -I$(TOP)/hw -I$(TOP)/tests/bench/shim
$(HW_TESTS:tests/hw/%.c=$(OUT)/unit/%): $(OUT)/unit/%: $(TOP)/tests/hw/%.c $(MADE_OF)
	@mkdir -p $(@D)
	$(CC) -no-pie $(SANITIZED) $(UNOPTIMISED) $(filter-out -MMD -MP,$(HUNT_FLAGS)) $(HW_FLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $< $(LINKED)
-include $(sort $(OBJECTS:.o=.d) $(LINKED_OBJECTS:.o=.d)) $(PROGRAMS:=.d)
