/*
 * Functions of pack for other rooms.
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
 * Sets the unit's lpn, and all other members to "none". Members that the
 * caller's record has behind the unit are unchanged.
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
 * Links a unit into a list of the caller's. No packer and no flash command may
 * have the unit.
 */
static inline void scarp_unit_set_next(ScarpUnit *unit, ScarpUnit *next)
{
    unit->next = next;
}

/*
 * Appends unit to a list. *tail points to the NULL pointer that ends the list,
 * and is moved on.
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

/* Returns the contents of the unit; NULL: zeroes. */
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

/* Returns the newest unit of lpn that is not on flash yet, or NULL. */
static inline ScarpUnit *scarp_pack_find(const ScarpDrive *drive, uint32_t lpn)
{
    ScarpUnit *unit;

    if (!drive->pack.n_indexed) {
        return NULL; /* a drive that is only read leaves the table uncached */
    }
    unit = drive->pack.hash[lpn & drive->pack.hash_mask];
    while (unit && unit->lpn != lpn) {
        unit = unit->hash_next;
    }
    return unit;
}

/* Prefetches what scarp_pack_find() will need for lpn. */
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
 * Adds unit to the packer. True: the packer is full, and the caller emits it.
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
 * Makes a program of the packer's units, which its owner sends to a plane.
 * Units that the page lacks are padded, and counted.
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

/* Returns the host's units that are for the plane and not on flash yet. */
static inline uint32_t scarp_pack_host_coming(const ScarpDrive *drive,
                                              uint32_t plane)
{
    return drive->pack.plane[plane].host_units;
}

/* Returns the relocated units in programs of the plane that have not ended. */
static inline uint32_t scarp_pack_gc_coming(const ScarpDrive *drive,
                                            uint32_t plane)
{
    return drive->pack.plane[plane].gc_units;
}

#endif /* SCARP_PACK_OPS_H */
