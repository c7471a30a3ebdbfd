/*
 * PreGC (pregc §4): while the system is idle and few blocks are free, valid
 * pages of the next victim move one at a time, before it must be collected.
 *
 * T_block is a share of the whole drive's blocks.  The paper says both that
 * migration proceeds while the victim's share of valid pages is below T_page
 * and that it is to leave a few pages behind; with its 10 % and victims of a
 * third valid (its Table 4) the first would never migrate, so here it proceeds
 * while the share is above T_page and stops below.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

typedef struct {
    uint32_t next_die; /* whose turn it is */
    uint32_t tried;    /* dies that had nothing, since the last command */
    uint64_t steps;    /* in this idle time: at most a victim for each plane */
    uint32_t plane;    /* of the last step */
    bool began;
} PreGc;

static bool may_step(const ScarpDrive *drive, const PreGc *pregc)
{
    uint64_t t_block = drive->scheme.param[AXIS_AHEAD][0];

    return !drive->slots_used &&
           pregc->steps < drive->n_planes * drive->d.pages_per_block &&
           (uint64_t)drive->n_free * 1000 < t_block * drive->n_blocks &&
           !(pregc->began && drive->plane[pregc->plane].gc.running);
}

/* The plane of the die with fewest free blocks; its victim must be worth it. */
static bool step(ScarpDrive *drive, PreGc *pregc, uint32_t die)
{
    uint64_t t_page = drive->scheme.param[AXIS_AHEAD][1];
    uint32_t n = drive->d.planes_per_die, best = die * n, victim;
    bool levelling;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        if (drive->plane[p].n_free < drive->plane[best].n_free) {
            best = p;
        }
    }
    victim = scarp_gc_choose_victim(drive, best, &levelling);
    if (victim == SCARP_NONE || drive->plane[best].n_free < 2 ||
        (uint64_t)drive->block[victim].valid * 1000 <=
            t_page * drive->units_per_block ||
        !scarp_gc_start(drive, best, SCARP_ORIGIN_PREMIGRATE)) {
        return false;
    }
    pregc->plane = best;
    pregc->began = true;
    pregc->steps++;
    return true;
}

static void idle(ScarpDrive *drive, uint32_t die)
{
    PreGc *pregc = drive->scheme.state[AXIS_AHEAD];

    if (!may_step(drive, pregc) || pregc->tried >= drive->n_dies) {
        return;
    }
    if (die == pregc->next_die) {
        pregc->next_die = (die + 1) % drive->n_dies;
        if (step(drive, pregc, die)) {
            pregc->tried = 0;
            return;
        }
        pregc->tried++;
    }
    scarp_die_kick(drive, pregc->next_die);
}

static void host_cmd(ScarpDrive *drive, const ScarpCmd *cmd G_GNUC_UNUSED)
{
    PreGc *pregc = drive->scheme.state[AXIS_AHEAD];

    pregc->tried = 0;
    pregc->steps = 0;
    if (!drive->slots_used) {
        scarp_die_kick(drive, pregc->next_die);
    }
}

static const ScarpParam params[] = {
    { "t_block", "permille of blocks", "migrate when fewer are free", 1, 1000,
      110 },
    { "t_page", "permille of a block", "valid units to leave in the victim", 0,
      1000, 100 },
};

const ScarpAheadOps scarp_ahead_pregc = {
    .policy = {
        .axis = AXIS_AHEAD,
        .name = "pregc",
        .help = "valid pages of the next victim move in idle time, one by one",
        .source = "pregc §4.2",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .state_size = sizeof(PreGc),
    },
    .idle = idle,
    .host_cmd = host_cmd,
};
