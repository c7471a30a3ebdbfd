/*
 * Records and functions that the sources of ftl.mapping=demand share.
 *
 * The simulator has the PPN of each unit in ppn_of. The records here only tell
 * which of these mapping entries the modelled controller has in its RAM, and
 * which of them are newer than the copy on flash. docs/mappings.md explains the
 * mapping.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_DEMAND_H
#define SCARP_MAP_DEMAND_H

#include "map/internal.h"

/*
 * The modelled RAM of one entry: an LPN and a PPN of four bytes each. Cached
 * entries need it, and so do entries that a collection changed.
 */
enum { DEMAND_ENTRY_BYTES = 8 };

/*
 * Bits of Entry.state. The bits from ENTRY_PIN up count the units in the write
 * buffer that pin the entry, so that it stays in the cache.
 */
enum {
    ENTRY_DIRTY = 1,     /* newer than its translation unit on flash */
    ENTRY_LOADING = 2,   /* its translation unit is being read */
    ENTRY_LEAVING = 4,   /* freed once copied into its translation unit */
    ENTRY_PROTECTED = 8, /* used again after it was fetched from flash */
    ENTRY_PIN = 16
};

typedef struct {
    uint32_t lpn;
    uint32_t hash_next;
    /*
     * links of the entry's LRU segment; `next` also links the list of unused
     * entries
     */
    uint32_t prev, next;
    uint32_t dirty_next; /* next dirty entry of the translation unit */
    uint32_t state;
} Entry;

/* A list of entries, most recently used first. */
typedef struct {
    uint32_t head, tail, n;
} EntryList;

/*
 * A host read, or a unit that the host wrote, that waits for its mapping entry
 * to be in the cache.
 */
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

/*
 * A translation unit that is in RAM: it is being read, or waits to be
 * programmed, or is being programmed.
 */
typedef struct {
    ScarpUnit unit; /* first member; pack and nand know only this part */
    WaitList waits; /* host reads, written units that wait until it is read */
    uint32_t tu;
    bool reading;
    bool writing;   /* counted in n_writing */
    /*
     * number of the last checkpoint that had begun when the contents were
     * copied
     */
    uint64_t checkpoint;
} Work;

/*
 * The state of translation unit i, in RAM or not, which is ScarpDemand.tu[i].
 */
typedef struct {
    Work *work;          /* NULL: the unit is not in RAM */
    uint32_t dirty; /* first dirty entry of the unit, or SCARP_NONE */
    uint32_t updates; /* moved units whose entries were not cached */
    uint32_t batch_next; /* next unit of ScarpDemand.batch[] */
    uint32_t queue_next; /* next unit of the queue for writing */
    bool batched, queued;
    bool wanted;         /* the unit must be written */
    bool deallocated; /* units without a cached entry were deallocated */
    bool awaited;        /* the running checkpoint waits for this unit */
} Tu;

typedef struct {
    uint32_t head, tail;
} TuList;

/* State of ftl.checkpoint_pages. */
typedef struct {
    uint64_t units;   /* units programmed since the last checkpoint began */
    uint64_t number;  /* number of the last checkpoint that has begun */
    uint64_t journal; /* seq of the first block that recovery must scan */
    uint32_t left;    /* translation units still to be written */
    /* `sealing`: the unit that ends the checkpoint is being written */
    bool running, sealing;
} ScarpCheckpoint;

struct ScarpDemand {
    /* The cache: segmented LRU (Karedla et al. 1994), as in Gupta et al. */
    Entry *entry;
    uint32_t n_entries, n_used, unused;
    uint32_t *hash, hash_mask; /* [hash_mask + 1]: entries by LPN */
    EntryList probation, protected;
    uint32_t n_dirty, n_leaving;
    WaitList for_entry; /* reads and written units that found no unused entry */
    uint64_t n_waited;  /* waits so far, which is the seq of the next wait */
    WaitList ready;

    /* Translation units. */
    Tu *tu;
    uint32_t n_tus;      /* tu[n_tus] is the unit that ends a checkpoint */
    uint32_t *plane_of; /* [tu % n_planes]: plane of unit tu */
    ScarpPacker *packer; /* [plane] */
    ScarpPool works, waits;
    TuList queue;
    /*
     * translation units that are being written, and how many may be at a time
     */
    uint32_t n_writing, writing_limit;
    uint32_t n_works, n_deallocated;

