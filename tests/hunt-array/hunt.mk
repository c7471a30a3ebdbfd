# SPDX-License-Identifier: GPL-2.0-or-later
# The array and its hunt in one program, built again only where something changed:
# make -f tests/hunt-array/hunt.mk release|checked [OUT=folder]
TOP := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
OUT ?= $(TOP)/build/hunt-array
HUNT_WARNINGS := -Wall -Wextra -Werror
HUNT_FLAGS := -std=gnu11 -g $(HUNT_WARNINGS) -fno-pie -MMD -MP -I$(TOP)/guest/array -I$(TOP)/guest/array/uring -I$(TOP)/ftl \
              $(shell pkg-config --cflags glib-2.0)
SANITIZED := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -DSCARP_CHECKED
# The kernel's part, and a look at the core, are the hunt's own (disk.c); liburing's is ring.c.
WRAPPED := open close pread pwrite fsync posix_fallocate usleep array_new array_free
LINK := -no-pie $(WRAPPED:%=-Wl,--wrap=%)
SOURCES := $(shell cd $(TOP) && find guest/array -maxdepth 1 -name '*.c' && find tests/hunt-array -maxdepth 1 -name '*.c') \
           $(addprefix guest/array/uring/,uring.c ring.c threads.c keep.c drives.c drive_labels.c) tests/hunt/child.c
RELEASE := $(SOURCES:%.c=$(OUT)/release/%.o)
CHECKED := $(SOURCES:%.c=$(OUT)/checked/%.o)

.PHONY: release checked
release: $(OUT)/release/hunt-array
checked: $(OUT)/checked/hunt-array

$(OUT)/release/hunt-array: $(RELEASE)
	$(CC) $(LINK) -o $@ $^ $(shell pkg-config --libs glib-2.0) -lpthread
$(OUT)/checked/hunt-array: $(CHECKED)
	$(CC) $(LINK) -fsanitize=address,undefined -o $@ $^ $(shell pkg-config --libs glib-2.0) -lpthread
$(OUT)/release/%.o: $(TOP)/%.c
	@mkdir -p $(@D)
	$(CC) -O2 $(HUNT_FLAGS) -c -o $@ $<
$(OUT)/checked/%.o: $(TOP)/%.c
	@mkdir -p $(@D)
	$(CC) $(SANITIZED) $(HUNT_FLAGS) -c -o $@ $<
-include $(RELEASE:.o=.d) $(CHECKED:.o=.d)
