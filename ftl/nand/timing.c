/*
 * Array times of each page of a block, and of commands of several planes.
 *
 * Page i has type i % cell_bits (LSB first) and lies in layer i × layers /
 * pages_per_block. The factor of a layer goes linearly from
 * layer_fastest_permille to layer_slowest_permille (pregc §2, figure 2). The
 * pages of a block in SLC mode are all alike.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "heat/ops.h"
#include "media/ops.h"
#include "nand/internal.h"

static int64_t of_page(const ScarpDescription *d, const uint64_t *values,
                       uint64_t page)
{
    uint64_t type = page % d->cell_bits;
    uint64_t ns = values[values[SCARP_LIST_COUNT] > 1 ? type : 0];
    uint64_t layer = page * d->layers / d->pages_per_block;
    int64_t span = (int64_t)d->layer_slowest_permille -
                   (int64_t)d->layer_fastest_permille;
    int64_t factor = d->layer_fastest_permille;

    if (d->layers > 1) {
        factor += span * (int64_t)layer / (int64_t)(d->layers - 1);
    }
    return (int64_t)ns * factor / 1000;
}

/*
 * Returns the time that ftl.paired_pages=backup adds to the program of a page.
 * If its cells have a programmed page already, a copy of that data is first
 * programmed as the first page of other cells. The blocks of such copies have
 * to be erased, too, so each copy takes its share of an erase.
 */
static int64_t backup_ns(const ScarpDescription *d, uint64_t page,
                         int64_t transfer_ns)
{
    if (d->paired_pages != PAIRED_BACKUP || page % d->cell_bits == 0) {
        return 0;
    }
    return transfer_ns + (int64_t)d->program_ns[0] +
           (int64_t)(d->erase_ns / d->pages_per_block);
}

bool scarp_timing_init(ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->desc;
    ScarpNand *nand = &drive->nand;
    uint64_t pages = d->pages_per_block;

    nand->page_transfer_ns = (d->page_bytes * 1000 + d->channel_mts - 1) /
                             d->channel_mts;
    nand->read_ns_of = g_new(int64_t, pages + drive->geo.slc_pages);
    nand->program_ns_of = g_new(int64_t, pages + drive->geo.slc_pages);
    for (uint32_t i = 0; i < drive->geo.slc_pages; i++) {
        nand->read_ns_of[pages + i] = d->slc_read_ns;
        nand->program_ns_of[pages + i] = d->slc_program_ns;
    }
    nand->pages_alike = !drive->geo.slc_pages;
    nand->times_vary = drive->geo.slc_pages || scarp_has_heat(drive);
    for (uint64_t i = 0; i < d->pages_per_block; i++) {
        nand->read_ns_of[i] = of_page(d, d->read_ns, i);
        nand->program_ns_of[i] = of_page(d, d->program_ns, i) +
                                 backup_ns(d, i, nand->page_transfer_ns);
        nand->pages_alike &= nand->read_ns_of[i] == nand->read_ns_of[0] &&
                             nand->program_ns_of[i] == nand->program_ns_of[0];
    }
    return true;
}

void scarp_timing_clear(ScarpDrive *drive)
{
    g_free(drive->nand.read_ns_of);
    g_free(drive->nand.program_ns_of);
}

/*
 * Returns the offset of a page whose array times are those of ppn's page. If
 * all pages of a block take equally long, that is always page 0, whose times
 * stay in the processor's cache.
 */
static uint32_t page_in_time(const ScarpDrive *drive, uint32_t ppn)
{
    return drive->nand.pages_alike ? 0 : scarp_ppn_page(drive, ppn);
}

static inline int64_t of_command(const ScarpDrive *drive,
                                 const ScarpFlashCmd *cmd)
{
    const ScarpNand *nand = &drive->nand;

    switch (cmd->kind) {
    case SCARP_FLASH_READ:
        return nand->read_ns_of[page_in_time(drive, cmd->ppn)];
    case SCARP_FLASH_PROGRAM:
        return nand->program_ns_of[page_in_time(drive, cmd->ppn)];
    case SCARP_FLASH_COPYBACK:
        return nand->read_ns_of[page_in_time(drive, cmd->source_ppn)] +
               drive->desc.command_ns +
               nand->program_ns_of[page_in_time(drive, cmd->ppn)];
    default:
        return drive->desc.erase_ns;
    }
}

static bool is_slc(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_media_mode(drive, scarp_ppn_block(drive, ppn)) != MODE_REAL;
}

/* The times of SLC pages follow those of the real mode. */
uint32_t scarp_timing_page(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_ppn_page(drive, ppn) +
           (is_slc(drive, ppn) ? drive->desc.pages_per_block : 0);
}

/*
 * Returns the array time of a command on a drive with an SLC cache.
 * of_command() returns that of other drives.
 */
static int64_t of_mode(const ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    const ScarpNand *nand = &drive->nand;

    switch (cmd->kind) {
    case SCARP_FLASH_READ:
        return nand->read_ns_of[scarp_timing_page(drive, cmd->ppn)];
    case SCARP_FLASH_PROGRAM:
        return nand->program_ns_of[scarp_timing_page(drive, cmd->ppn)];
    case SCARP_FLASH_COPYBACK:
        return nand->read_ns_of[scarp_timing_page(drive, cmd->source_ppn)] +
               drive->desc.command_ns +
               nand->program_ns_of[scarp_timing_page(drive, cmd->ppn)];
    default:
        return is_slc(drive, cmd->ppn) ? drive->desc.slc_erase_ns
                                       : drive->desc.erase_ns;
    }
}

/*
 * Does what scarp_array_ns() does, on a drive with an SLC cache or the group
 * heat. Out of line, so that other drives do not pay for it.
 */
static int64_t __attribute__((noinline)) varying_array_ns(
    ScarpDrive *drive, ScarpFlashCmd *group)
{
    bool modes = drive->geo.slc_pages;
    int64_t longest = 0;

    for (const ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
        longest = MAX(longest,
                      modes ? of_mode(drive, cmd) : of_command(drive, cmd));
    }
    if (scarp_has_heat(drive)) {
        int64_t longer_ns = scarp_heat_throttle(drive, longest);

        longest += longer_ns;
        for (; group; group = group->mate) {
            scarp_account_throttled(&group->account, longer_ns);
            scarp_heat_add(drive, group->kind);
        }
    }
    return longest;
}

/*
 * The planes of a multi-plane command work at the same time, so the slowest
 * page counts.
 */
int64_t scarp_array_ns(ScarpDrive *drive, ScarpFlashCmd *group)
{
    int64_t longest;

    if (drive->nand.times_vary) {
        return varying_array_ns(drive, group);
    }
    longest = of_command(drive, group);
    while ((group = group->mate)) {
        longest = MAX(longest, of_command(drive, group));
    }
    return longest;
}
