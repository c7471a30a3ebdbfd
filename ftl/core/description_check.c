/*
 * Checks that the values of a description can work together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description_check.h"
#include "core/geometry.h"

#include <string.h>

const char *const scarp_paired_names[PAIRED__COUNT] = {
    "none", "pad", "backup", "plp",
};

const char *const scarp_mapping_names[MAPPING__COUNT] = {
    "page", "demand", "block", "superblock", "fast",
};

bool scarp_refuse_key(GError **error, const char *name, uint64_t value,
                      const char *why)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "%s=%" G_GUINT64_FORMAT ": %s", name, value, why);
    return false;
}

bool scarp_check_unused(const ScarpUnusedKey *key, size_t n, const char *why,
                        GError **error)
{
    for (size_t i = 0; i < n; i++) {
        if (key[i].value != key[i].unused) {
            return scarp_refuse_key(error, key[i].name, key[i].value, why);
        }
    }
    return true;
}

static bool check_list(const char *name, const uint64_t *values,
                       const ScarpDescription *d, GError **error)
{
    uint64_t n = values[SCARP_LIST_COUNT];

    if (n == 1 || n == d->cell_bits) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "%s: has %" G_GUINT64_FORMAT " values; one, or nand.cell_bits=%"
                G_GUINT64_FORMAT " are needed", name, n, d->cell_bits);
    return false;
}

/*
 * Checks the keys that go with ftl.parity_width. Parity covers whole pages,
 * each on a die of its own. So a unit must be a page, and ftl.allocation an
 * order such as cwdp.
 */
static bool check_parity(const ScarpDescription *d, GError **error)
{
    if (!d->parity_width) {
        return true;
    }
    if (d->parity_width < 2) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.parity_width=%" G_GUINT64_FORMAT ": must be 0, or "
                    "from 2 to 32", d->parity_width);
        return false;
    }
    if (d->unit_bytes && d->unit_bytes != d->page_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.unit_bytes=%" G_GUINT64_FORMAT ": with "
                    "ftl.parity_width it must be 0, or geometry.page_bytes=%"
                    G_GUINT64_FORMAT, d->unit_bytes, d->page_bytes);
        return false;
    }
    if (d->recovery == RECOVERY_ALL) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.recovery=2: with ftl.parity_width it must be 0 or 1, "
                    "as records of deallocations are in no stripe");
        return false;
    }
    if (!strcmp(d->allocation, "dynamic")) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.allocation=dynamic: with ftl.parity_width it must be "
                    "an order of the letters c, w, d, p");
        return false;
    }
    return true;
}

/*
 * Checks that each key which belongs to some mappings only is 0 with any other
 * ftl.mapping.
 */
static bool check_mapping(const ScarpDescription *d, GError **error)
{
    const struct {
        const char *name;
        uint64_t value;
        uint32_t of; /* bits 1 << ScarpMappingKind: mappings with the key */
    } key[] = {
        { "ftl.map_cache_bytes", d->map_cache_bytes, 1 << MAPPING_DEMAND },
        { "ftl.checkpoint_pages", d->checkpoint_pages, 1 << MAPPING_DEMAND },
        { "ftl.log_blocks", d->log_blocks,
          1 << MAPPING_BLOCK | 1 << MAPPING_SUPERBLOCK | 1 << MAPPING_FAST },
        { "ftl.superblock_blocks", d->superblock_blocks,
          1 << MAPPING_SUPERBLOCK },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(key); i++) {
        if (key[i].value && !(key[i].of >> d->mapping & 1)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "%s=%" G_GUINT64_FORMAT ": with ftl.mapping=%s it "
                        "must be 0", key[i].name, key[i].value,
                        scarp_mapping_names[d->mapping]);
            return false;
        }
    }
    return true;
}

/*
 * Checks the keys of a drive with a mapping by blocks (block, superblock,
 * fast). Such a mapping computes the page of a unit from its LPN, so a unit
 * must be a page, and each plane must serve a fixed part of the LPNs.
 */
