/*
 * Records and functions that the sources of ftl.mapping=demand share.
 *
 * An entry's value is always ppn_of's; this state tells which entries the
 * controller has in its RAM, and which of them are newer than flash. The rules
 * are in docs/mappings.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_DEMAND_H
#define SCARP_MAP_DEMAND_H

#include "map/internal.h"

/* RAM of the modelled controller for an entry or an update: LPN and PPN. */
enum { DEMAND_ENTRY_BYTES = 8 };

/*
 * Bits of Entry.state; the bits from ENTRY_PIN on count the units that pin
 * the entry.
 */
enum {
    ENTRY_DIRTY = 1,     /* newer than its translation unit */
    ENTRY_LOADING = 2,   /* its translation unit is being read */
    ENTRY_LEAVING = 4,   /* dropped when its translation unit is updated */
    ENTRY_PROTECTED = 8, /* used again after it was fetched */
    ENTRY_PIN = 16
};

typedef struct {
    uint32_t lpn;
    uint32_t hash_next;
    uint32_t prev, next; /* in a list; next: among the unused, too */
    uint32_t dirty_next; /* of the dirty entries of a translation unit */
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
    ScarpUnit unit; /* first member: pack and nand see no more of it */
    WaitList waits; /* those that wait for the read */
    uint32_t tu;
    bool reading;
    bool writing;   /* counts in n_writing */
    uint64_t checkpoint; /* begun when its contents were taken */
} Work;

/* A translation unit, by its number. */
typedef struct {
    Work *work;          /* NULL: it is not in RAM */
    uint32_t dirty;      /* the first of its dirty entries */
    uint32_t updates;    /* moved units whose entries are not cached */
    uint32_t batch_next; /* in a collection's batch */
    uint32_t queue_next; /* in the queue for writing */
    bool batched, queued;
    bool wanted;         /* it must be written */
    bool deallocated;    /* units without a cached entry were */
    bool awaited;        /* the running checkpoint waits for it */
} Tu;

typedef struct {
    uint32_t head, tail;
} TuList;

/* State of ftl.checkpoint_pages. */
typedef struct {
    uint64_t units;   /* programmed since the last one began */
    uint64_t number;  /* the last one's number */
    uint64_t journal; /* seq of the first block that no checkpoint covers */
    uint32_t left;    /* translation units still to be written */
    bool running, sealing; /* sealing: its own unit is being written */
} ScarpCheckpoint;

struct ScarpDemand {
    /* The cache: segmented LRU (Karedla et al. 1994), as in Gupta et al. */
    Entry *entry;
    uint32_t n_entries, n_used, unused;
    uint32_t *hash, hash_mask; /* [hash_mask + 1]: entries by LPN */
    EntryList probation, protected;
    uint32_t n_dirty, n_leaving;
    WaitList for_entry; /* those that found no unused entry */
    uint64_t n_waited;  /* that have ever waited for an entry */
    WaitList ready;

    /* Translation units. */
    Tu *tu;
    uint32_t n_tus;      /* checkpoints' own unit comes behind them */
    uint32_t *plane_of; /* [n_planes]: planes of a round of them */
    ScarpPacker *packer; /* [plane] */
    ScarpPool works, waits;
    TuList queue;
    uint32_t n_writing, writing_limit; /* translation units in RAM */
    uint32_t n_works, n_deallocated;

    /* Changes by collections to entries that are not cached. */
    TuList *batch;      /* [plane]: translation units that its job changed */
    uint32_t *reserved; /* [plane]: entries that its job may change yet */
    uint64_t n_reserved, n_updates, update_limit;
    bool starved;       /* a collection awaits room for changes */
    bool aside;         /* ageing or recovery: changes are not counted */
    ScarpCheckpoint checkpoint;
    uint64_t n_recovered; /* updates after a power cut, beyond the limit */
};

/* ---- demand_cache.c: entries -------------------------------------------- */

/* Returns the index of lpn's entry, or SCARP_NONE. */
uint32_t scarp_entry_find(const ScarpDemand *demand, uint32_t lpn);
/* Makes all of tu's dirty entries clean: they are on their way to flash. */
void scarp_entries_clean(ScarpDrive *drive, Tu *tu);
/* Gives entries to those that wait for one, as far as there are any. */
void scarp_entries_feed(ScarpDrive *drive);
/* Loads a clean entry from an image, as the most recently used one. */
void scarp_entry_load(ScarpDrive *drive, uint32_t lpn, uint32_t state);
/*
 * The translation unit was read: the entries that its waiters need are cached.
 */
void scarp_entries_loaded(ScarpDrive *drive, WaitList *waits);

/* True when translation units have contents, not only a modelled duration. */
static inline bool scarp_tu_contents_kept(const ScarpDrive *drive)
{
    return drive->store_data || scarp_media_keeps(drive);
}

/* ---- demand_units.c: translation units ---------------------------------- */

static inline Tu *scarp_tu_of(ScarpDrive *drive, uint32_t lpn)
{
    return &drive->map.demand->tu[lpn >> drive->geo.translation_shift];
}

/* Queues tu for writing. */
void scarp_tu_want(ScarpDrive *drive, Tu *tu);
/* True when tu's contents are in RAM, or it has none: no read is needed. */
bool scarp_tu_known(const ScarpDrive *drive, const Tu *tu);
/* Makes wait go on when tu, which is not known, has been read. */
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
 * Returns the unit behind the translation units. Its newest version on flash
 * names the last checkpoint that was written to its end.
 */
static inline Tu *scarp_checkpoint_tu(const ScarpDrive *drive)
{
    return &drive->map.demand->tu[drive->map.demand->n_tus];
}

/* Counts a unit that was programmed; a checkpoint may become due. */
void scarp_checkpoint_count(ScarpDrive *drive);
/* Begins a checkpoint if one is due. */
void scarp_checkpoint_pump(ScarpDrive *drive);
/*
 * Returns the seq of the first block of data that is open, or has a program
 * under way: the journal of a checkpoint that begins now starts there.
 */
uint64_t scarp_checkpoint_first_open(const ScarpDrive *drive);
/* Writes the contents of the checkpoints' own unit. */
void scarp_checkpoint_fill(const ScarpDrive *drive, uint64_t *contents);
/* A translation unit with contents of that checkpoint is on flash. */
void scarp_checkpoint_written(ScarpDrive *drive, Tu *tu, uint64_t checkpoint);
/* Sets the checkpoint's state after a power cut, when the mapping is whole. */
void scarp_checkpoint_recovered(ScarpDrive *drive);
/* Sets the checkpoint's state after ageing: all is on flash. */
void scarp_checkpoint_aged(ScarpDrive *drive);
/* ScarpMappingOps: reread. */
uint64_t scarp_checkpoint_reread(const ScarpDrive *drive, uint32_t *ppn_of);

/* demand_recover.c: ScarpMappingOps: recovered. */
void scarp_demand_recovered(ScarpDrive *drive);

/* demand_laws.c: ScarpMappingOps: check. */
bool scarp_demand_check(const ScarpDrive *drive, GError **error);

/* map/forward_map.c tells of each change of an entry. */
void scarp_demand_written(ScarpDrive *drive, uint32_t lpn);
void scarp_demand_deallocated(ScarpDrive *drive, uint32_t lpn);
/* A collection moved lpn away from the unit at from. */
void scarp_demand_moved(ScarpDrive *drive, uint32_t lpn, uint32_t from);

#endif /* SCARP_MAP_DEMAND_H */
