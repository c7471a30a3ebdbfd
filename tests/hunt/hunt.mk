# SPDX-License-Identifier: GPL-2.0-or-later
# The engine and the hunt in one program, built again only where something changed:
# make -f tests/hunt/hunt.mk release|checked [OUT=folder]
include $(dir $(lastword $(MAKEFILE_LIST)))engine.mk
SOURCES := $(ENGINE) $(shell cd $(TOP) && find tests/hunt -name '*.c') ftl/replay/contract.c
RELEASE := $(SOURCES:%.c=$(OUT)/release/%.o)
# The laws only read, and take three quarters of a checked scenario's time when they have sanitizers,
# too.  They have them in tests/unit and tests/fuzz.
CHECKED := $(patsubst %laws.o,%laws-plain.o,$(SOURCES:%.c=$(OUT)/checked/%.o))

.PHONY: release checked
.DEFAULT_GOAL := release
release: $(OUT)/release/hunt
checked: $(OUT)/checked/hunt

$(OUT)/release/hunt: $(RELEASE)
	$(CC) -no-pie -o $@ $^ $(LINKED)
$(OUT)/checked/hunt: $(CHECKED)
	$(CC) -no-pie $(SANITIZERS) -o $@ $^ $(LINKED)
$(OUT)/checked/%laws-plain.o: $(TOP)/%laws.c $(ENGINE_MK)
	@mkdir -p $(@D)
	$(CC) -O2 -DSCARP_CHECKED $(HUNT_FLAGS) -c -o $@ $<
-include $(RELEASE:.o=.d) $(CHECKED:.o=.d)