static bool check_mapped_blocks(const ScarpDescription *d, GError **error)
{
    uint64_t plane_pages = d->blocks_per_plane * d->pages_per_block;
    uint64_t logical = plane_pages * 1000 /
                       (1000 + d->over_provisioning_permille);
    uint64_t groups = (logical + d->pages_per_block - 1) / d->pages_per_block;
    uint64_t bad = d->blocks_per_plane * d->bad_blocks_permille / 1000;
    /*
     * Blocks of a plane that can be log blocks: all blocks except bad ones, the
     * blocks for the data, the free block that a full merge copies to, and
     * recovery's block.
     */
    uint64_t room = d->blocks_per_plane -
                    MIN(d->blocks_per_plane,
                        bad + groups + 1 + scarp_recovery_blocks(d));
    /* FAST needs a log block for sequential writes, and a shared log block */
    uint64_t least = d->mapping == MAPPING_FAST ? 2 : 1;
    const struct {
        const char *name;
        uint64_t value, allowed[2];
    } key[] = {
        { "ftl.unit_bytes", d->unit_bytes, { 0, d->page_bytes } },
        { "ftl.streams", d->streams, { 1, 1 } },
        { "ftl.parity_width", d->parity_width, { 0, 0 } },
        { "gc.wear_spread_erases", d->wear_spread_erases, { 0, 0 } },
    };

    if (d->mapping == MAPPING_PAGE || d->mapping == MAPPING_DEMAND) {
        return true;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(key); i++) {
        if (key[i].value != key[i].allowed[0] &&
            key[i].value != key[i].allowed[1]) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                        "%s=%" G_GUINT64_FORMAT ": with ftl.mapping=%s it must "
                        "be %" G_GUINT64_FORMAT, key[i].name, key[i].value,
                        scarp_mapping_names[d->mapping], key[i].allowed[0]);
            return false;
        }
    }
    if (!strcmp(d->allocation, "dynamic")) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.allocation=dynamic: with ftl.mapping=%s it must be "
                    "an order of the letters c, w, d, p",
                    scarp_mapping_names[d->mapping]);
        return false;
    }
    /*
     * If the plane has room for fewer than `least` log blocks,
     * check_over_provisioning() refuses the drive with a better message.
     */
    if (d->log_blocks && room >= least &&
        (d->log_blocks < least || d->log_blocks > room)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.log_blocks=%" G_GUINT64_FORMAT ": must be 0, or from "
                    "%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                    ", the spare blocks of a plane but for one",
                    d->log_blocks, least, room);
        return false;
    }
    return true;
}

/*
 * Checks the keys of a drive with ftl.mapping=demand, which writes parts of the
 * mapping to flash: the drive has no parity, and the host's streams leave a
 * stream for these parts.
 */
static bool check_demand(const ScarpDescription *d, GError **error)
{
    if (d->mapping != MAPPING_DEMAND) {
        return true;
    }
    if (d->parity_width) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.parity_width=%" G_GUINT64_FORMAT ": with "
                    "ftl.mapping=demand it must be 0, as translation units "
                    "have no stripe", d->parity_width);
        return false;
    }
    if (d->streams > SCARP_MAP_STREAM) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.streams=%" G_GUINT64_FORMAT ": with "
                    "ftl.mapping=demand at most %d are allowed, as "
                    "translation units have one", d->streams,
                    SCARP_MAP_STREAM);
        return false;
    }
    return true;
}

/*
 * Returns the part of an error message about the blocks that an SLC cache
 * needs; "" without an SLC cache.
 */
static const char *for_slc(const ScarpDescription *d)
{
    return !scarp_has_slc(d) ? ""
           : d->slc_dynamic ? " + 1 + ftl.streams (slc.dynamic=1)"
                            : " + 1 (slc.static_blocks)";
}

/*
 * Checks over-provisioning: GC must always be able to reach the trigger's
 * number of free blocks in each plane, even if the host has filled the drive.
 * Invalid units count only where GC can get at them: a block with fewer than
 * scarp_gain_pages() invalid pages is never collected.
 */
