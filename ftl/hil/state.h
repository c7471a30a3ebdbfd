/*
 * hil: the host's side. This directory owns the stages of the host's path
 * (firmware, the host link in each direction), the host queue, and the
 * completed commands.
 *
 *     submit → firmware → host queue → the policy's choice, when a slot is free
 *     → link in (writes) → flow → link out (reads) → done
 *
 * Policies choose from the queue (policy_*.c, and hios/ for HIOS). flow drives
 * hil, and does all that lies between the two directions of the link. hil asks
 * gc for costs, stat and core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_STATE_H
#define SCARP_HIL_STATE_H

#include "core/state.h"

/* The stages of the host's path: near sources of events (core/event.h). */
typedef enum {
    STAGE_FIRMWARE, STAGE_LINK_IN, STAGE_LINK_OUT, STAGE__COUNT
} ScarpStage;

typedef struct {
    ScarpCmdQueue stage[STAGE__COUNT];
    int64_t link_free_ns[2]; /* when the link is free: in, out */
    int64_t unit_link_ns;    /* time of a unit on the host's link */
    ScarpCmdQueue waiting;   /* the host queue: commands without a slot */
    bool dispatching;
    ScarpCmdQueue done;
} ScarpHil;

#endif /* SCARP_HIL_STATE_H */
