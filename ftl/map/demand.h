/*
 * What the sources of ftl.mapping=demand share.
 *
 * The value of an entry is ppn_of's: what is kept here is which entries the
 * controller has in its RAM, and which of them flash does not know.  The rules
 * are in docs/model.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_DEMAND_H
#define SCARP_MAP_DEMAND_H

#include "map/internal.h"

/* RAM of the modelled controller, of an entry or an update: LPN and PPN. */
enum { DEMAND_ENTRY_BYTES = 8 };

/* Bits of Entry.state; from ENTRY_HOLD on, how many units hold it. */
enum {
    ENTRY_DIRTY = 1,     /* newer than its translation unit */
    ENTRY_LOADING = 2,   /* its translation unit is being read */
    ENTRY_LEAVING = 4,   /* goes when its translation unit has it */
    ENTRY_PROTECTED = 8, /* was used again after it came */
    ENTRY_HOLD = 16
};

typedef struct {
    uint32_t lpn;
    uint32_t hash_next;
    uint32_t prev, next; /* in its list; next: of the unused ones, too */
    uint32_t dirty_next; /* of the dirty entries of a translation unit */
    uint32_t state;
} Entry;

/* Used last first. */
typedef struct {
    uint32_t head, tail, n;
} EntryList;

/* A read or a unit that waits for its entry. */
struct ScarpMapWait {
    ScarpMapWait *next;
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
    ScarpUnit unit; /* first: it is what pack and nand know */
    WaitList waits; /* for the read */
    uint32_t tu;
    bool reading;
    bool writing;   /* counts in n_writing */
    uint64_t checkpoint; /* that had begun when its contents were taken */
} Work;

/* A translation unit, by its number. */
typedef struct {
    Work *work;          /* NULL: it is on flash alone, or nowhere */
    uint32_t dirty;      /* the first of its dirty entries */
    uint32_t updates;    /* units moved whose entries are in no cache */
    uint32_t batch_next; /* of those that a collection has changed */
    uint32_t queue_next; /* of those that are to be written */
    bool batched, queued;
    bool wanted;         /* it is to be written */
    bool trimmed;        /* units deallocated whose entries are in no cache */
    bool awaited;        /* by the checkpoint that runs */
} Tu;

typedef struct {
    uint32_t head, tail;
} TuList;

/* ftl.checkpoint_pages */
typedef struct {
    uint64_t units;   /* programmed since the last one began */
    uint64_t number;  /* of the last one */
    uint64_t journal; /* seq of the first block that it does not cover */
    uint32_t left;    /* translation units that have to be written for it */
    bool running, sealing; /* sealing: its own unit is being written */
} ScarpCheckpoint;

struct ScarpDemand {
    /* The cache: segmented LRU (Karedla et al. 1994), as in Gupta et al. */
    Entry *entry;
    uint32_t n_entries, n_used, unused;
    uint32_t *hash, hash_mask; /* [hash_mask + 1]: entries by LPN */
    EntryList probation, protected;
    uint32_t n_dirty, n_leaving;
    WaitList for_entry; /* no entry is unused */
    uint64_t passed;    /* uses of entries meanwhile, since one was given */
    WaitList ready;

    /* Translation units. */
    Tu *tu;
    uint32_t n_tus;      /* of entries; behind them may be the checkpoints' */
    uint32_t *plane_of; /* [n_planes]: of the translation units of each round */
    ScarpPacker *packer; /* [plane] */
    ScarpPool works, waits;
    TuList queue;
    uint32_t n_writing, writing_limit; /* translation units in RAM */
    uint32_t n_works, n_trimmed;

    /* What collections change: entries that are in no cache. */
    TuList *batch;      /* [plane]: translation units that its job changed */
    uint32_t *reserved; /* [plane]: entries that its job may still change */
    uint64_t n_reserved, n_updates, update_limit;
    bool starved;       /* a collection could not begin */
    bool aside;         /* ageing, or recovery: no account is kept */
    ScarpCheckpoint checkpoint;
    uint64_t n_recovered; /* updates that a power cut left: beyond the limit */
};

/* ---- demand_cache.c: entries -------------------------------------------- */

/* The entry of lpn, or SCARP_NONE. */
uint32_t scarp_entry_find(const ScarpDemand *demand, uint32_t lpn);
/* All of tu's dirty entries are on their way to flash. */
void scarp_entries_clean(ScarpDrive *drive, Tu *tu);
/* What waits for an entry gets one, as there are. */
void scarp_entries_feed(ScarpDrive *drive);
/* From an image: a clean one, which becomes the one that was used last. */
void scarp_entry_load(ScarpDrive *drive, uint32_t lpn, uint32_t state);
/* The entries of those that waited for the read are there. */
void scarp_entries_loaded(ScarpDrive *drive, WaitList *waits);

/* What translation units say is there to be read, not only how long it takes. */
static inline bool scarp_tu_contents_kept(const ScarpDrive *drive)
{
    return drive->store_data || scarp_media_keeps(drive);
}

/* ---- demand_units.c: translation units ---------------------------------- */

static inline Tu *scarp_tu_of(ScarpDrive *drive, uint32_t lpn)
{
    return &drive->map.demand->tu[lpn >> drive->geo.translation_shift];
}

/* It is to be written, soon. */
void scarp_tu_want(ScarpDrive *drive, Tu *tu);
/* Its contents are in RAM, or nothing: no read is needed. */
bool scarp_tu_known(const ScarpDrive *drive, const Tu *tu);
/* wait goes on when tu, which is not known, has been read. */
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

/* The translation unit that says which checkpoint is whole. */
static inline Tu *scarp_checkpoint_tu(const ScarpDrive *drive)
{
    return &drive->map.demand->tu[drive->map.demand->n_tus];
}

/* Another unit is on flash; one may begin. */
void scarp_checkpoint_count(ScarpDrive *drive);
/* One begins if it is due. */
void scarp_checkpoint_pump(ScarpDrive *drive);
/*
 * Seq of the first block of data that is open, or has a program under way: where
 * the journal of a checkpoint that begins now does.
 */
uint64_t scarp_checkpoint_first_open(const ScarpDrive *drive);
/* What the checkpoints' own unit says, as contents. */
void scarp_checkpoint_fill(const ScarpDrive *drive, uint64_t *contents);
/* A translation unit with contents of that checkpoint is on flash. */
void scarp_checkpoint_written(ScarpDrive *drive, Tu *tu, uint64_t checkpoint);
/* After a power cut, when the mapping is whole. */
void scarp_checkpoint_recovered(ScarpDrive *drive);
/* All is on flash, without time. */
void scarp_checkpoint_aged(ScarpDrive *drive);
/* ScarpMappingOps: reread */
uint64_t scarp_checkpoint_reread(const ScarpDrive *drive, uint32_t *ppn_of);

/* demand_recover.c: ScarpMappingOps: recovered */
void scarp_demand_recovered(ScarpDrive *drive);

/* demand_laws.c */
bool scarp_demand_check(const ScarpDrive *drive, GError **error);

/* What changes entries tells of it: map/forward_map.c. */
void scarp_demand_written(ScarpDrive *drive, uint32_t lpn);
void scarp_demand_trimmed(ScarpDrive *drive, uint32_t lpn);
/* lpn was moved by a collection, from that unit. */
void scarp_demand_moved(ScarpDrive *drive, uint32_t lpn, uint32_t from);

#endif /* SCARP_MAP_DEMAND_H */