static bool check_over_provisioning(const ScarpDescription *d, GError **error)
{
    uint64_t page_units = d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;
    uint64_t unusable = d->blocks_per_plane *
                        (scarp_gain_pages(d) * page_units - 1) / page_units;
    uint64_t translation = MIN(scarp_translation_blocks(d),
                               d->blocks_per_plane);
    uint64_t apart = MIN(translation + d->slc_static_blocks,
                         d->blocks_per_plane);
    uint64_t data_pages = (d->blocks_per_plane - apart) * d->pages_per_block;
    uint64_t logical = scarp_plane_pages(d) + scarp_uneven_pages(d);
    uint64_t needed = scarp_reserved_blocks(d) + scarp_slc_spare_blocks(d);

    if (needed < d->blocks_per_plane - apart &&
        logical + needed * d->pages_per_block + unusable <= data_pages) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                "ftl.over_provisioning_permille=%" G_GUINT64_FORMAT
                ": leaves %" G_GUINT64_FORMAT " spare blocks of a plane; "
                "gc.trigger_free_blocks + ftl.streams + 2%s%s, and room for "
                "units that share a page, = %" G_GUINT64_FORMAT
                " are needed", d->over_provisioning_permille,
                (data_pages - logical) / d->pages_per_block,
                d->power_cuts ? " + nand.power_cuts" : "", for_slc(d),
                (needed * d->pages_per_block + unusable +
                 d->pages_per_block - 1) / d->pages_per_block);
    return false;
}

/* Checks that each plane has enough blocks without its bad blocks. */
static bool check_bad_blocks(const ScarpDescription *d, GError **error)
{
    uint64_t good = d->blocks_per_plane - scarp_bad_blocks(d);
    uint64_t needed = scarp_needed_blocks(d);

    if (needed <= good) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                "nand.bad_blocks_permille=%" G_GUINT64_FORMAT ": leaves %"
                G_GUINT64_FORMAT " good blocks of a plane; %" G_GUINT64_FORMAT
                " are needed, for the data that ftl.over_provisioning_permille="
                "%" G_GUINT64_FORMAT " promises, gc.trigger_free_blocks + "
                "ftl.streams + 2%s%s, and units that share a page",
                d->bad_blocks_permille, good, needed,
                d->over_provisioning_permille,
                d->power_cuts ? " + nand.power_cuts" : "", for_slc(d));
    return false;
}

/* Checks that keys for power cuts are 0 where the power cannot fail. */
static bool check_unused(const ScarpDescription *d, GError **error)
{
    if (d->plp_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "controller.plp_bytes=%" G_GUINT64_FORMAT ": with "
                    "nand.power_cuts=0 it must be 0", d->plp_bytes);
        return false;
    }
    if (d->checkpoint_pages) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.checkpoint_pages=%" G_GUINT64_FORMAT ": with "
                    "nand.power_cuts=0 it must be 0", d->checkpoint_pages);
        return false;
    }
    if (d->paired_pages) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.paired_pages=%s: with nand.power_cuts=0 it must be "
                    "none", scarp_paired_names[d->paired_pages]);
        return false;
    }
    return true;
}

/*
 * Refuses a key of [lie], a deliberate fault, on a drive where the fault could
 * do no harm. A test of the fault would then test nothing.
 */
