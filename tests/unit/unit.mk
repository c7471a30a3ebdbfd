# SPDX-License-Identifier: GPL-2.0-or-later
# The unit tests' programs, with sanitizers and every law, built again only where something changed:
# make -f tests/unit/unit.mk all, or build/hunt/unit/test-edges: one of them; or objects: what they share.
include $(dir $(lastword $(MAKEFILE_LIST)))../hunt/engine.mk
TESTS := $(shell cd $(TOP) && find tests/unit -name '*.c')
# The replayer without the main() of its programs.
SHARED := $(ENGINE) $(shell cd $(TOP) && find ftl/replay -name '*.c' ! -name '*main.c')
OBJECTS := $(SHARED:%.c=$(OUT)/checked/%.o)
PROGRAMS := $(addprefix $(OUT)/unit/,$(notdir $(TESTS:.c=)))

.PHONY: all objects list list-objects
.DEFAULT_GOAL := all
all: $(PROGRAMS)
objects: $(OBJECTS)
list:
	@printf '%s\n' $(PROGRAMS)
list-objects:
	@printf '%s\n' $(OBJECTS)

VPATH := $(sort $(dir $(addprefix $(TOP)/,$(TESTS))))
$(OUT)/unit/%: %.c $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) -no-pie $(SANITIZED) $(filter-out -MMD -MP,$(HUNT_FLAGS)) -MMD -MP -MF $@.d -MT $@ -o $@ $< $(OBJECTS) $(LINKED)
-include $(OBJECTS:.o=.d) $(PROGRAMS:=.d)
