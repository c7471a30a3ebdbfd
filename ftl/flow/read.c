/*
 * Host reads: of units in the buffer, of units on flash, and of unmapped units.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * Copies `data`, the contents of unit `lpn`, to the part of cmd's memory that
 * is for this unit. Without data (NULL) it copies zeroes.
 */
static void copy_out(const ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                     const void *data)
{
    uint64_t start = (uint64_t)lpn * drive->geo.unit_bytes;
    uint64_t from = MAX(start, cmd->offset_bytes);
    uint64_t to = MIN(start + drive->geo.unit_bytes,
                      cmd->offset_bytes + cmd->length_bytes);
    char *out = cmd->data;

    if (!out) {
        return;
    }
    if (data) {
        memcpy(out + (from - cmd->offset_bytes),
               (const char *)data + (from - start), to - from);
    } else {
        memset(out + (from - cmd->offset_bytes), 0, to - from);
    }
}

static uint32_t bytes_in_unit(const ScarpDrive *drive, const ScarpCmd *cmd,
                              uint32_t lpn)
{
    uint64_t start = (uint64_t)lpn * drive->geo.unit_bytes;

    return MIN(start + drive->geo.unit_bytes,
               cmd->offset_bytes + cmd->length_bytes) -
           MAX(start, cmd->offset_bytes);
}

/* ---- Splitting ---------------------------------------------------------- */

/*
 * True when the unit lies directly behind the units of `read`, in the same
 * page.
 */
static bool extends(const ScarpDrive *drive, const ScarpFlashCmd *read,
                    uint32_t lpn, uint32_t ppn)
{
    return read && ppn == scarp_flash_ppn(read) + scarp_flash_n_units(read) &&
           ppn & (drive->geo.units_per_page - 1) &&
           lpn == scarp_flash_lpn(read) + scarp_flash_n_units(read);
}

/*
 * Lets the read of unit lpn wait until its mapping entry has been read from
 * flash. mapped.c then continues the read.
 */
static void wait_for_entry(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn)
{
    ScarpFlashCmd *part = scarp_flash_new(drive, SCARP_FLASH_READ, OWNER_READ,
                                          SCARP_ORIGIN_HOST);

    scarp_flash_set_subject(part, cmd);
    scarp_flash_set_lpn(part, lpn, 1);
    scarp_flash_set_target(part, 0, 0, bytes_in_unit(drive, cmd, lpn));
    scarp_account_begin(scarp_flash_account(part), scarp_time_ns(drive));
    cmd->units_left++;
    scarp_map_wait_read(drive, part);
}

void scarp_flow_read(ScarpDrive *drive, ScarpCmd *cmd)
{
    uint32_t first = scarp_bytes_lpn(drive, cmd->offset_bytes);
    uint32_t last = scarp_bytes_lpn(drive, cmd->offset_bytes +
                                               cmd->length_bytes - 1);
    ScarpFlashCmd *read = NULL;

    for (uint32_t lpn = first; cmd->length_bytes && lpn <= last; lpn++) {
        const ScarpUnit *unit = scarp_pack_find(drive, lpn);
        uint32_t ppn = scarp_flow_lookup(drive, lpn);

        if (unit && !scarp_unit_is_partial(unit)) {
            drive->stats.buffer_read_units++;
            copy_out(drive, cmd, lpn, scarp_unit_data(unit));
        } else if (!scarp_map_known(drive, lpn)) {
            wait_for_entry(drive, cmd, lpn);
        } else if (ppn == SCARP_NONE) {
            drive->stats.unmapped_read_units++;
            copy_out(drive, cmd, lpn, NULL);
        } else if (extends(drive, read, lpn, ppn)) {
            scarp_flash_extend(read, bytes_in_unit(drive, cmd, lpn));
        } else {
            if (read) {
                scarp_parity_read(drive, read);
            }
            read = scarp_flash_new(drive, SCARP_FLASH_READ, OWNER_READ,
                                   SCARP_ORIGIN_HOST);
            scarp_flash_set_subject(read, cmd);
            scarp_flash_set_lpn(read, lpn, 1);
            scarp_flash_set_target(read, scarp_ppn_plane(drive, ppn), ppn,
                                   bytes_in_unit(drive, cmd, lpn));
            cmd->units_left++;
        }
    }
    if (read) {
        scarp_parity_read(drive, read);
    }
}

/* ---- Starting and ending ------------------------------------------------ */

/*
 * Copies a unit's data when the read begins, because GC and newer writes may
 * move the unit before its data has crossed the channel.
 */