static bool check_lies(const ScarpDescription *d, GError **error)
{
    const struct {
        const char *name, *needs;
        uint64_t value;
        bool met, plp; /* plp: stored energy would make the lie harmless */
    } lie[] = {
        { "flush_ignored", "controller.buffer_bytes", d->flush_ignored,
          d->buffer_bytes && !d->plp_bytes, true },
        { "fua_ignored", "controller.buffer_bytes", d->fua_ignored,
          d->buffer_bytes && !d->plp_bytes, true },
        { "flush_queued_only", "controller.buffer_bytes",
          d->flush_queued_only, d->buffer_bytes && !d->plp_bytes, true },
        { "shorn_writes", "programs that are cut short", d->shorn_writes,
          !d->plp_bytes, true },
        { "unserialised", "nothing else", d->unserialised, true,
          false },
        { "deallocation_undone", "ftl.recovery=2", d->deallocation_undone,
          d->recovery == RECOVERY_ALL, false },
        { "no_checkpoint", "ftl.checkpoint_pages", d->no_checkpoint,
          d->checkpoint_pages, false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(lie); i++) {
        if (lie[i].value && (!d->power_cuts || !lie[i].met)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "lie.%s=1: needs nand.power_cuts=1, and %s%s",
                        lie[i].name, lie[i].needs,
                        lie[i].plp ? ", without controller.plp_bytes" : "");
            return false;
        }
    }
    return true;
}

/* Returns why the drive cannot have ftl.paired_pages=pad. NULL: it can. */
static const char *against_padding(const ScarpDescription *d)
{
    if (d->plp_bytes) {
        return "with controller.plp_bytes it must be plp, as no program is cut "
               "short";
    }
    if (d->mapping != MAPPING_PAGE && d->mapping != MAPPING_DEMAND) {
        return "with this ftl.mapping it must be backup or plp, as each page "
               "of a block has its place";
    }
    if (d->checkpoint_pages) {
        return "with ftl.checkpoint_pages it must be backup or plp, as a "
               "translation unit has to stay once it is written";
    }
    if (d->pages_per_block % d->cell_bits) {
        return "needs geometry.pages_per_block to be a multiple of "
               "nand.cell_bits";
    }
    return d->separate_active_block
               ? NULL : "needs gc.separate_active_block=1, as copies and what "
                        "the host writes must not share cells";
}

/*
 * Checks that a drive with several pages in a cell says how an earlier page
 * survives when a later program of its cells is cut short.
 */
static bool check_paired(const ScarpDescription *d, GError **error)
{
    const char *name = scarp_paired_names[d->paired_pages];
    const char *why = NULL;

    if (d->cell_bits == 1 && d->paired_pages) {
        why = "with nand.cell_bits=1 it must be none";
    } else if (d->cell_bits > 1 && !d->paired_pages) {
        why = "with nand.power_cuts and nand.cell_bits above 1 it must be pad, "
              "backup or plp: a program that is cut short takes the earlier "
              "pages of its cells with it";
    } else if (d->paired_pages == PAIRED_PLP && !d->plp_bytes) {
        why = "needs controller.plp_bytes";
    } else if (d->paired_pages == PAIRED_PAD) {
        why = against_padding(d);
    }
    if (why) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.paired_pages=%s: %s", name, why);
    }
    return !why;
}

/*
 * Checks ftl.checkpoint_pages: a checkpoint (the mapping, written to flash)
 * must be complete before the next one is due.
 */
static bool check_checkpoint(const ScarpDescription *d, GError **error)
{
    ScarpGeometry geo = scarp_geometry(d);
    uint64_t units = geo.mapped_units - geo.first_translation_unit;
    uint64_t least = (units + geo.units_per_page - 1) / geo.units_per_page;

    if (!d->checkpoint_pages) {
        return true;
    }
    if (d->recovery == RECOVERY_ALL) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.checkpoint_pages=%" G_GUINT64_FORMAT ": with "
                    "ftl.recovery=2 it must be 0, as records of deallocations "
                    "are found by reading all spare areas",
                    d->checkpoint_pages);
        return false;
    }
    if (d->checkpoint_pages < least) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.checkpoint_pages=%" G_GUINT64_FORMAT ": must be 0, "
                    "or at least %" G_GUINT64_FORMAT ", the pages of the "
                    "mapping: less leaves no room for anything else",
                    d->checkpoint_pages, least);
        return false;
    }
    return true;
}

/*
 * Checks that a drive whose power may fail can recover: units must have
 * versions on flash, and what only RAM contains needs stored energy.
 */
