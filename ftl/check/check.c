/*
 * The laws (invariants) of the tables, checked from scratch. Each directory of
 * ftl/ checks its own tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/ops.h"

/*
 * True when this check is to be skipped. The scan of spare areas at the start
 * of recovery is long and changes no table. So during the scan only one of 16
 * events is checked, drawn with the time as the seed.
 */
static bool is_skipped(const ScarpDrive *drive)
{
    uint64_t state = scarp_random_state(scarp_time_ns(drive));

    return scarp_recovery_scans(drive) && scarp_random_below(&state, 16);
}

bool scarp_check(const ScarpDrive *drive, GError **error)
{
    bool rests = !scarp_in_device(drive) && !scarp_recovery_runs(drive);

    if (is_skipped(drive)) {
        return true;
    }
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (!scarp_blocks_check(drive, p, error) ||
            !scarp_gc_laws(drive, p, error)) {
            return false;
        }
    }
    /* the mapping by the cells is that of the data before a Sanitize */
    if (!scarp_sanitize_runs(drive) &&
        !scarp_map_check(drive, rests, error)) {
        return false;
    }
    /*
     * Contents take long to check, so they are checked only while no command is
     * in the device. During recovery there are no open stripes to check,
     * because recovery opens stripes only at its end.
     */
    return !scarp_has_parity(drive) || scarp_recovery_runs(drive) ||
           scarp_parity_check(drive, !scarp_in_device(drive), error);
}
