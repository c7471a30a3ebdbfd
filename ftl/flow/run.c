/*
 * The events of a drive, in order; and how the drive comes to rest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

void scarp_flow_work(ScarpDrive *drive)
{
    if (scarp_map_wants(drive)) {
        scarp_flow_mapped(drive);
    }
    while (scarp_nand_any_kicked(drive)) {
        scarp_flow_die_work(drive, scarp_nand_next_kicked(drive));
        if (scarp_map_wants(drive)) {
            scarp_flow_mapped(drive);
        }
    }
    scarp_flow_tell_phases(drive);
}

/*
 * Handles a timer. Below AXIS__COUNT, `axis` is the axis of a scheme whose
 * policy has set the timer. AXIS__COUNT is the end of a hold on collections,
 * and AXIS__COUNT + 1 the time at which an idle die folds.
 */
static void __attribute__((noinline)) timer_event(ScarpDrive *drive,
                                                  ScarpAxis axis)
{
    const ScarpPolicy *policy[AXIS__COUNT];

    if (axis == AXIS__COUNT) {
        scarp_gc_hold_ended(drive);
        return;
    }
    if (axis > AXIS__COUNT) {
        scarp_fold_timer(drive);
        return;
    }
    scarp_scheme_policies(&drive->scheme, policy);
    if (policy[axis]->timer) {
        policy[axis]->timer(drive);
    }
    if (axis == AXIS_HIL) {
        /* the policy may pick what it did not pick before */
        scarp_flow_dispatch(drive);
    }
}

static inline void run_source(ScarpDrive *drive, uint32_t source)
{
    uint32_t first_die = scarp_die_source(drive, 0);
    uint32_t first_timer = scarp_timer_source(drive, 0);

    if (source < first_die) {
        scarp_flow_channel_event(drive, source);
    } else if (source < first_timer) {
        scarp_flow_die_event(drive, source - first_die);
    } else {
        timer_event(drive, source - first_timer);
    }
}

static inline void __attribute__((always_inline)) run_next(ScarpDrive *drive)
{
    uint32_t source;

    if (scarp_event_take(drive, &source)) {
        scarp_flow_stage_event(drive, source);
    } else {
        run_source(drive, source);
    }
    if (scarp_nand_any_kicked(drive) || scarp_map_wants(drive)) {
        scarp_flow_work(drive);
    } else {
        scarp_flow_tell_phases(drive);
    }
#ifdef SCARP_CHECKED
    if (scarp_core_laws_due(drive)) {
        g_autoptr(GError) error = NULL;

        if (!scarp_check(drive, &error)) {
            g_error("at %" G_GINT64_FORMAT " ns: %s", scarp_time_ns(drive),
                    error->message);
        }
    }
#endif
}

/*
 * Runs the events up to limit_ns. With until_done it stops earlier: when a
 * command has completed, only the other events of that time still run. The loop
 * is the only caller of run_next(), which the compiler then inlines.
 */
static void run_events(ScarpDrive *drive, int64_t limit_ns, bool until_done)
{
    while (scarp_event_until(drive, until_done && scarp_hil_any_done(drive)
                                        ? scarp_time_ns(drive) : limit_ns)) {
        run_next(drive);
    }
}

static void run_until(ScarpDrive *drive, int64_t now_ns)
{
    run_events(drive, now_ns, false);
    scarp_time_set(drive, MAX(scarp_time_ns(drive), now_ns));
}

/* Lets idle dies fold again, after the drive was drained. */
static void __attribute__((noinline)) fold_again(ScarpDrive *drive)
{
    scarp_fold_put_off(drive, false);
    scarp_flow_work(drive);
}

void scarp_run(ScarpDrive *drive, int64_t now_ns)
{
    g_assert(now_ns <= SCARP_TIME_LAST);
    if (scarp_fold_is_put_off(drive)) {
        fold_again(drive);
    }
    run_until(drive, now_ns);
}

bool scarp_run_until_done(ScarpDrive *drive, int64_t limit_ns)
{
    if (!scarp_hil_any_done(drive)) {
        run_events(drive, MIN(limit_ns, SCARP_TIME_LAST), true);
    }
    return scarp_hil_any_done(drive);
}