static bool check_power(const ScarpDescription *d, GError **error)
{
    if (!d->power_cuts) {
        return check_unused(d, error);
    }
    if (!d->recovery) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.recovery=0: with nand.power_cuts it must be 1 or 2, "
                    "as the flash itself has to say what is newest");
        return false;
    }
    if (d->plp_bytes && d->plp_bytes < d->buffer_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "controller.plp_bytes=%" G_GUINT64_FORMAT ": must be 0, or "
                    "at least controller.buffer_bytes=%" G_GUINT64_FORMAT
                    ", as all of the buffer is told to be safe", d->plp_bytes,
                    d->buffer_bytes);
        return false;
    }
    if (d->plp_bytes && !d->buffer_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "controller.plp_bytes=%" G_GUINT64_FORMAT ": with "
                    "controller.buffer_bytes=0 it must be 0, as there is no "
                    "buffer to save", d->plp_bytes);
        return false;
    }
    if (d->parity_width && !d->plp_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "controller.plp_bytes=0: with nand.power_cuts and "
                    "ftl.parity_width it must not be 0, as parities that are "
                    "not on flash yet are in RAM that capacitors keep");
        return false;
    }
    return check_paired(d, error) && check_checkpoint(d, error);
}

bool scarp_description_check(const ScarpDescription *d, GError **error)
{
    uint64_t planes = d->channels * d->chips_per_channel * d->dies_per_chip *
                      d->planes_per_die;
    uint64_t plane_pages = d->blocks_per_plane * d->pages_per_block;
    uint64_t least_buffer = 2 * d->page_bytes;
    uint64_t units = d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;

    if (d->page_bytes & (d->page_bytes - 1)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "geometry.page_bytes=%" G_GUINT64_FORMAT
                    ": must be a power of two from 512 to 32768",
                    d->page_bytes);
        return false;
    }
    if (d->unit_bytes & (d->unit_bytes - 1) || d->unit_bytes > d->page_bytes ||
        (d->unit_bytes && (d->unit_bytes < 512 ||
                           d->page_bytes / d->unit_bytes > SCARP_MAX_UNITS))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.unit_bytes=%" G_GUINT64_FORMAT ": must be a power of "
                    "two from 512 to geometry.page_bytes, at most %d in a page",
                    d->unit_bytes, SCARP_MAX_UNITS);
        return false;
    }
    if (!check_list("timing.read_ns", d->read_ns, d, error) ||
        !check_list("timing.program_ns", d->program_ns, d, error) ||
        !check_parity(d, error) || !check_mapping(d, error) ||
        !check_demand(d, error)) {
        return false;
    }
    if (!check_mapped_blocks(d, error)) {
        return false;
    }
    if (d->buffer_bytes && d->buffer_bytes < least_buffer) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "controller.buffer_bytes=%" G_GUINT64_FORMAT ": must be 0, "
                    "or at least %" G_GUINT64_FORMAT ", two pages",
                    d->buffer_bytes, least_buffer);
        return false;
    }
    if (d->background_free_blocks &&
        d->background_free_blocks <= d->trigger_free_blocks) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "gc.background_free_blocks=%" G_GUINT64_FORMAT ": must be "
                    "0, or more than gc.trigger_free_blocks=%" G_GUINT64_FORMAT,
                    d->background_free_blocks, d->trigger_free_blocks);
        return false;
    }
    if (planes > 65536) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "geometry.channels x chips_per_channel x dies_per_chip x "
                    "planes_per_die = %" G_GUINT64_FORMAT
                    ": at most 65536 planes are allowed", planes);
        return false;
    }
    if (planes * plane_pages * units >= UINT32_MAX) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "geometry.blocks_per_plane: %" G_GUINT64_FORMAT
                    " mapping units in all do not fit a 4-byte entry; at most "
                    "4294967294 are allowed", planes * plane_pages * units);
        return false;
    }
    return check_power(d, error) && check_lies(d, error) &&
           scarp_description_check_slc(d, error) &&
           scarp_description_check_heat(d, error) &&
           scarp_description_check_ru(d, error) &&
           check_over_provisioning(d, error) && check_bad_blocks(d, error);
}
