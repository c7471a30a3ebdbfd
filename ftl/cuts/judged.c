/*
 * A drive whose power fails. NVMe's contract for power cuts (replay/contract.h)
 * is told of each command of the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/judged.h"
#include "drive.h"

#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

static bool is_zero(const char *bytes, size_t n)
{
    return !bytes[0] && !memcmp(bytes, bytes + 1, n - 1);
}

/*
 * Saves the drive's contents from before the run, if it has any. Most drives
 * were aged without contents.
 */
static void keep_before(CutsDrive *d)
{
    g_autofree char *chunk = g_malloc(CHUNK_BYTES);
    uint64_t bytes = d->sectors * SCARP_SECTOR_BYTES;

    for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        uint64_t n = MIN(CHUNK_BYTES, bytes - at);

        scarp_peek(d->run.drive, at, n, chunk);
        if (!is_zero(chunk, n)) {
            d->before = g_malloc(bytes);
            scarp_peek(d->run.drive, 0, bytes, d->before);
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
        .unit_sectors = scarp_drive_unit_bytes(d->run.drive) /
                        SCARP_SECTOR_BYTES,
        .is_volatile = d->is_volatile,
        .deallocates = d->run.drive->desc.recovery == RECOVERY_ALL,
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

/*
 * Called when cmd has completed: notes in last[], for each sector that cmd
 * wrote, that the sector now has the contents of cmd. A deallocation is noted
 * as 0.
 */
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

static void submitted(void *opaque, const ScarpCmd *cmd, guint row)
{
    scarp_contract_submit(((CutsDrive *)opaque)->contract, cmd, cuts_id(row));
}

static void ended(void *opaque, const ScarpCmd *cmd, guint row)
{
    CutsDrive *d = opaque;

    scarp_contract_complete(d->contract, cuts_id(row), cmd->complete_ns);
    note_last(d, cmd, cuts_id(row));
}

bool cuts_drive_begin(CutsDrive *d, const RerunRecord *record,
                      const ScarpConfig *config, bool judged, GError **error)
{
    const ScarpDescription *desc;

    *d = (CutsDrive) { 0 };
    if (!rerun_begin(&d->run, record, config, error)) {
        return false;
    }
    desc = &d->run.drive->desc;
    d->sectors = scarp_drive_logical_bytes(d->run.drive) / SCARP_SECTOR_BYTES;
    d->is_volatile = desc->buffer_bytes && !desc->plp_bytes;
    if (!desc->power_cuts) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "nand.power_cuts=0: must be 1, in a drive whose power "
                    "fails");
        cuts_drive_end(d);
        return false;
    }
    if (judged) {
        begin_contract(d);
        rerun_listen(&d->run, (RerunListener) { submitted, ended, d });
    }
    return true;
}

void cuts_drive_end(CutsDrive *d)
{
    rerun_end(&d->run);
    scarp_contract_free(d->contract);
    g_free(d->last);
    g_free(d->before);
    *d = (CutsDrive) { 0 };
}

void cuts_drive_leave(CutsDrive *d)
{
    if (d->left) {
        return;
    }
    d->left = true;
    d->left_ns = scarp_now_ns(d->run.drive);
    d->left_from = rerun_oldest(&d->run);
    d->left_to = d->run.at;
    /* The drive forgets its commands when power fails, so the run does, too. */
    rerun_leave(&d->run);
}
