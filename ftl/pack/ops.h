/*
 * The functions of pack (units on their way into a flash page) that other
 * directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PACK_OPS_H
#define SCARP_PACK_OPS_H

#include "nand/ops.h"

bool scarp_pack_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);
void scarp_pack_clear(ScarpDrive *drive);

/* ---- Units -------------------------------------------------------------- */

/*
 * Initialises a ScarpUnit: it gets the LPN, no plane and no data, and is in no
 * list. buffer and gc have larger records that begin with a ScarpUnit; this
 * function leaves their other members as they are.
 */
static inline void scarp_unit_init(ScarpUnit *unit, uint32_t lpn)
{
    *unit = (ScarpUnit) { .lpn = lpn, .plane = SCARP_NONE };
}

static inline uint32_t scarp_unit_lpn(const ScarpUnit *unit)
{
    return unit->lpn;
}

static inline ScarpUnit *scarp_unit_next(const ScarpUnit *unit)
{
    return unit->next;
}

/*
 * Sets the unit that follows this unit in a list of the caller's. Packers and
 * flash commands use the same link for their lists, so the unit must be in no
 * packer and no flash command.
 */
static inline void scarp_unit_set_next(ScarpUnit *unit, ScarpUnit *next)
{
    unit->next = next;
}

/*
 * Appends `unit` to a list. *tail is the address of the NULL pointer that ends
 * the list, and after the call the address of the unit's own link.
 */
static inline void scarp_unit_append(ScarpUnit ***tail, ScarpUnit *unit)
{
    unit->next = NULL;
    **tail = unit;
    *tail = &unit->next;
}

static inline uint32_t scarp_unit_plane(const ScarpUnit *unit)
{
    return unit->plane;
}

static inline void scarp_unit_set_plane(ScarpUnit *unit, uint32_t plane)
{
    unit->plane = plane;
}

static inline uint16_t scarp_unit_stream(const ScarpUnit *unit)
{
    return unit->stream;
}

static inline void scarp_unit_set_stream(ScarpUnit *unit, uint16_t stream)
{
    unit->stream = stream;
}

static inline uint64_t scarp_unit_seq(const ScarpUnit *unit)
{
    return unit->seq;
}

static inline void scarp_unit_set_seq(ScarpUnit *unit, uint64_t seq)
{
    unit->seq = seq;
}

/*
 * Returns the bytes to be programmed for the unit. NULL stands for zeroes; on a
 * drive that stores no data it is always NULL.
 */
static inline void *scarp_unit_data(const ScarpUnit *unit)
{
    return unit->data;
}

static inline void scarp_unit_set_data(ScarpUnit *unit, void *data)
{
    unit->data = data;
}

static inline bool scarp_unit_is_packing(const ScarpUnit *unit)
{
    return unit->packing;
}

static inline bool scarp_unit_is_partial(const ScarpUnit *unit)
{
    return unit->partial;
}

static inline void scarp_unit_set_partial(ScarpUnit *unit, bool partial)
{
    unit->partial = partial;
}

/* ---- The index of the host's units -------------------------------------- */

/*
 * Returns the unit with the newest version of the host's data for lpn, if that
 * version is still in RAM on its way to flash; else NULL.
 */
static inline ScarpUnit *scarp_pack_find(const ScarpDrive *drive, uint32_t lpn)
{
    ScarpUnit *unit;

    if (!drive->pack.n_indexed) {
        return NULL; /* a drive that is only read does not load the table */
    }
    unit = drive->pack.hash[lpn & drive->pack.hash_mask];
    while (unit && unit->lpn != lpn) {
        unit = unit->hash_next;
    }
    return unit;
}

/* Prefetches the table entry that scarp_pack_find() will read for lpn. */
static inline void scarp_pack_expect(const ScarpDrive *drive, uint32_t lpn)
{
    if (drive->pack.n_indexed) {
        __builtin_prefetch(&drive->pack.hash[lpn & drive->pack.hash_mask], 1);
    }
}

void scarp_pack_index(ScarpDrive *drive, ScarpUnit *unit);
void scarp_pack_unindex(ScarpDrive *drive, ScarpUnit *unit);

/* ---- Packers ------------------------------------------------------------ */

static inline uint32_t scarp_packer_count(const ScarpPacker *packer)
{
    return packer->n;
}

/* Returns the packer's first unit, or NULL. */
static inline ScarpUnit *scarp_packer_first(const ScarpPacker *packer)
{
    return packer->n ? packer->head : NULL;
}

/*
 * Adds `unit` to the packer, which collects the units of one future page.
 * Returns true if the page is now full. The caller then calls
 * scarp_packer_emit().
 */
static inline bool scarp_packer_add(const ScarpDrive *drive,
                                    ScarpPacker *packer, ScarpUnit *unit)
{
    unit->packing = true;
    unit->next = NULL;
    if (!packer->n++) {
        packer->tail = &packer->head;
    }
    *packer->tail = unit;
    packer->tail = &unit->next;
    return packer->n == drive->geo.units_per_page;
}

void scarp_packer_remove(ScarpPacker *packer, ScarpUnit *unit);

/*
 * Makes a program command for one page from the packer's units, and empties the
 * packer. The caller queues the command at a plane. If the units do not fill
 * the page, the rest of it is padding, counted in the statistic padded_units.
 */
ScarpFlashCmd *scarp_packer_emit(ScarpDrive *drive, ScarpPacker *packer,
                                 ScarpOwner owner, ScarpOrigin origin);

/* ---- Units on their way to a plane -------------------------------------- */

static inline void scarp_pack_host_units(ScarpDrive *drive, uint32_t plane,
                                         int change)
{
    drive->pack.plane[plane].host_units += change;
}

static inline void scarp_pack_gc_units(ScarpDrive *drive, uint32_t plane,
                                       int change)
{
    drive->pack.plane[plane].gc_units += change;
}

/* Returns how many units of the host will be programmed in the plane. */
static inline uint32_t scarp_pack_host_coming(const ScarpDrive *drive,
                                              uint32_t plane)
{
    return drive->pack.plane[plane].host_units;
}

/* Returns how many units are in GC's programs that wait or run in the plane. */
static inline uint32_t scarp_pack_gc_coming(const ScarpDrive *drive,
                                            uint32_t plane)
{
    return drive->pack.plane[plane].gc_units;
}

#endif /* SCARP_PACK_OPS_H */
