/*
 * The host of a scenario: commands to its drive, and what must hold of each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"
#include "fail.h"
#include "schemes.h"

#include <stdlib.h>

/*
 * Ten times what any of some thousand scenarios needed.  So what is looked at
 * again and again, or collected again and again, is a failure, too, though it
 * may end.
 */
static void set_limit(Run *r)
{
    r->steps_left = 10000 + 20 * r->units +
                    20 * MIN(r->outstanding_units, 10000) * r->block_units;
}

void host_know(Run *r, const char *keys)
{
    const char *pages = scenario_key(r->s, "geometry.pages_per_block");
    const char *bytes = scenario_key(r->s, "geometry.page_bytes");
    g_autoptr(Scenario) is = scenario_copy(r->s);
    g_auto(GStrv) more = g_strsplit(keys ? keys : "", ",", -1);

    if (keys != r->as.keys) {
        g_free(r->as.keys);
        r->as.keys = g_strdup(keys);
    }
    for (char **key = more; *key; key++) {
        g_ptr_array_add(is->keys, g_strdup(*key));
    }
    r->units = scarp_drive_logical_bytes(r->drive) /
               scarp_drive_unit_bytes(r->drive);
    r->block_units = (pages ? strtoull(pages, NULL, 10) : 4) *
                     (bytes ? strtoull(bytes, NULL, 10) : SECTOR) /
                     scarp_drive_unit_bytes(r->drive);
    bound_know(&r->bound, is, scarp_drive_logical_bytes(r->drive));
    set_limit(r);
}

void host_know_scheme(Run *r, const char *scheme, const char *params)
{
    g_free(r->as.scheme);
    g_free(r->as.params);
    r->as.scheme = g_strdup(scheme);
    r->as.params = g_strdup(params);
    r->waits_ns += schemes_waits_ns(scheme, params);
    r->passes = MAX(r->passes, schemes_passes(scheme, params));
}

void host_forget(As *as)
{
    g_free(as->scheme);
    g_free(as->params);
    g_free(as->keys);
    *as = (As) { 0 };
}

uint64_t host_sectors(const Run *r)
{
    uint64_t sectors = scarp_drive_logical_bytes(r->drive) / SECTOR;

    return r->result->fold ? MIN(r->result->fold, sectors) : sectors;
}

/* ---- No command is late --------------------------------------------- */

/* Whether something should have completed by then. */
static bool check_progress(const Run *r, int64_t ns, GError **error)
{
    int64_t limit_ns = bound_ns(&r->bound, r->in_flight,
                                r->outstanding_sectors) + 2 * r->waits_ns;

    if (r->in_flight && ns - r->progress_ns > limit_ns) {
        return fail(error, "late: nothing has completed for %" G_GINT64_FORMAT
                    " ns, of %u commands with %" G_GUINT64_FORMAT " sectors; "
                    "at most %" G_GINT64_FORMAT, ns - r->progress_ns,
                    r->in_flight, r->outstanding_sectors, limit_ns);
    }
    return true;
}

/*
 * In a closed loop a command waits for what is before it, and for what is in
 * flight with it later, as pages of several commands take turns and policies
 * let some pass, as many as they say; and for as many reads as may go before a
 * program (controller.reads_first_limit); but not for all that ever comes.  A
 * policy may let each of them wait for its time, one after the other
 * (accumulate_us of HIOS).  A job's command is of one unit, and its die is who
 * has to do something for it.
 */
static int64_t latest_ns(const Run *r, const Slot *slot)
{
    uint64_t pieces = bound_pieces(&r->bound, slot->sectors,
                                   scarp_drive_unit_bytes(r->drive));
    uint64_t commands = (slot->commands + r->most_commands * pieces) *
                        r->passes;
    uint64_t sectors = (slot->sectors + r->most_sectors * pieces) * r->passes;
    int64_t most_ns = slot->lane
                          ? bound_die_ns(&r->bound, commands, sectors)
                          : bound_ns(&r->bound, commands, sectors);
    double waits_ns = (commands + 2.0) * r->waits_ns +
                      bound_passing_ns(&r->bound, commands, sectors,
                                       r->read_units - slot->before);

    return slot->open || r->open ? SCARP_TIME_LAST
                                 : MIN(slot->submit_ns + most_ns + waits_ns,
                                       SCARP_TIME_LAST);
}

