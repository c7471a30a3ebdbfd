/*
 * Partial collection (GFTL, Choudhuri and Givargis 2008; pregc §5.1): a
 * collection is cut into steps that take no longer than an erase. A step runs
 * after each host command of the die, or while the die has no host command.
 *
 * A plane with gftl_floor free blocks or fewer waits no longer: its collection
 * runs to the end. GFTL needs spare flash as a write buffer. Here the drive's
 * over-provisioning has to be increased by that much (16 % in pregc §5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

static uint32_t step_pages(const ScarpDrive *drive)
{
    int64_t move_ns = scarp_nand_move_ns(drive, false);

    return MAX(1, (int64_t)drive->desc.erase_ns / MAX(move_ns, 1));
}

static bool urgent(const ScarpDrive *drive, uint32_t p)
{
    return scarp_gc_is_urgent(drive, p, drive->scheme.param[AXIS_PACING][0]);
}

static void gc_start(ScarpDrive *drive, ScarpGcJob *gc)
{
    gc->moves_left = urgent(drive, gc->plane) ? UINT32_MAX : 0;
}

/*
 * Grants the next step to the die's first collection that waits for a grant. An
 * urgent collection gets all its steps.
 */
static void grant(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        ScarpGcJob *gc = scarp_gc_job(drive, p);

        if (gc->running && !gc->pages_out && !gc->erasing && !gc->moves_left) {
            scarp_mark_if(drive, urgent_step, urgent(drive, p));
            scarp_gc_allow(drive, gc, urgent(drive, p) ? UINT32_MAX
                                                       : step_pages(drive));
            return;
        }
    }
}

static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die;
    bool short_of_blocks = false;

    scarp_gc_check_one(drive, die);
    /*
     * An urgent sibling plane counts, too, because its collection can start
     * only after the running collection.
     */
    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        short_of_blocks |= urgent(drive, p);
    }
    if (short_of_blocks ||
        !(scarp_nand_queued(drive, die, QUEUE_READS) +
          scarp_nand_queued(drive, die, QUEUE_PROGRAMS))) {
        grant(drive, die);
    }
}

static ScarpTurn turn(ScarpDrive *drive G_GNUC_UNUSED,
                      uint32_t die G_GNUC_UNUSED)
{
    return TURN_GC; /* a granted step goes first */
}

static void host_done(ScarpDrive *drive, uint32_t die,
                      const ScarpFlashCmd *tx G_GNUC_UNUSED)
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
