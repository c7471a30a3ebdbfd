/*
 * Records and functions that the sources of ftl.mapping=demand share.
 *
 * The value of each entry is in ppn_of. The records here tell which entries the
 * modelled controller has in its RAM, and which of these are newer than flash.
 * The rules are in docs/mappings.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_DEMAND_H
#define SCARP_MAP_DEMAND_H

#include "map/internal.h"

/*
 * The RAM that the modelled controller needs for an entry, or for an entry that
 * a collection changed: LPN and PPN.
 */
enum { DEMAND_ENTRY_BYTES = 8 };

/*
 * Bits of Entry.state. The bits from ENTRY_PIN up are a number: how many units
 * pin the entry.
 */
enum {
    ENTRY_DIRTY = 1,     /* newer than its translation unit on flash */
    ENTRY_LOADING = 2,   /* its translation unit is being read */
    ENTRY_LEAVING = 4,   /* freed when its translation unit is written */
    ENTRY_PROTECTED = 8, /* used again after it was fetched */
    ENTRY_PIN = 16
};

typedef struct {
    uint32_t lpn;
    uint32_t hash_next;
    uint32_t prev, next; /* links of a segment; next: of the unused, too */
    uint32_t dirty_next; /* next dirty entry of the translation unit */
    uint32_t state;
} Entry;

/* A list of entries, most recently used first. */
typedef struct {
    uint32_t head, tail, n;
} EntryList;

/* A read or a unit that waits for its entry. */
struct ScarpMapWait {
    ScarpMapWait *next;
    uint64_t seq;
    ScarpFlashCmd *read;
    ScarpUnit *unit;
    uint32_t lpn;
};

typedef struct {
    ScarpMapWait *head, **tail;
    uint32_t n;
} WaitList;

/* A translation unit that is being read, or is in RAM on its way to flash. */
typedef struct {
    ScarpUnit unit; /* first member; pack and nand know only this part */
    WaitList waits; /* reads and units that wait until it has been read */
    uint32_t tu;
    bool reading;
    bool writing;   /* it is counted in n_writing */
    /* number of the last one begun before its contents were copied */
    uint64_t checkpoint;
} Work;

/*
 * The state of a translation unit; ScarpDemand.tu has one for each, by number.
 */
typedef struct {
    Work *work;          /* NULL: the unit is not in RAM */
    uint32_t dirty; /* the first of the unit's dirty entries, or SCARP_NONE */
    uint32_t updates; /* units that collections moved, without a cached entry */
    uint32_t batch_next; /* next of a collection's batch */
    uint32_t queue_next; /* next of the queue for writing */
    bool batched, queued;
    bool wanted;         /* the unit must be written */
    bool deallocated; /* units of it without a cached entry were deallocated */
    bool awaited;        /* the running checkpoint waits for it */
} Tu;

typedef struct {
    uint32_t head, tail;
} TuList;

/* State of ftl.checkpoint_pages. */
typedef struct {
    uint64_t units;   /* units programmed since the last checkpoint began */
    uint64_t number;  /* number of the last checkpoint that began */
    uint64_t journal; /* seq of the first block that no checkpoint covers */
    uint32_t left;    /* translation units still to be written */
    /* sealing: the checkpoints' own unit is being written */
    bool running, sealing;
} ScarpCheckpoint;

struct ScarpDemand {
    /* The cache: segmented LRU (Karedla et al. 1994), as in Gupta et al. */
    Entry *entry;
    uint32_t n_entries, n_used, unused;
    uint32_t *hash, hash_mask; /* [hash_mask + 1]: entries by LPN */
    EntryList probation, protected;
    uint32_t n_dirty, n_leaving;
    WaitList for_entry; /* reads and units that found no unused entry */
    uint64_t n_waited;  /* waits so far: the next one's seq */
    WaitList ready;

    /* Translation units. */
    Tu *tu;
    uint32_t n_tus;      /* tu[n_tus] is the checkpoints' own unit */
    uint32_t *plane_of; /* [n_planes]: planes of so many units in a row */
    ScarpPacker *packer; /* [plane] */
    ScarpPool works, waits;
    TuList queue;
    /* translation units that are being written; the most that may be */
    uint32_t n_writing, writing_limit;
    uint32_t n_works, n_deallocated;

    /* Entries that collections changed, and that are not cached. */
    TuList *batch; /* [plane]: translation units that its collection changed */
    /* [plane]: entries that its collection may still change */
    uint32_t *reserved;
    uint64_t n_reserved, n_updates, update_limit;
    bool starved;       /* a collection waits for room for its changes */
    bool aside;         /* ageing or recovery: changes are not counted */
    ScarpCheckpoint checkpoint;
    uint64_t n_recovered; /* updates after a power cut, beyond the limit */
};

/* ---- demand_cache.c: entries -------------------------------------------- */

/* Returns the index of lpn's entry, or SCARP_NONE. */
uint32_t scarp_entry_find(const ScarpDemand *demand, uint32_t lpn);
/*
 * Makes all dirty entries of tu clean, as they are on their way to flash. Frees
 * those of them that leave the cache.
 */
