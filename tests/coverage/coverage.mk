# SPDX-License-Identifier: GPL-2.0-or-later
# The unit tests and the hunt, with the engine built by clang so that it counts each branch.  It is
# the release build: laws are checked where a test asks, and marks are not there.
TOP := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
OUT ?= $(TOP)/build/coverage
CC := clang
LIBRARIES := glib-2.0 zlib libzstd
LIBS := $(shell pkg-config --libs $(LIBRARIES)) -lm
FLAGS := -std=gnu11 -g -O1 -w -fno-pie -MMD -MP -I$(TOP)/ftl -I$(TOP)/ftl/replay \
	-I$(TOP)/tests/unit $(shell pkg-config --cflags $(LIBRARIES))
LINK := -no-pie -fprofile-instr-generate -Wl,--wrap=_exit
ENGINE := $(shell cd $(TOP) && find ftl -name '*.c' ! -path 'ftl/replay/main.c' ! -path 'ftl/cuts/main.c' ! -path 'ftl/why/main.c')
HUNT := $(shell cd $(TOP) && find tests/hunt -name '*.c')
UNIT := $(shell cd $(TOP) && ls tests/unit/*.c tests/unit/*/*.c)
OBJECTS := $(ENGINE:%.c=$(OUT)/%.o) $(OUT)/tests/coverage/flush.o

.PHONY: all
all: $(OUT)/hunt $(UNIT:%.c=$(OUT)/%)
$(OUT)/hunt: $(HUNT:%.c=$(OUT)/%.o) $(OBJECTS)
	$(CC) $(LINK) -o $@ $^ $(LIBS)
$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.o $(OBJECTS)
	$(CC) $(LINK) -o $@ $^ $(LIBS)
$(OUT)/ftl/%.o: $(TOP)/ftl/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -fprofile-instr-generate -fcoverage-mapping -c -o $@ $<
$(OUT)/tests/%.o: $(TOP)/tests/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c -o $@ $<
.PRECIOUS: $(OUT)/tests/%.o
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