static void sense(ScarpDrive *drive, ScarpFlashCmd *read, uint32_t lpn,
                  const void *data)
{
    if (scarp_flash_owner(read) == OWNER_READ) {
        copy_out(drive, scarp_flash_subject(read), lpn, data);
    } else if (data && scarp_flash_owner(read) != OWNER_MAP) {
        void *copy = scarp_contents_new(drive);

        memcpy(copy, data, drive->geo.unit_bytes);
        scarp_flash_set_data(read, copy);
    }
}

static void end_for_cmd(ScarpDrive *drive, ScarpFlashCmd *read)
{
    ScarpCmd *cmd = scarp_flash_subject(read);

    /* the part that ends last explains the command's latency */
    if (cmd->units_left == 1) {
        scarp_cause_read(drive, cmd, scarp_flash_account(read));
    }
    scarp_flash_free(drive, read);
    scarp_flow_put(drive, cmd);
}

static void end_for_rmw(ScarpDrive *drive, ScarpFlashCmd *read)
{
    void *base = scarp_flash_data(read);

    scarp_flow_fill(drive, scarp_flash_subject(read), base);
    scarp_contents_release(drive, base);
    scarp_flash_free(drive, read);
    scarp_flow_admit(drive);
}

/* Ends a read for its owner. The read's data is in its place already. */
static void end(ScarpDrive *drive, ScarpFlashCmd *read)
{
    switch (scarp_flash_owner(read)) {
    case OWNER_READ:
        end_for_cmd(drive, read);
        break;
    case OWNER_RMW:
        end_for_rmw(drive, read);
        break;
    case OWNER_MAP:
        scarp_map_read_ended(drive, read);
        break;
    default:
        if (scarp_parity_read_ended(drive, read)) {
            scarp_flow_admit(drive);
        }
        scarp_flow_take_served(drive);
        break;
    }
}

/*
 * Ends a read that needs no die. `data` is the contents of the unit; NULL
 * stands for zeroes.
 */
static void serve(ScarpDrive *drive, ScarpFlashCmd *read, const void *data)
{
    sense(drive, read, scarp_flash_lpn(read), data);
    end(drive, read);
}

void scarp_flow_read_ended(ScarpDrive *drive, ScarpFlashCmd *read)
{
    if (scarp_flash_owner(read) == OWNER_MAP) {
        drive->stats.map_page_reads++;
    } else if (scarp_flash_owner(read) != OWNER_STRIPE) {
        drive->stats.host_page_reads++;
    } else if (scarp_parity_parent(read)) {
        drive->stats.reconstruction_page_reads++;
    } else {
        drive->stats.parity_page_reads++;
    }
    /*
     * The block has not been erased since the read began, as an erase would
     * have waited for the die.
     */
    for (uint32_t i = 0; i < scarp_flash_n_units(read); i++) {
        scarp_media_check_lpn(drive, scarp_flash_ppn(read) + i,
                              scarp_flash_lpn(read) + i);
    }
    end(drive, read);
}

/* ---- Retries ------------------------------------------------------------ */

/*
 * Looks up the unit of a read again, because its page changed while the read
 * waited.
 */
static void again(ScarpDrive *drive, ScarpFlashCmd *read)
{
    uint32_t lpn = scarp_flash_lpn(read);
    const ScarpUnit *unit = scarp_flash_owner(read) == OWNER_READ
                                ? scarp_pack_find(drive, lpn) : NULL;
    uint32_t ppn = scarp_flow_lookup(drive, lpn);

    scarp_mark_if(drive, read_in_buffer, unit && !scarp_unit_is_partial(unit));
    scarp_mark_if(drive, read_moved, ppn != SCARP_NONE && !unit &&
                  scarp_flash_owner(read) == OWNER_READ);
    scarp_mark_if(drive, read_deallocated, ppn == SCARP_NONE && !unit &&
                  scarp_flash_owner(read) == OWNER_READ);
    scarp_mark_if(drive, rest_moved, ppn != SCARP_NONE &&
                  scarp_flash_owner(read) == OWNER_RMW);
    scarp_mark_if(drive, rest_deallocated, ppn == SCARP_NONE &&
                  scarp_flash_owner(read) == OWNER_RMW);
    scarp_mark_if(drive, translation_unit_moved,
                  scarp_flash_owner(read) == OWNER_MAP);
    scarp_mark_if(drive, stripe_page_moved,
                  scarp_flash_owner(read) == OWNER_STRIPE);
    if (unit && !scarp_unit_is_partial(unit)) {
        drive->stats.buffer_read_units++;
        serve(drive, read, scarp_unit_data(unit));
    } else if (ppn != SCARP_NONE) {
        scarp_flash_set_target(read, scarp_ppn_plane(drive, ppn), ppn,
                               scarp_flash_bytes(read));
        scarp_nand_enqueue_moved(drive, read);
    } else {
        drive->stats.unmapped_read_units +=
            scarp_flash_owner(read) != OWNER_STRIPE;
        serve(drive, read, NULL);
    }
}

