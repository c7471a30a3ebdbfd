/*
 * Repeats a recorded run on its drive. Each command must end at its recorded
 * time; only then does a power cut meet what it would have met in the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/rerun.h"
#include "drive.h"

#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

typedef struct {
    ScarpCmd cmd;
    guint row;
} Flying;

static bool is_zero(const char *bytes, size_t n)
{
    return !bytes[0] && !memcmp(bytes, bytes + 1, n - 1);
}

/*
 * Saves the contents before the run, if there are any. Most drives were aged
 * without contents.
 */
static void keep_before(CutsDrive *d)
{
    g_autofree char *chunk = g_malloc(CHUNK_BYTES);
    uint64_t bytes = d->sectors * SCARP_SECTOR_BYTES;

    for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        uint64_t n = MIN(CHUNK_BYTES, bytes - at);

        scarp_peek(d->drive, at, n, chunk);
        if (!is_zero(chunk, n)) {
            d->before = g_malloc(bytes);
            scarp_peek(d->drive, 0, bytes, d->before);
            return;
        }
    }
}

void cuts_drive_before(const CutsDrive *d, uint64_t sector, void *out)
{
    if (d->before) {
        memcpy(out, d->before + sector * SCARP_SECTOR_BYTES,
               SCARP_SECTOR_BYTES);
    } else {
        memset(out, 0, SCARP_SECTOR_BYTES);
    }
}

static void begin_contract(CutsDrive *d)
{
    g_autofree uint32_t *found = g_new0(uint32_t, d->sectors);
    ScarpTerms terms = {
        .sectors = d->sectors,
        .unit_sectors = scarp_drive_unit_bytes(d->drive) / SCARP_SECTOR_BYTES,
        .is_volatile = d->is_volatile,
        .deallocates = d->drive->desc.recovery == RECOVERY_ALL,
    };

    keep_before(d);
    for (uint64_t i = 0; d->before && i < d->sectors; i++) {
        found[i] = is_zero(d->before + i * SCARP_SECTOR_BYTES,
                           SCARP_SECTOR_BYTES) ? 0 : cuts_id_before(d);
    }
    d->contract = scarp_contract_new(&terms);
    scarp_contract_begin(d->contract, found);
    d->last = g_new0(uint32_t, d->sectors);
}

bool cuts_drive_begin(CutsDrive *d, const CutsRecord *record,
                      const ScarpConfig *config, bool judged, GError **error)
{
    *d = (CutsDrive) { .record = record };
    d->drive = scarp_drive_new(config, error);
    if (!d->drive) {
        return false;
    }
    d->sectors = scarp_drive_logical_bytes(d->drive) / SCARP_SECTOR_BYTES;
    d->is_volatile = d->drive->desc.buffer_bytes && !d->drive->desc.plp_bytes;
    d->flying = g_ptr_array_new();
    d->idle = g_ptr_array_new();
    if (!d->drive->desc.power_cuts) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "nand.power_cuts=0: must be 1, in a drive whose power "
                    "fails");
        cuts_drive_end(d);
        return false;
    }
    if (!cuts_record_fits(record, d->drive, error)) {
        cuts_drive_end(d);
        return false;
    }
    if (judged) {
        begin_contract(d);
    }
    return true;
}

static void free_flying(gpointer flying, gpointer unused G_GNUC_UNUSED)
{
    g_free(((Flying *)flying)->cmd.data);
    g_free(flying);
}

void cuts_drive_end(CutsDrive *d)
{
    scarp_drive_free(d->drive);
    g_ptr_array_foreach(d->flying, free_flying, NULL);
    g_ptr_array_foreach(d->idle, free_flying, NULL);
    g_ptr_array_unref(d->flying);
    g_ptr_array_unref(d->idle);
    scarp_contract_free(d->contract);
    g_free(d->last);
    g_free(d->before);
    *d = (CutsDrive) { 0 };
}

/* ---- Commands ----------------------------------------------------------- */

static Flying *new_flying(CutsDrive *d)
{
    Flying *flying = d->idle->len
        ? g_ptr_array_steal_index_fast(d->idle, d->idle->len - 1)
        : g_new0(Flying, 1);

    g_ptr_array_add(d->flying, flying);
    return flying;
}

static void *bytes_of(const CutsRecord *record, guint row)
{
    const CmdLogRow *cmd = &cuts_row(record, row)->cmd;
    uint64_t first = cmd->offset_bytes / SCARP_SECTOR_BYTES;
    uint64_t n = cmd->length_bytes / SCARP_SECTOR_BYTES;
    char *bytes;

    if (cmd->op != SCARP_OP_WRITE) {
        return NULL; /* nobody wants the bytes of a read */
    }
    bytes = g_malloc(cmd->length_bytes);
    for (uint64_t i = 0; i < n; i++) {
        cuts_record_sector(record, row, first + i,
                           bytes + i * SCARP_SECTOR_BYTES);
    }
    return bytes;
}

