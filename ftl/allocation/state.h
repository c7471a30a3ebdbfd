/*
 * allocation: the plane for data of the host. Policies choose it by the address
 * of the data, in the order of ftl.allocation (static.c), or by how busy the
 * dies are (dynamic.c). Drives with parity use a policy of ftl/parity. This
 * directory owns the plane at which the dynamic policy searches next, and asks
 * blocks, nand and pack.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_ALLOCATION_STATE_H
#define SCARP_ALLOCATION_STATE_H

#include "core/state.h"

typedef struct {
    uint32_t next_plane; /* where dynamic allocation's next search begins */
} ScarpAllocation;

#endif /* SCARP_ALLOCATION_STATE_H */
