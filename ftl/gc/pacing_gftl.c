/*
 * Partial collection (GFTL, Choudhuri and Givargis 2008; pregc §5.1): a
 * collection is cut into steps no longer than an erase, and one step runs
 * after each host command of its die, or while the die has none.
 *
 * Below its floor a plane no longer waits: its collection runs to the end.
 * GFTL's write buffer is spare flash: give the drive that much more
 * over-provisioning (16 % in pregc §5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static uint32_t step_pages(const ScarpDrive *drive)
{
    int64_t move_ns = drive->read_ns_of[0] + drive->program_ns_of[0] +
                      2 * (drive->d.command_ns + drive->page_transfer_ns);

    return MAX(1, (int64_t)drive->d.erase_ns / MAX(move_ns, 1));
}

static bool urgent(const ScarpDrive *drive, uint32_t p)
{
    return drive->plane[p].n_free <= drive->scheme.param[AXIS_PACING][0];
}

static void gc_start(ScarpDrive *drive, ScarpGc *gc)
{
    gc->moves_left = urgent(drive, gc->plane) ? UINT32_MAX : 0;
}

/* The next step of the die's collection, if it waits for one. */
static void grant(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->d.planes_per_die;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        ScarpGc *gc = &drive->plane[p].gc;

        if (gc->running && !gc->pages_out && !gc->erasing && !gc->moves_left) {
            scarp_gc_allow(drive, gc, urgent(drive, p) ? UINT32_MAX
                                                       : step_pages(drive));
            return;
        }
    }
}

static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->d.planes_per_die;
    bool short_of_blocks = false;

    scarp_gc_check_one(drive, die);
    /* A sibling's, too: its own collection can start only after this one. */
    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        short_of_blocks |= urgent(drive, p);
    }
    if (short_of_blocks ||
        !(drive->die[die].n_reads + drive->die[die].n_programs)) {
        grant(drive, die);
    }
}

static ScarpTurn turn(ScarpDrive *drive G_GNUC_UNUSED,
                      uint32_t die G_GNUC_UNUSED)
{
    return TURN_GC; /* a step that was allowed goes first */
}

static void host_done(ScarpDrive *drive, uint32_t die,
                      const ScarpTx *tx G_GNUC_UNUSED)
{
    grant(drive, die);
}

static const ScarpParam params[] = {
    { "gftl_floor", "free blocks", "a plane at or below it collects at once",
      1, 1u << 20, 2 },
};

const ScarpPacingOps scarp_pacing_gftl = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "gftl",
        .help = "a step of at most an erase's time after each host command",
        .source = "pregc section 5.1; Choudhuri, Givargis 2008",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
    },
    .check = check,
    .turn = turn,
    .gc_start = gc_start,
    .host_done = host_done,
};