/* ---- Collections by request --------------------------------------------- */

uint32_t scarp_collect_now(ScarpDrive *drive, uint32_t free_blocks)
{
    uint32_t began = scarp_gc_request(drive, free_blocks);

    scarp_flow_work(drive);
    return began;
}

void scarp_hold_collections(ScarpDrive *drive, int64_t until_ns)
{
    scarp_gc_hold(drive, until_ns);
    scarp_flow_work(drive);
}

/* ---- A larger buffer ---------------------------------------------------- */

void scarp_flow_enlarge_buffer(ScarpDrive *drive, uint64_t bytes)
{
    scarp_buffer_enlarge(drive, bytes);
    scarp_flow_admit(drive);
    scarp_flow_dispatch(drive);
    scarp_flow_work(drive);
}

/* ---- Rest --------------------------------------------------------------- */

bool scarp_quiescent(const ScarpDrive *drive, GError **error)
{
    const ScarpStats *stats = &drive->stats;
    uint32_t busy = 0;

    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        busy += !scarp_nand_at_rest(drive, die);
    }
    if (stats->cmds_accepted == stats->cmds_completed && !busy) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "accepted %" G_GUINT64_FORMAT " commands, completed %"
                G_GUINT64_FORMAT ", %u dies busy", stats->cmds_accepted,
                stats->cmds_completed, busy);
    return false;
}

static void run_all(ScarpDrive *drive)
{
    scarp_flow_work(drive); /* the caller may have kicked dies between events */
    while (scarp_event_next_ns(drive) != SCARP_TIME_NEVER) {
        run_until(drive, scarp_event_next_ns(drive));
    }
}

static bool parity_rests(const ScarpDrive *drive)
{
    return !scarp_has_parity(drive) || scarp_parity_at_rest(drive);
}

bool scarp_drain(ScarpDrive *drive, GError **error)
{
    scarp_fold_put_off(drive, true);
    run_all(drive);
    /*
     * The loop may run several times. A pass may leave a page open that only
     * the next pass fills, and its writes change parities and mapping entries
     * that only the next pass writes.
     */
    for (int i = 0; i < 8 && (!scarp_buffer_is_empty(drive) ||
                              !scarp_gc_at_rest(drive) ||
                              !scarp_map_at_rest(drive) ||
                              !parity_rests(drive)); i++) {
        scarp_mark_if(drive, drained_again, i > 0);
        scarp_buffer_drain(drive);
        scarp_map_drain(drive);
        if (scarp_has_parity(drive)) {
            scarp_parity_drain(drive);
        }
        scarp_gc_release_all(drive);
        if (scarp_flow_pairs(drive)) {
            scarp_flow_press(drive);
        }
        run_all(drive);
    }
    if (scarp_flow_pairs(drive) && scarp_buffer_is_empty(drive)) {
        scarp_flow_commit_unpaired(drive);
    }
    return scarp_at_rest(drive, error);
}

bool scarp_shut_down(ScarpDrive *drive, GError **error)
{
    if (!scarp_drain(drive, error)) {
        return false;
    }
    if (scarp_media_keeps(drive)) {
        scarp_media_set_clean(drive);
    }
    return true;
}

bool scarp_at_rest(const ScarpDrive *drive, GError **error)
{
    if (!scarp_quiescent(drive, error)) {
        return false;
    }
    if (scarp_buffer_is_empty(drive) && scarp_gc_at_rest(drive) &&
        scarp_map_at_rest(drive) &&
        !scarp_nand_any_kicked(drive) && parity_rests(drive) &&
        scarp_event_next_ns(drive) == SCARP_TIME_NEVER) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "the drive is not at rest: %s", !scarp_buffer_is_empty(drive)
                    ? "its write buffer is not empty"
                    : !parity_rests(drive) ? "parity is not written"
                    : !scarp_map_at_rest(drive) ? "its mapping is not written"
                    : "it collects, or has work to do");
    return false;
}