    /*
     * Entries that garbage collection changed while they were not in the cache.
     */
    TuList *batch; /* [plane]: translation units with such entries */
    /* [plane]: how many further entries the running collection may change */
    uint32_t *reserved;
    uint64_t n_reserved, n_updates, update_limit;
    bool starved;       /* a collection waits for room for its changes */
    bool aside;         /* ageing or recovery runs: changes are not counted */
    ScarpCheckpoint checkpoint;
    /* n_updates at the end of recovery, which may exceed update_limit */
    uint64_t n_recovered;
};

/* ---- demand_cache.c: entries -------------------------------------------- */

/* Returns the index of lpn's entry, or SCARP_NONE. */
uint32_t scarp_entry_find(const ScarpDemand *demand, uint32_t lpn);
/*
 * Marks all dirty entries of tu as clean, because their newest values have been
 * copied into the unit that will be programmed. Frees the entries with
 * ENTRY_LEAVING.
 */
void scarp_entries_clean(ScarpDrive *drive, Tu *tu);
/*
 * Gives cache entries to the reads and written units in for_entry, in the order
 * of their arrival, until no further entry can be freed.
 */
void scarp_entries_feed(ScarpDrive *drive);
/*
 * Loads lpn's entry from an image into the cache. The entry is clean, and
 * becomes the most recently used entry of its segment.
 */
void scarp_entry_load(ScarpDrive *drive, uint32_t lpn, uint32_t state);
/*
 * Called when a translation unit has been read. The reads and written units
 * that waited for it get their cache entries, which were reserved when the read
 * began.
 */
void scarp_entries_loaded(ScarpDrive *drive, WaitList *waits);

/*
 * True when the simulator stores the contents of translation units. Otherwise
 * it models only the time of their reads and writes.
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
 * True when the contents of the translation unit are known without a read,
 * because they are in RAM, or because the unit was never written.
 */
bool scarp_tu_known(const ScarpDrive *drive, const Tu *tu);
/*
 * Makes `wait` continue when the translation unit has been read. Starts the
 * read if none is under way.
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
 * Returns the unit whose program ends a checkpoint; its number follows those of
 * the translation units. Its newest copy on flash has the sequence number of
 * the first block that recovery must scan.
 */
static inline Tu *scarp_checkpoint_tu(const ScarpDrive *drive)
{
    return &drive->map.demand->tu[drive->map.demand->n_tus];
}

/*
 * Counts a unit that was programmed. A checkpoint is due after
 * ftl.checkpoint_pages pages of such units.
 */
void scarp_checkpoint_count(ScarpDrive *drive);
/* Begins a checkpoint if one is due. */
void scarp_checkpoint_pump(ScarpDrive *drive);
/*
 * Returns the lowest sequence number of all data blocks that are open, or in
 * which a program is under way. A checkpoint that begins now does not have the
 * pages that will be programmed in these blocks, or in blocks opened later. So
 * recovery must scan all blocks from this number on.
 */
uint64_t scarp_checkpoint_first_open(const ScarpDrive *drive);
/* Fills in the contents of the unit that ends a checkpoint. */
void scarp_checkpoint_fill(const ScarpDrive *drive, uint64_t *contents);
/*
 * Called when the translation unit `tu` is on flash. `checkpoint` is the number
 * of the last checkpoint that had begun when the contents of `tu` were copied.
 * If that is the running checkpoint, it no longer waits for `tu`.
 */
void scarp_checkpoint_written(ScarpDrive *drive, Tu *tu, uint64_t checkpoint);
/*
 * Called after a power cut, when the mapping is restored: sets how many pages
 * count towards the next checkpoint.
 */
void scarp_checkpoint_recovered(ScarpDrive *drive);
/*
 * Called after ageing: sets the number of pages that count towards the first
 * checkpoint to 0.
 */
void scarp_checkpoint_aged(ScarpDrive *drive);
/* Implements ScarpMappingOps.reread. */
uint64_t scarp_checkpoint_reread(const ScarpDrive *drive, uint32_t *ppn_of);

/* demand_recover.c: implements ScarpMappingOps.recovered. */
void scarp_demand_recovered(ScarpDrive *drive);

/* demand_laws.c: implements ScarpMappingOps.check. */
bool scarp_demand_check(const ScarpDrive *drive, GError **error);

/*
 * Called by map/forward_map.c when the host has written lpn, or deallocated it,
 * and its mapping entry has changed.
 */
void scarp_demand_written(ScarpDrive *drive, uint32_t lpn);
void scarp_demand_deallocated(ScarpDrive *drive, uint32_t lpn);
/* Called when garbage collection has moved lpn away from PPN `from`. */
void scarp_demand_moved(ScarpDrive *drive, uint32_t lpn, uint32_t from);

#endif /* SCARP_MAP_DEMAND_H */