void scarp_flow_read_mapped(ScarpDrive *drive, ScarpFlashCmd *part,
                            ScarpFlashCmd **open)
{
    uint32_t lpn = scarp_flash_lpn(part), ppn = scarp_flow_lookup(drive, lpn);
    const ScarpUnit *unit = scarp_pack_find(drive, lpn);
    ScarpCmd *cmd = scarp_flash_subject(part);

    scarp_account_own(scarp_flash_account(part), OWN_MAPPING,
                      scarp_time_ns(drive));
    if ((unit && !scarp_unit_is_partial(unit)) || ppn == SCARP_NONE) {
        scarp_mark_if(drive, mapped_read_in_buffer, unit);
        again(drive, part);
        return;
    }
    if (*open && scarp_flash_subject(*open) == cmd &&
        extends(drive, *open, lpn, ppn)) {
        scarp_mark(drive, mapped_reads_joined);
        scarp_flash_extend(*open, scarp_flash_bytes(part));
        scarp_flash_free(drive, part);
        cmd->units_left--;
        return;
    }
    if (*open) {
        scarp_nand_enqueue(drive, *open);
    }
    scarp_flash_set_target(part, scarp_ppn_plane(drive, ppn), ppn,
                           scarp_flash_bytes(part));
    *open = part;
}

/* Reduces a read of several units to its unit `lpn`. */
static void narrow(const ScarpDrive *drive, ScarpFlashCmd *read, uint32_t lpn)
{
    scarp_flash_set_lpn(read, lpn, 1);
    if (scarp_flash_owner(read) == OWNER_READ) {
        scarp_flash_set_target(
            read, scarp_flash_plane(read), scarp_flash_ppn(read),
            bytes_in_unit(drive, scarp_flash_subject(read), lpn));
    }
}

static void split_again(ScarpDrive *drive, ScarpFlashCmd *read)
{
    uint32_t first = scarp_flash_lpn(read), n = scarp_flash_n_units(read);

    scarp_mark_if(drive, read_split_again, n > 1);
    for (uint32_t i = 0; i + 1 < n; i++) {
        ScarpFlashCmd *part = scarp_flash_copy(drive, read);
        ScarpCmd *cmd = scarp_flash_subject(read);

        narrow(drive, part, first + i);
        cmd->units_left++;
        again(drive, part);
    }
    narrow(drive, read, first + n - 1);
    again(drive, read);
}

bool scarp_flow_read_start(ScarpDrive *drive, ScarpFlashCmd *read)
{
    uint32_t lpn = scarp_flash_lpn(read), ppn = scarp_flash_ppn(read);
    uint32_t n = scarp_flash_n_units(read);

    for (uint32_t i = 0; i < n; i++) {
        if (scarp_map_lookup(drive, lpn + i) != ppn + i) {
            split_again(drive, read);
            return false;
        }
    }
    /*
     * scarp_flow_read_ended() compares these LPNs. Without the prefetch it
     * would have to wait for memory.
     */
    __builtin_prefetch(scarp_media_lpns(drive, ppn));
    for (uint32_t i = 0; i < n; i++) {
        sense(drive, read, lpn + i,
              scarp_contents_kept(drive) ? scarp_contents_get(drive, ppn + i)
                                         : NULL);
    }
    return true;
}

/* ---- By parity ---------------------------------------------------------- */

static void end_served(ScarpDrive *drive, ScarpFlashCmd *read)
{
    void *data = scarp_flash_data(read);

    if (scarp_flash_owner(read) == OWNER_READ) {
        scarp_flash_set_data(read, NULL);
        copy_out(drive, scarp_flash_subject(read), scarp_flash_lpn(read), data);
        scarp_contents_release(drive, data);
    }
    end(drive, read);
}

void scarp_flow_take_served(ScarpDrive *drive)
{
    ScarpFlashCmd *read;

    if (!scarp_has_parity(drive)) {
        return;
    }
    while ((read = scarp_parity_next_served(drive))) {
        end_served(drive, read);
    }
    while ((read = scarp_parity_next_spoiled(drive))) {
        again(drive, read);
    }
}
