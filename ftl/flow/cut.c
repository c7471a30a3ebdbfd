/*
 * A power cut: the state in which flash commands under way leave the cells.
 *
 * A program leaves its page torn, or complete although its end was never
 * reported. A random number decides between the two, for each plane of a
 * multi-plane command. An erase leaves a block that is neither erased nor
 * readable. A drive with stored energy (controller.plp_bytes) completes all
 * these commands, and saves the data in the buffer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * A power cut during a program leaves a torn page, but in one case out of
 * DONE_OF, drawn at random, the page is complete.
 */
enum { DONE_OF = 4 };

/*
 * Puts a unit into the cells at ppn, with the data that the program carries.
 * Without data (NULL) the cells read as zeroes.
 */
static void burn_unit(ScarpDrive *drive, uint32_t ppn, const ScarpUnit *unit)
{
    scarp_media_set_lpn(drive, ppn, scarp_unit_lpn(unit));
    scarp_media_set_version(drive, ppn, scarp_unit_seq(unit));
    if (scarp_unit_data(unit)) {
        void *copy = scarp_contents_new(drive);

        memcpy(copy, scarp_unit_data(unit), drive->geo.unit_bytes);
        scarp_contents_put(drive, ppn, copy);
    }
}

static void burn_copy(ScarpDrive *drive, uint32_t ppn, uint32_t from)
{
    scarp_media_set_lpn(drive, ppn, scarp_media_lpn(drive, from));
    scarp_media_copy_version(drive, from, ppn);
    if (scarp_contents_kept(drive)) {
        scarp_contents_copy(drive, from, ppn);
    }
}

static void burn(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    uint32_t ppn = scarp_flash_ppn(cmd), n;

    scarp_media_pages_programmed(drive, ppn, 1);
    if (scarp_flash_owner(cmd) == OWNER_RECOVERY) {
        const uint32_t *from = scarp_recovery_sources(drive, cmd, &n);

        for (uint32_t i = 0; i < n; i++) {
            if (from[i] != SCARP_PAD) {
                burn_copy(drive, ppn + i, from[i]);
            }
        }
        return;
    }
    for (const ScarpUnit *unit = scarp_flash_units(cmd); unit;
         unit = scarp_unit_next(unit), ppn++) {
        if (scarp_flash_is_gc(cmd)) {
            burn_copy(drive, ppn, scarp_gc_copied_from(unit));
        } else {
            burn_unit(drive, ppn, unit);
            if (scarp_flash_owner(cmd) == OWNER_BUFFER) {
                scarp_buffer_burnt(unit);
            }
        }
    }
}

/*
 * Implements lie.shorn_writes, a deliberate fault: programs the first half of
 * each unit, and leaves its old second half.
 */
static bool shear(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    uint32_t ppn = scarp_flash_ppn(cmd), half = drive->geo.unit_bytes / 2;

    if (scarp_flash_owner(cmd) != OWNER_BUFFER || !drive->store_data) {
        return false;
    }
    scarp_media_pages_programmed(drive, ppn, 1);
    for (const ScarpUnit *unit = scarp_flash_units(cmd); unit;
         unit = scarp_unit_next(unit), ppn++) {
        uint32_t old = scarp_map_lookup(drive, scarp_unit_lpn(unit));
        const char *before = old == SCARP_NONE
                                 ? NULL : scarp_contents_get(drive, old);
        char *data = scarp_contents_new(drive);

        memcpy(data, scarp_unit_data(unit), half);
        if (before) {
            memcpy(data + half, before + half, half);
        } else {
            memset(data + half, 0, half);
        }
        scarp_media_set_lpn(drive, ppn, scarp_unit_lpn(unit));
        scarp_media_set_version(drive, ppn, scarp_unit_seq(unit));
        scarp_contents_put(drive, ppn, data);
    }
    return true;
}

static void tear(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    uint32_t ppn = scarp_flash_ppn(cmd);

    if (drive->desc.shorn_writes && shear(drive, cmd)) {
        return;
    }

    if (scarp_flash_kind(cmd) == SCARP_FLASH_ERASE) {
        scarp_media_tear_block(drive, scarp_ppn_block(drive, ppn));
        return;
    }
    scarp_media_tear(drive, ppn, drive->desc.paired_pages == PAIRED_PAD);
}

