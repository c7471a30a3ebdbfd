/*
 * Repeats a recorded run on its drive. Each command must end at its recorded
 * time. Only then does a forked process begin in the state that the recorded
 * run had.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rerun/rerun.h"

typedef struct {
    ScarpCmd cmd;
    guint row;
} Flying;

bool rerun_begin_on(Rerun *r, const RerunRecord *record, ScarpDrive *drive,
                    bool stores, GError **error)
{
    *r = (Rerun) { .record = record, .drive = drive, .exact = true,
                   .stores = stores, .flying = g_ptr_array_new(),
                   .idle = g_ptr_array_new() };
    if (!rerun_record_fits(record, r->drive, error)) {
        rerun_end(r);
        return false;
    }
    return true;
}

bool rerun_begin(Rerun *r, const RerunRecord *record,
                 const ScarpConfig *config, GError **error)
{
    ScarpDrive *drive = scarp_drive_new(config, error);

    return drive && rerun_begin_on(r, record, drive, config->store_data, error);
}

static void free_flying(gpointer flying, gpointer unused G_GNUC_UNUSED)
{
    g_free(((Flying *)flying)->cmd.data);
    g_free(flying);
}

void rerun_end(Rerun *r)
{
    scarp_drive_free(r->drive);
    g_ptr_array_foreach(r->flying, free_flying, NULL);
    g_ptr_array_foreach(r->idle, free_flying, NULL);
    g_ptr_array_unref(r->flying);
    g_ptr_array_unref(r->idle);
    *r = (Rerun) { 0 };
}

void rerun_listen(Rerun *r, RerunListener listener)
{
    r->listener = listener;
}

void rerun_diverge(Rerun *r, uint32_t most_in_flight)
{
    r->exact = false;
    r->most_in_flight = most_in_flight;
}

void rerun_keep_scheme(Rerun *r)
{
    r->keeps_scheme = true;
}

void rerun_cut_power(Rerun *r)
{
    r->drive = scarp_power_cut(r->drive, NULL);
    g_assert(r->drive);
}

/* ---- Commands ----------------------------------------------------------- */

static Flying *new_flying(Rerun *r)
{
    Flying *flying = r->idle->len
        ? g_ptr_array_steal_index_fast(r->idle, r->idle->len - 1)
        : g_new0(Flying, 1);

    g_ptr_array_add(r->flying, flying);
    return flying;
}

static void *bytes_of(const Rerun *r, guint row)
{
    const CmdLogRow *cmd = &rerun_row(r->record, row)->cmd;
    uint64_t first = cmd->offset_bytes / SCARP_SECTOR_BYTES;
    uint64_t n = cmd->length_bytes / SCARP_SECTOR_BYTES;
    char *bytes;

    if (cmd->op != SCARP_OP_WRITE || !r->stores) {
        return NULL; /* nobody wants the bytes of a read */
    }
    bytes = g_malloc(cmd->length_bytes);
    for (uint64_t i = 0; i < n; i++) {
        rerun_record_sector(r->record, row, first + i,
                            bytes + i * SCARP_SECTOR_BYTES);
    }
    return bytes;
}

static void submit(Rerun *r, int64_t now_ns)
{
    guint row = r->at++;
    const CmdLogRow *in = &rerun_row(r->record, row)->cmd;
    Flying *flying = new_flying(r);

    flying->row = row;
    flying->cmd = (ScarpCmd) {
        .op = in->op, .fua = in->order & CMDLOG_FUA, .stream = in->stream,
        .nsid = in->nsid, .offset_bytes = in->offset_bytes,
        .length_bytes = in->length_bytes, .data = bytes_of(r, row),
        .deadline_ns = in->deadline_ns ? now_ns + in->deadline_ns
                                       : SCARP_TIME_NEVER,
        .opaque = flying,
    };
    scarp_submit(r->drive, &flying->cmd, now_ns);
    if (r->listener.submitted) {
        r->listener.submitted(r->listener.opaque, &flying->cmd, row);
    }
}