static void know_latest(Run *r, Slot *slot)
{
    slot->flying = true;
    slot->open = r->open;
    slot->commands = r->in_flight;
    slot->sectors = r->outstanding_sectors;
    slot->before = r->read_units;
    r->most_commands = MAX(r->most_commands, r->in_flight);
    r->most_sectors = MAX(r->most_sectors, r->outstanding_sectors);
    r->latest_ns = MIN(r->in_flight == 1 ? SCARP_TIME_LAST : r->latest_ns,
                       latest_ns(r, slot));
}

static bool check_ages(Run *r, int64_t ns, GError **error)
{
    if (ns <= r->latest_ns) {
        return true;
    }
    r->latest_ns = SCARP_TIME_LAST;
    for (guint i = 0; i < r->all->len; i++) {
        const Slot *slot = r->all->pdata[i];
        int64_t its_ns = slot->flying ? latest_ns(r, slot) : SCARP_TIME_LAST;

        if (ns > its_ns) {
            return fail(error, "late: a command of a closed loop is %"
                        G_GINT64_FORMAT " ns old; at most %" G_GINT64_FORMAT,
                        ns - slot->submit_ns, its_ns - slot->submit_ns);
        }
        r->latest_ns = MIN(r->latest_ns, its_ns);
    }
    return true;
}

/* ---- What completes ------------------------------------------------- */

static void keep_row(Run *r, const ScarpCmd *cmd)
{
    const Slot *slot = cmd->opaque;
    GArray *rows = r->result->rows;
    Row *row;

    if (rows->len <= slot->number) {
        g_array_set_size(rows, slot->number + 1);
    }
    row = &g_array_index(rows, Row, slot->number);
    row->drive = r->drives;
    row->submit_ns = cmd->submit_ns;
    row->latency_ns = cmd->complete_ns - cmd->submit_ns;
    scarp_cmd_causes(cmd, row->cause_ns);
}

/* The number of the command that wrote each sector. */
static void keep_contents(Run *r, const ScarpCmd *cmd)
{
    uint64_t first = cmd->offset_bytes / SECTOR;

    for (uint64_t i = 0; i < cmd->length_bytes / SECTOR; i++) {
        g_array_index(r->result->contents, uint32_t, first + i) =
            model_value((uint8_t *)cmd->data + i * SECTOR);
    }
}

static bool check_done(Run *r, ScarpCmd *cmd, GError **error)
{
    const Slot *slot = cmd->opaque;

    if (r->contract) {
        scarp_contract_complete(r->contract, slot->id,
                                cmd->complete_ns);
    }
    return laws_command(cmd, slot->submit_ns, r->completed_ns,
                        scarp_now_ns(r->drive), error) &&
           (!r->s->store || model_done(r->model, cmd, error));
}

bool host_reap(Run *r, GError **error)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(r->drive))) {
        if (!check_done(r, cmd, error)) {
            return false;
        }
        if (r->result->rows && !r->ended) {
            keep_row(r, cmd);
        }
        if (r->result->contents && r->ended) {
            keep_contents(r, cmd);
        }
        ((Slot *)cmd->opaque)->flying = false;
        r->completed_ns = r->progress_ns = cmd->complete_ns;
        r->outstanding_sectors -= cmd->length_bytes / SECTOR;
        r->own.completed++;
        r->in_flight--;
        r->outstanding_units -= cmd->length_bytes /
                                scarp_drive_unit_bytes(r->drive) + 2;
        g_ptr_array_add(r->idle, cmd->opaque);
        set_limit(r);
    }
    return true;
}