static void finish(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    if (scarp_flash_kind(cmd) == SCARP_FLASH_ERASE) {
        scarp_media_erase(drive, scarp_ppn_block(drive, scarp_flash_ppn(cmd)));
    } else {
        burn(drive, cmd);
    }
}

static void cut_die(ScarpDrive *drive, uint32_t die, uint64_t *random)
{
    g_autoptr(GPtrArray) working = g_ptr_array_new();
    g_autoptr(GPtrArray) loaded = g_ptr_array_new();

    scarp_nand_cut(drive, die, working, loaded);
    for (guint i = 0; i < working->len; i++) {
        const ScarpFlashCmd *cmd = g_ptr_array_index(working, i);

        if (drive->desc.plp_bytes ||
            (scarp_flash_kind(cmd) != SCARP_FLASH_ERASE &&
             !scarp_random_below(random, DONE_OF))) {
            finish(drive, cmd);
        } else {
            tear(drive, cmd);
        }
    }
    for (guint i = 0; drive->desc.plp_bytes && i < loaded->len; i++) {
        finish(drive, g_ptr_array_index(loaded, i));
    }
}

/* ---- Marks: what a cut meets -------------------------------------------- */

static void count_die(const ScarpDrive *drive, uint32_t die,
                      ScarpUnderWay *what)
{
    g_autoptr(GPtrArray) working = g_ptr_array_new();
    g_autoptr(GPtrArray) loaded = g_ptr_array_new();

    scarp_nand_cut(drive, die, working, loaded);
    what->suspended += scarp_nand_suspended(drive, die) != NULL;
    what->reads += !working->len && !loaded->len &&
                   scarp_nand_runs(drive, die);
    for (guint i = 0; i < working->len; i++) {
        const ScarpFlashCmd *cmd = g_ptr_array_index(working, i);

        if (scarp_flash_kind(cmd) == SCARP_FLASH_ERASE) {
            what->erases++;
        } else if (scarp_flash_origin(cmd) == SCARP_ORIGIN_FOLD) {
            what->programs[SCARP_ORIGIN_GC]++;
        } else {
            what->programs[scarp_flash_origin(cmd)]++;
        }
    }
}

void scarp_under_way(const ScarpDrive *drive, ScarpUnderWay *what)
{
    *what = (ScarpUnderWay) {
        .recovers = scarp_recovery_runs(drive),
        .unrecorded_units = scarp_buffer_unrecorded_units(drive),
        .buffered_units = scarp_buffer_units(drive),
        .flushes = scarp_buffer_flushes(drive),
    };
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        count_die(drive, die, what);
    }
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (scarp_gc_runs(drive, p)) {
            what->collections++;
            what->merges[scarp_map_can(drive, MAP_MERGES)
                             ? scarp_merge_kind(scarp_merge_of(drive, p))
                             : SCARP_MERGE_NONE]++;
        }
    }
}

/* ---- The cut ------------------------------------------------------------ */

void scarp_flow_burn_unpaired(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        for (const ScarpFlashCmd *cmd = scarp_nand_unpaired(drive, p); cmd;
             cmd = scarp_flash_next(cmd)) {
            burn(drive, cmd);
        }
    }
}

void scarp_flow_cut(ScarpDrive *drive)
{
    /*
     * The random numbers are seeded with sequence numbers, not with the time.
     * So a drive that goes on from an image is cut in the same way as the
     * original drive.
     */
    uint64_t random = scarp_random_state(scarp_seed(drive) +
                                         scarp_seq_count(drive));

#ifdef SCARP_CHECKED
    scarp_flow_mark_cut(drive);
#endif
    scarp_flow_burn_unpaired(drive);
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        cut_die(drive, die, &random);
    }
    /*
     * During recovery the buffer is empty, and the data saved at the last power
     * cut is still valid.
     */
    if (drive->desc.plp_bytes && !scarp_recovery_runs(drive)) {
        scarp_buffer_save(drive);
        if (scarp_has_parity(drive)) {
            scarp_parity_save(drive);
        }
    }
}