static bool ended(Rerun *r, Flying *flying, GError **error)
{
    const CmdLogRow *row = &rerun_row(r->record, flying->row)->cmd;

    if (r->exact && !cmdlog_ended(r->record->path, &flying->cmd,
                                  row->complete_ns, error)) {
        return false;
    }
    if (r->listener.ended) {
        r->listener.ended(r->listener.opaque, &flying->cmd, flying->row);
    }
    g_clear_pointer(&flying->cmd.data, g_free);
    g_ptr_array_remove_fast(r->flying, flying);
    g_ptr_array_add(r->idle, flying);
    return true;
}

bool rerun_reap(Rerun *r, GError **error)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(r->drive))) {
        if (!ended(r, cmd->opaque, error)) {
            return false;
        }
    }
    return true;
}

/*
 * Returns the time at which the next command comes. SCARP_TIME_NEVER: no
 * command is left, or a completion must come first.
 */
static int64_t due_ns(const Rerun *r)
{
    int64_t submit_ns;

    if (r->at == r->record->rows->len ||
        (!r->exact && r->flying->len >= r->most_in_flight)) {
        return SCARP_TIME_NEVER;
    }
    submit_ns = rerun_row(r->record, r->at)->cmd.submit_ns;
    return r->exact ? submit_ns : MAX(submit_ns, scarp_now_ns(r->drive));
}

/* ---- Changes ------------------------------------------------------------ */

/* Returns the next change; NULL: none is left. */
static const Change *next_change(Rerun *r)
{
    const GArray *changes = r->record->changes;

    for (; changes && r->changed < changes->len; r->changed++) {
        const Change *change = &g_array_index(changes, Change, r->changed);

        if (!r->keeps_scheme || change->kind != CHANGE_SCHEME) {
            return change;
        }
    }
    return NULL;
}

/*
 * True when the change comes next. In a run that no longer follows the record,
 * only the time of the change counts, not the number of commands before it.
 */
static bool is_due(const Rerun *r, const Change *change)
{
    return change_is_due(change, r->exact ? r->at : 0,
                         scarp_next_event_ns(r->drive), due_ns(r));
}

static bool make_change(Rerun *r, const Change *change, GError **error)
{
    r->changed++;
    return (!r->exact || change_fits(change, r->at, r->drive, error)) &&
           change_make(change, r->drive, error) && rerun_reap(r, error);
}

/* ---- Running ------------------------------------------------------------ */

int64_t rerun_next_ns(Rerun *r)
{
    int64_t next_ns = MIN(scarp_next_event_ns(r->drive), due_ns(r));
    const Change *change = next_change(r);

    return change ? MIN(next_ns, MAX(change->time_ns, scarp_now_ns(r->drive)))
                  : next_ns;
}

bool rerun_run(Rerun *r, int64_t now_ns, GError **error)
{
    while (rerun_next_ns(r) <= now_ns) {
        const Change *change = next_change(r);
        int64_t due = due_ns(r);

        if (change && change->time_ns <= now_ns && is_due(r, change)) {
            if (!make_change(r, change, error)) {
                return false;
            }
            continue;
        }
        /* At equal times completions come before submissions. */
        if (scarp_next_event_ns(r->drive) <= due) {
            int64_t until_ns = MIN(due, now_ns);

            scarp_run_until_done(r->drive,
                                 change ? MIN(until_ns, change->time_ns)
                                        : until_ns);
        } else {
            submit(r, due);
        }
        if (!rerun_reap(r, error)) {
            return false;
        }
    }
    scarp_run(r->drive, now_ns);
    return true;
}

void rerun_leave(Rerun *r)
{
    r->at = r->record->rows->len;
    while (r->flying->len) {
        g_ptr_array_add(r->idle, g_ptr_array_steal_index_fast(r->flying, 0));
    }
}

guint rerun_oldest(const Rerun *r)
{
    guint oldest = r->at;

    for (guint i = 0; i < r->flying->len; i++) {
        oldest = MIN(oldest, ((const Flying *)r->flying->pdata[i])->row);
    }
    return oldest;
}