static void submit(CutsDrive *d)
{
    guint row = d->at++;
    const CmdLogRow *in = &cuts_row(d->record, row)->cmd;
    Flying *flying = new_flying(d);

    flying->row = row;
    flying->cmd = (ScarpCmd) {
        .op = in->op, .fua = in->order & CMDLOG_FUA, .stream = in->stream,
        .nsid = in->nsid, .offset_bytes = in->offset_bytes,
        .length_bytes = in->length_bytes, .data = bytes_of(d->record, row),
        .deadline_ns = in->deadline_ns ? in->submit_ns + in->deadline_ns
                                       : SCARP_TIME_NEVER,
        .opaque = flying,
    };
    scarp_submit(d->drive, &flying->cmd, in->submit_ns);
    if (d->contract) {
        scarp_contract_submit(d->contract, &flying->cmd, cuts_id(row));
    }
}

/* Notes which write each sector must show, as its completion has promised. */
static void note_last(CutsDrive *d, const ScarpCmd *cmd, uint32_t id)
{
    uint64_t first = cmd->offset_bytes / SCARP_SECTOR_BYTES;
    uint64_t n = cmd->length_bytes / SCARP_SECTOR_BYTES;

    if (cmd->op == SCARP_OP_WRITE || cmd->op == SCARP_OP_WRITE_ZEROES) {
        for (uint64_t i = first; i < first + n; i++) {
            d->last[i] = id;
        }
    } else if (cmd->op == SCARP_OP_DEALLOCATE) {
        memset(d->last + first, 0, n * sizeof(uint32_t));
    }
}

static bool ended(CutsDrive *d, Flying *flying, GError **error)
{
    const CmdLogRow *row = &cuts_row(d->record, flying->row)->cmd;
    static const char *const names[SCARP_OP__COUNT] = {
        "read", "write", "write zeroes", "deallocation", "flush",
    };

    if (flying->cmd.complete_ns != row->complete_ns) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: a %s that was submitted at %" G_GINT64_FORMAT
                    " ns ends at %" G_GINT64_FORMAT " ns, in the log at %"
                    G_GINT64_FORMAT " ns: the run was of another drive, image, "
                    "scheme or seed", d->record->path, names[row->op],
                    row->submit_ns, flying->cmd.complete_ns, row->complete_ns);
        return false;
    }
    if (d->contract) {
        scarp_contract_complete(d->contract, cuts_id(flying->row),
                                flying->cmd.complete_ns);
        note_last(d, &flying->cmd, cuts_id(flying->row));
    }
    g_free(flying->cmd.data);
    flying->cmd.data = NULL;
    g_ptr_array_remove_fast(d->flying, flying);
    g_ptr_array_add(d->idle, flying);
    return true;
}

static bool reap(CutsDrive *d, GError **error)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(d->drive))) {
        if (!ended(d, cmd->opaque, error)) {
            return false;
        }
    }
    return true;
}

static int64_t due_ns(const CutsDrive *d)
{
    return d->at < d->record->rows->len
               ? cuts_row(d->record, d->at)->cmd.submit_ns : SCARP_TIME_NEVER;
}

int64_t cuts_drive_next_ns(const CutsDrive *d)
{
    return MIN(scarp_next_event_ns(d->drive), due_ns(d));
}

bool cuts_drive_run(CutsDrive *d, int64_t now_ns, GError **error)
{
    while (cuts_drive_next_ns(d) <= now_ns) {
        /* at one time completions come before submissions */
        if (scarp_next_event_ns(d->drive) <= due_ns(d)) {
            scarp_run_until_done(d->drive, MIN(due_ns(d), now_ns));
        } else {
            submit(d);
        }
        if (!reap(d, error)) {
            return false;
        }
    }
    scarp_run(d->drive, now_ns);
    return true;
}

void cuts_drive_leave(CutsDrive *d)
{
    if (d->left) {
        return;
    }
    d->left = true;
    d->left_ns = scarp_now_ns(d->drive);
    d->left_from = d->left_to = d->at;
    for (guint i = 0; i < d->flying->len; i++) {
        Flying *flying = d->flying->pdata[i];

        d->left_from = MIN(d->left_from, flying->row);
    }
    d->at = d->record->rows->len;
    /* the drive has forgotten its commands at the power cut */
    while (d->flying->len) {
        g_ptr_array_add(d->idle, g_ptr_array_steal_index_fast(d->flying, 0));
    }
}