/* The next moment at which something happens; false: there is none. */
static bool step(Run *r, bool *happened, GError **error)
{
    int64_t next_ns = scarp_next_event_ns(r->drive);

    *happened = next_ns != SCARP_TIME_NEVER;
    if (!*happened) {
        return true;
    }
    if (!r->steps_left--) {
        return fail(error, "%s", r->in_flight
                    ? "an endless run: nothing completes any more"
                    : "an endless run: nothing is outstanding");
    }
    if (!check_progress(r, next_ns, error) ||
        !check_ages(r, next_ns, error)) {
        return false;
    }
    r->result->events++;
    scarp_run(r->drive, next_ns);
    return host_reap(r, error);
}

bool host_run_until(Run *r, int64_t ns, GError **error)
{
    bool happened = true;

    ns = MIN(ns, SCARP_TIME_LAST);
    while (happened && scarp_next_event_ns(r->drive) <= ns) {
        if (!step(r, &happened, error)) {
            return false;
        }
    }
    if (ns > scarp_now_ns(r->drive)) {
        scarp_run(r->drive, ns);
    }
    return host_reap(r, error);
}

static bool stuck(Run *r, GError **error)
{
    g_autoptr(GError) why = NULL;

    scarp_quiescent(r->drive, &why);
    return fail(error, "stuck: no event is pending, %s",
                why ? why->message : "yet the drive says that it is at rest");
}

static bool wait_for_room(Run *r, uint32_t depth, GError **error)
{
    bool happened;

    while (r->in_flight >= depth) {
        if (!step(r, &happened, error)) {
            return false;
        }
        if (!happened && r->in_flight >= depth) {
            return stuck(r, error);
        }
    }
    return true;
}

/* ---- What is submitted ---------------------------------------------- */

static Slot *take_slot(Run *r, uint64_t bytes)
{
    Slot *slot;

    if (r->idle->len) {
        slot = g_ptr_array_steal_index_fast(r->idle, r->idle->len - 1);
    } else {
        slot = g_new0(Slot, 1);
        g_ptr_array_add(r->all, slot);
    }
    if (slot->room < bytes && r->s->store) {
        g_free(slot->data);
        slot->data = g_malloc0(bytes);
        slot->room = bytes;
    }
    memset(&slot->cmd, 0, sizeof(slot->cmd));
    slot->cmd.opaque = slot;
    slot->cmd.data = r->s->store ? slot->data : NULL;
    return slot;
}

/* Folded onto the drive. */
static void range_of(const Run *r, const Step *step, uint64_t *first,
                     uint64_t *n)
{
    uint64_t sectors = host_sectors(r);

    *first = step->sector % sectors;
    *n = MIN(MIN(step->sectors, MOST_SECTORS), sectors - *first);
    if (step->kind == (StepKind)SCARP_OP_FLUSH) {
        *first = *n = 0;
    }
}

static bool submit(Run *r, const Step *step, GError **error)
{
    int64_t now_ns = scarp_now_ns(r->drive);
    uint64_t first, n;
    ScarpCmd *cmd;
    Slot *slot;

    range_of(r, step, &first, &n);
    slot = take_slot(r, n * SECTOR);
    cmd = &slot->cmd;
    cmd->op = (ScarpOp)step->kind;
    cmd->fua = step->fua;
    cmd->nsid = 1;
    cmd->stream = step->stream % scarp_drive_streams(r->drive);
    cmd->offset_bytes = first * SECTOR;
    cmd->length_bytes = n * SECTOR;
    cmd->deadline_ns = step->deadline_ns ? now_ns + step->deadline_ns
                                         : SCARP_TIME_NEVER;
    slot->submit_ns = now_ns;
    slot->number = r->result->commands++;
    slot->lane = step->lane;
    laws_count(&r->own, cmd);
    if (!r->in_flight++) {
        r->progress_ns = now_ns;
    }
    r->outstanding_sectors += n;
    r->waits_ns = MAX(r->waits_ns, step->deadline_ns);
    r->outstanding_units += cmd->length_bytes /
                            scarp_drive_unit_bytes(r->drive) + 2;
    if (cmd->op == SCARP_OP_READ) {
        r->read_units += cmd->length_bytes / scarp_drive_unit_bytes(r->drive) +
                         2;
    } else if (n % (scarp_drive_unit_bytes(r->drive) / SECTOR) ||
               first % (scarp_drive_unit_bytes(r->drive) / SECTOR)) {
        r->read_units += 2; /* the rest of its first and its last */
    }
    r->submitted_ns = now_ns;
    know_latest(r, slot);
    set_limit(r);
    if (r->s->store) {
        slot->id = model_submit(r->model, cmd);
    }
    if (r->contract) {
        cmd->submit_ns = now_ns;
        scarp_contract_submit(r->contract, cmd, slot->id);
    }
    scarp_submit(r->drive, cmd, now_ns);
    if (r->result->log && r->result->log->all) {
        export_row(r->result->log, cmd);
    }
    return host_reap(r, error);
}

