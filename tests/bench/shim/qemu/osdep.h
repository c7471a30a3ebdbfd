/*
 * What hw/flash-port.c and hw/flash-rt-thread.c need of QEMU's header, so that
 * tests/bench/bench-realtime.c can be built without QEMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_SHIM_OSDEP_H
#define SCARP_SHIM_OSDEP_H

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QEMU_BUILD_BUG_ON(wrong) G_STATIC_ASSERT(!(wrong))

#endif /* SCARP_SHIM_OSDEP_H */