void scarp_entries_clean(ScarpDrive *drive, Tu *tu);
/*
 * Gives entries to the reads and units that wait for one, as far as entries can
 * be had.
 */
void scarp_entries_feed(ScarpDrive *drive);
/* Caches a clean entry of an image, as the most recently used one. */
void scarp_entry_load(ScarpDrive *drive, uint32_t lpn, uint32_t state);
/*
 * Called when a translation unit has been read: gives the waiters their
 * entries, which are cached now.
 */
void scarp_entries_loaded(ScarpDrive *drive, WaitList *waits);

/*
 * True when translation units have contents; otherwise only their times are
 * modelled.
 */
static inline bool scarp_tu_contents_kept(const ScarpDrive *drive)
{
    return drive->store_data || scarp_media_keeps(drive);
}

/* ---- demand_units.c: translation units ---------------------------------- */

static inline Tu *scarp_tu_of(ScarpDrive *drive, uint32_t lpn)
{
    return &drive->map.demand->tu[lpn >> drive->geo.translation_shift];
}

/* Queues the translation unit for writing. */
void scarp_tu_want(ScarpDrive *drive, Tu *tu);
/*
 * True when no read is needed to know the translation unit's contents: they are
 * in RAM, or none are on flash yet.
 */
bool scarp_tu_known(const ScarpDrive *drive, const Tu *tu);
/*
 * Lets `wait` go on when the translation unit has been read. Starts the read if
 * none runs.
 */
void scarp_tu_await(ScarpDrive *drive, Tu *tu, ScarpMapWait *wait);
void scarp_tus_write(ScarpDrive *drive);

/* ---- Lists of waits ----------------------------------------------------- */

static inline void scarp_wait_push(WaitList *list, ScarpMapWait *wait)
{
    wait->next = NULL;
    if (!list->n++) {
        list->tail = &list->head;
    }
    *list->tail = wait;
    list->tail = &wait->next;
}

static inline ScarpMapWait *scarp_wait_pop(WaitList *list)
{
    ScarpMapWait *wait = list->head;

    list->head = wait->next;
    list->n--;
    return wait;
}

/* ---- demand_checkpoint.c: ftl.checkpoint_pages --------------------------- */

static inline bool scarp_has_checkpoints(const ScarpDrive *drive)
{
    return drive->desc.checkpoint_pages;
}

/*
 * Returns the checkpoints' own unit, which stands behind the translation units.
 * Its newest version on flash tells where the journal of the last complete
 * checkpoint begins. A checkpoint is complete when all translation units that
 * lacked changes are on flash.
 */
static inline Tu *scarp_checkpoint_tu(const ScarpDrive *drive)
{
    return &drive->map.demand->tu[drive->map.demand->n_tus];
}

/*
 * Counts a unit that was programmed. With enough of them a checkpoint is due.
 */
void scarp_checkpoint_count(ScarpDrive *drive);
/* Begins a checkpoint if one is due. */
void scarp_checkpoint_pump(ScarpDrive *drive);
/*
 * Returns the seq of the first block of data that is open, or to which a
 * program is on its way. The journal of a checkpoint that begins now starts
 * with this block.
 */
uint64_t scarp_checkpoint_first_open(const ScarpDrive *drive);
/* Fills in the contents of the checkpoints' own unit. */
void scarp_checkpoint_fill(const ScarpDrive *drive, uint64_t *contents);
/*
 * Called when a translation unit is on flash. checkpoint is the number of the
 * last checkpoint that had begun when the unit's contents were copied.
 */
void scarp_checkpoint_written(ScarpDrive *drive, Tu *tu, uint64_t checkpoint);
/*
 * Sets the checkpoint's state after a power cut, once the mapping is complete.
 */
void scarp_checkpoint_recovered(ScarpDrive *drive);
/* Sets the checkpoint's state after ageing, when all entries are on flash. */
void scarp_checkpoint_aged(ScarpDrive *drive);
/* Implements ScarpMappingOps.reread. */
uint64_t scarp_checkpoint_reread(const ScarpDrive *drive, uint32_t *ppn_of);

/* demand_recover.c: implements ScarpMappingOps.recovered. */
void scarp_demand_recovered(ScarpDrive *drive);

/* demand_laws.c: implements ScarpMappingOps.check. */
bool scarp_demand_check(const ScarpDrive *drive, GError **error);

/*
 * Called by map/forward_map.c when lpn's entry changes: the host wrote lpn, or
 * deallocated it.
 */
void scarp_demand_written(ScarpDrive *drive, uint32_t lpn);
void scarp_demand_deallocated(ScarpDrive *drive, uint32_t lpn);
/* Called when a collection has moved lpn from the unit at `from`. */
void scarp_demand_moved(ScarpDrive *drive, uint32_t lpn, uint32_t from);

#endif /* SCARP_MAP_DEMAND_H */
