# SPDX-License-Identifier: GPL-2.0-or-later
# The engine and the hunt in one program, built again only where something changed:
# make -f tests/hunt/hunt.mk release|checked [OUT=folder]
HUNT_MK := $(lastword $(MAKEFILE_LIST))
include $(dir $(HUNT_MK))engine.mk
SOURCES := $(ENGINE) $(shell cd $(TOP) && find tests/hunt -name '*.c') ftl/replay/contract.c \
	ftl/replay/changes.c ftl/replay/cmdlog.c ftl/rerun/record.c ftl/rerun/rerun.c
RELEASE := $(SOURCES:%.c=$(OUT)/release/%.o)
CHECKED := $(patsubst %laws.o,%laws-plain.o,$(SOURCES:%.c=$(OUT)/checked/%.o))
MADE_OF := $(HUNT_MK) $(call listed,$(OUT)/sources,$(SOURCES))

.PHONY: release checked
.DEFAULT_GOAL := release
release: $(OUT)/release/hunt
checked: $(OUT)/checked/hunt

$(OUT)/release/hunt: $(RELEASE) $(MADE_OF)
	$(CC) -no-pie -o $@ $(RELEASE) $(LINKED)
$(OUT)/checked/hunt: $(CHECKED) $(MADE_OF)
	$(CC) -no-pie $(SANITIZERS) -o $@ $(CHECKED) $(LINKED)
-include $(RELEASE:.o=.d) $(CHECKED:.o=.d)
