/*
 * allocation: write allocation, which names the plane that data of the host
 * goes to: by its address, in the order of ftl.allocation (static.c), or by how
 * busy dies are (dynamic.c). Where parity decides it, parity has a policy
 * of its own. allocation owns the turn of the dynamic policy.
 *
 * It asks blocks, nand and pack.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_ALLOCATION_STATE_H
#define SCARP_ALLOCATION_STATE_H

#include "core/state.h"

typedef struct {
    uint32_t next_plane; /* dynamic allocation's turn; images have it */
} ScarpAllocation;

#endif /* SCARP_ALLOCATION_STATE_H */
