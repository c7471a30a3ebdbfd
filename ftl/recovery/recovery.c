/*
 * The steps of recovery. A step runs in all planes at once. The next step
 * begins when the last plane has completed it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"

/*
 * The function of each step. It creates the plane's next flash command, or
 * returns false if the plane has completed the step.
 */
static bool (*const next_of[])(ScarpDrive *, uint32_t) = {
    [RECOVERY_SCAN] = scarp_recovery_scan,
    [RECOVERY_MEND] = scarp_recovery_mend,
    [RECOVERY_UNITS] = scarp_recovery_units,
    [RECOVERY_SANITIZE] = scarp_recovery_sanitize,
};

bool scarp_recovery_init(ScarpDrive *drive,
                         const ScarpConfig *config G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    drive->recovery.step = RECOVERY_READY;
    return true;
}

static void forget_planes(ScarpDrive *drive)
{
    ScarpRecoveryPlane *plane = drive->recovery.plane;

    for (uint32_t p = 0; plane && p < drive->geo.n_planes; p++) {
        scarp_mend_clear(&plane[p].job.mend);
    }
    g_clear_pointer(&drive->recovery.plane, g_free);
}

void scarp_recovery_clear(ScarpDrive *drive)
{
    forget_planes(drive);
}

/* ---- Flash commands ----------------------------------------------------- */

void scarp_recovery_issue(ScarpDrive *drive, uint32_t p, ScarpFlashKind kind,
                          ScarpOrigin origin, uint32_t ppn, uint32_t bytes)
{
    ScarpFlashCmd *cmd = scarp_flash_new(drive, kind, OWNER_RECOVERY, origin);

    scarp_flash_set_target(cmd, p, ppn, bytes);
    drive->recovery.plane[p].cmd = cmd;
    scarp_nand_kick(drive, scarp_plane_die(drive, p));
}

/*
 * Returns recovery's oldest command that waits for the die, or NULL. Each plane
 * of the die has at most one such command.
 */
static ScarpFlashCmd *oldest(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    ScarpFlashCmd *best = NULL;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        ScarpFlashCmd *cmd = drive->recovery.plane[p].cmd;

        if (cmd && (!best || scarp_flash_seq(cmd) < scarp_flash_seq(best))) {
            best = cmd;
        }
    }
    return best;
}

static ScarpFlashCmd *take(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpRecoveryPlane *plane =
        &drive->recovery.plane[scarp_flash_plane(cmd)];

    plane->cmd = NULL;
    return cmd;
}

ScarpFlashCmd *scarp_recovery_pick(ScarpDrive *drive, uint32_t die)
{
    ScarpFlashCmd *cmd = oldest(drive, die);

    return cmd ? take(drive, cmd) : NULL;
}

ScarpFlashCmd *scarp_recovery_pick_kind(ScarpDrive *drive, uint32_t die,
                                        ScarpFlashKind kind)
{
    ScarpFlashCmd *cmd = oldest(drive, die);

    return cmd && scarp_flash_kind(cmd) == kind ? take(drive, cmd) : NULL;
}

/* ---- Steps -------------------------------------------------------------- */

/*
 * Creates the plane's next command of the step. If there is none, the plane has
 * completed the step, and is no longer counted in `left`.
 */
static void advance(ScarpDrive *drive, uint32_t p)
{
    drive->recovery.left -= !next_of[drive->recovery.step](drive, p);
}

static void begin_step(ScarpDrive *drive, ScarpRecoveryStep step)
{
    drive->recovery.step = step;
    drive->recovery.left = drive->geo.n_planes;
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        advance(drive, p);
    }
}

static void become_ready(ScarpDrive *drive)
{
    forget_planes(drive);
    drive->recovery.step = RECOVERY_READY;
    if (scarp_blocks_cached(drive)) {
        scarp_fold_power_on(drive);
    }
}

/* Lets all dies look for work. */
static void kick_all(ScarpDrive *drive)
{
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        scarp_nand_kick(drive, die);
    }
}

/*
 * Ends recovery: puts the units that stored energy saved back into the buffer,
 * and lets all dies look for work.
 */
static void end(ScarpDrive *drive)
{
    become_ready(drive);
    if (scarp_blocks_in_units(drive)) {
        scarp_ru_recovered(drive);
    }
    drive->stats.recovery_ns +=
        scarp_stat_since(drive, drive->recovery.since_ns);
    scarp_map_recovered(drive);
    scarp_buffer_restore(drive);
    /*
     * Parity is restored after the buffer, because all pages of a stripe may be
     * in the buffer and none on flash.
     */
    if (scarp_has_parity(drive)) {
        scarp_parity_restore(drive);
    }
    scarp_media_forget_saved(drive);
    kick_all(drive);
}

static void go_on(ScarpDrive *drive)
{
    while (!drive->recovery.left) {
        if (drive->recovery.step == RECOVERY_SANITIZE) {
            /* all blocks are free or bad, as those of a new drive are */
            scarp_blocks_set_units(drive);
            become_ready(drive);
            kick_all(drive);
            return;
        }
        if (drive->recovery.step == (scarp_blocks_in_units(drive)
                                         ? RECOVERY_UNITS : RECOVERY_MEND)) {
            end(drive);
            return;
        }
        begin_step(drive, drive->recovery.step + 1);
    }
}

void scarp_recovery_start(ScarpDrive *drive, ScarpRecoveryStep step)
{
    begin_step(drive, step);
    go_on(drive);
}

void scarp_recovery_begin(ScarpDrive *drive)
{
    drive->recovery.plane = g_new0(ScarpRecoveryPlane, drive->geo.n_planes);
    drive->recovery.since_ns = scarp_time_ns(drive);
    drive->recovery.is_clean = scarp_media_is_clean(drive);
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        drive->recovery.plane[p].job.target = SCARP_NONE;
    }
    scarp_recovery_tables(drive);
    scarp_recovery_start(drive, RECOVERY_SCAN);
}

void scarp_recovery_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    uint32_t p = scarp_recovery_plane(drive, cmd);

    switch (scarp_flash_kind(cmd)) {
    case SCARP_FLASH_READ:
        drive->stats.recovery_page_reads++;
        break;
    case SCARP_FLASH_PROGRAM:
        drive->stats.recovery_page_programs++;
        break;
    default:
        break;
    }
    if (drive->recovery.step == RECOVERY_MEND ||
        drive->recovery.step == RECOVERY_UNITS) {
        scarp_recovery_mended(drive, p, cmd);
    } else if (drive->recovery.step == RECOVERY_SANITIZE) {
        scarp_recovery_sanitized(drive, cmd);
    }
    scarp_flash_free(drive, cmd);
    advance(drive, p);
    go_on(drive);
}

#ifdef SCARP_CHECKED
void scarp_recovery_mark_cut(const ScarpDrive *drive)
{
    const ScarpRecovery *recovery = &drive->recovery;

    scarp_mark_if(drive, cut_scan, recovery->step == RECOVERY_SCAN);
    for (uint32_t p = 0; (recovery->step == RECOVERY_MEND ||
                          recovery->step == RECOVERY_UNITS) &&
                         p < drive->geo.n_planes; p++) {
        const ScarpRecoveryJob *job = &recovery->plane[p].job;

        scarp_mark_if(drive, cut_mend_copies, job->done < job->mend.n_units);
        scarp_mark_if(drive, cut_mend_erase,
                      job->done == job->mend.n_units && job->mend.n_dead);
    }
}
#endif