/* One that is in flight goes to a sector of the step. */
static bool overlaps(const Run *r, const Step *step)
{
    uint64_t first, n;

    range_of(r, step, &first, &n);
    for (guint i = 0; i < r->all->len; i++) {
        const Slot *slot = r->all->pdata[i];
        uint64_t at = slot->cmd.offset_bytes / SECTOR;

        if (slot->flying && at < first + n &&
            first < at + slot->cmd.length_bytes / SECTOR) {
            return true;
        }
    }
    return false;
}

/* Its job has a command in flight. */
static bool lane_is_busy(const Run *r, const Step *step)
{
    for (guint i = 0; step->lane && i < r->all->len; i++) {
        const Slot *slot = r->all->pdata[i];

        if (slot->flying && slot->lane == step->lane) {
            return true;
        }
    }
    return false;
}

/* A command's number is that of its step, whoever was left out before it. */
static void leave_out(Run *r)
{
    uint64_t number = r->result->commands++;
    GArray *rows = r->result->rows;

    if (rows && !r->ended) {
        Row row = { .drive = r->drives, .lost = true,
                    .submit_ns = scarp_now_ns(r->drive) };

        g_array_set_size(rows, MAX(rows->len, number + 1));
        g_array_index(rows, Row, number) = row;
    }
}

bool host_command(Run *r, const Step *step, GError **error)
{
    int64_t due_ns;

    if (!wait_for_room(r, MAX(r->depth, 1), error)) {
        return false;
    }
    /* Where contents are compared, both runs have the same commands. */
    if (!r->result->fold && lane_is_busy(r, step)) {
        leave_out(r);
        return true;
    }
    /* In its order, where what comes of it is to be compared. */
    while (r->result->fold && overlaps(r, step)) {
        if (!wait_for_room(r, r->in_flight, error)) {
            return false;
        }
    }
    due_ns = (r->open ? r->submitted_ns : scarp_now_ns(r->drive)) +
             step->gap_ns;
    return host_run_until(r, due_ns, error) && submit(r, step, error);
}

/* Every event, and then no command may be left. */
bool host_rest(Run *r, GError **error)
{
    bool happened = true;

    set_limit(r);
    while (happened) {
        if (!step(r, &happened, error)) {
            return false;
        }
    }
    if (r->in_flight || !scarp_quiescent(r->drive, NULL)) {
        return stuck(r, error);
    }
    return true;
}

bool host_check(Run *r, GError **error)
{
    return scarp_check(r->drive, error) &&
           laws_sums(&r->own, scarp_stats(r->drive), error) &&
           laws_slc(scarp_slc_stats(r->drive), scarp_stats(r->drive), error) &&
           laws_times(&r->own, scarp_stats(r->drive),
                      r->bound.dies * r->bound.die_planes,
                      scarp_now_ns(r->drive), error);
}

bool host_drain(Run *r, GError **error)
{
    r->result->phases++;
    if (!host_rest(r, error)) {
        return false;
    }
    return scarp_drain(r->drive, error) && host_reap(r, error) &&
           host_check(r, error);
}

void host_count(Run *r)
{
    const ScarpStats *stats = scarp_stats(r->drive);

    r->result->collected += stats->gc_runs;
    r->result->merged += stats->switch_merges + stats->partial_merges +
                         stats->full_merges;
}

void host_count_marks(Run *r)
{
    for (unsigned i = 0; i < MIN(scarp_mark_count(), MOST_MARKS); i++) {
        r->result->marks[i] += scarp_mark_times(r->drive, i);
    }
}
