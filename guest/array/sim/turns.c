/*
 * Turns of the drives in collecting: for a time, some drives collect ahead of
 * need, and the others are asked not to collect.
 *
 * A drive that is asked not to collect cannot always obey: a plane that is down
 * to its last free block still collects.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

/*
 * How often in a turn a drive is asked to collect. At each call, planes whose
 * collections have ended begin further ones.
 */
#define ASKS 10

struct SimTurns {
    const SimOptions *o;
    SimDrives *drives;
    int64_t next_ns;
    uint64_t asks;  /* number of times that drives were asked */
    uint32_t first; /* the first of the drives that have the turn */
};

SimTurns *sim_turns_new(const SimOptions *o, SimDrives *drives)
{
    SimTurns *turns = g_new0(SimTurns, 1);

    turns->o = o;
    turns->drives = drives;
    return turns;
}

void sim_turns_free(SimTurns *turns)
{
    g_free(turns);
}

int64_t sim_turns_next_ns(const SimTurns *turns)
{
    return turns->next_ns;
}

static bool has_turn(const SimTurns *turns, uint32_t drive)
{
    uint32_t n = turns->o->drives;

    return (drive + n - turns->first) % n < turns->o->turn_drives;
}

void sim_turns_run(SimTurns *turns, int64_t now_ns)
{
    const SimOptions *o = turns->o;
    bool begins = turns->asks % ASKS == 0;

    if (begins && turns->asks) {
        turns->first = (turns->first + o->turn_drives) % o->drives;
    }
    for (uint32_t i = 0; i < o->drives; i++) {
        if (has_turn(turns, i)) {
            sim_drives_collect(turns->drives, i, o->turn_free_blocks, now_ns);
        } else if (begins) {
            sim_drives_hold(turns->drives, i, SCARP_TIME_LAST, now_ns);
        }
    }
    turns->asks++;
    turns->next_ns = now_ns + o->turn_ns / ASKS;
}

void sim_turns_end(SimTurns *turns, int64_t now_ns)
{
    turns->next_ns = SCARP_TIME_NEVER;
    for (uint32_t i = 0; i < turns->o->drives; i++) {
        sim_drives_hold(turns->drives, i, now_ns, now_ns);
    }
}
