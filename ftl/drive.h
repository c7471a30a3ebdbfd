/*
 * The engine's inner types: who owns what in a drive.  Not for users of the
 * library.
 *
 * Addresses: an LPN names a logical mapping unit, a PPN a physical one.  A
 * flash page holds units_per_page of them, next to each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_H
#define SCARP_DRIVE_H

#include "config.h"
#include "divisor.h"
#include "event.h"
#include "latency.h"
#include "scarp.h"

#include <string.h>

#define SCARP_NONE UINT32_MAX
#define SCARP_CACHE_LINE 64
#define SCARP_GC_LINE (SCARP_CACHE_LINE / sizeof(uint32_t)) /* units */

/*
 * What a die does, as a command that waits for it sees it; in the order of the
 * causes from SCARP_CAUSE_DIE_HOST_READ, but for the last.
 */
typedef enum {
    DIE_HOST_READ,
    DIE_HOST_PROGRAM,
    DIE_GC_READ,
    DIE_GC_PROGRAM,
    DIE_ERASE,
    DIE_GC_HELD,
    DIE_IDLE, /* a command that waits for an idle die waits for space */
    DIE_SUSPEND,
    DIE_ACTIVITY__COUNT
} DieActivity;

/* What a flash command itself spends its time on. */
typedef enum {
    OWN_CHANNEL, OWN_ARRAY, OWN_TRANSFER, OWN_SUSPENDED, OWN__COUNT
} OwnCause;

typedef ScarpFlashKind TxKind;
#define TX_READ SCARP_FLASH_READ
#define TX_PROGRAM SCARP_FLASH_PROGRAM
#define TX_ERASE SCARP_FLASH_ERASE
#define TX_COPYBACK SCARP_FLASH_COPYBACK

typedef struct ScarpTx ScarpTx;
typedef struct ScarpUnit ScarpUnit;
typedef struct ScarpGc ScarpGc;
typedef struct ScarpParity ScarpParity;

/*
 * A mapping unit on its way to flash: written by the host (an entry of the
 * write buffer) or moved by GC.  Owned by the buffer's hash, then by the
 * transaction that programs it.
 */
struct ScarpUnit {
    ScarpUnit *next;      /* in its transaction, or waiting to be packed */
    ScarpUnit *hash_next;
    ScarpUnit *older, *newer; /* host units that are not on flash yet */
    ScarpUnit *dependent; /* a partial write of the same unit that waits */
    ScarpCmd *cmd;        /* ends when this is programmed; or NULL */
    ScarpGc *gc;          /* the collection that moves it, or NULL */
    uint64_t seq;         /* in the order of arrival; for flush */
    uint64_t cmd_seq;     /* of the command that wrote it; for observers */
    uint32_t lpn;
    uint32_t source_ppn;  /* GC: where it came from */
    uint32_t plane;       /* it is meant for; SCARP_NONE: not yet decided */
    uint32_t first_byte, bytes; /* what the host wrote of it */
    uint16_t stream; /* < ftl.streams */
    bool rmw;        /* waits for the rest of its bytes */
    bool packing;    /* may still be overwritten in place */
    bool until_ready; /* cmd ends when rmw does */
    bool superseded; /* a newer write, or a deallocate, made it stale */
    void *data;      /* a unit, owned; NULL for zeroes or replay */
    int64_t created_ns;
    int64_t rmw_ns;  /* spent reading the rest of its bytes */
};

/* A transaction: one flash command on one plane. */
struct ScarpTx {
    ScarpTx *next;    /* plane queue, or free list */
    ScarpTx *mate;    /* next of a multi-plane command */
    ScarpCmd *cmd;    /* host read */
    ScarpUnit *units; /* what it programs or, for GC, reads */
    ScarpUnit *rmw;   /* read: the partial write that asked for it */
    void *sensed;     /* ditto: what the cells hold, owned */
    ScarpGc *gc;
    struct ScarpStripe *stripe; /* read or parity of: redundancy/parity.h */
    uint64_t seq;
    uint32_t plane;
    uint32_t ppn;     /* first unit; program: known once started */
    uint32_t lpn;     /* host read: first of n_units */
    uint32_t n_units;
    uint32_t bytes;   /* that cross the channel */
    uint32_t block;   /* erase */
    TxKind kind;
    ScarpOrigin origin;
    bool aligned;     /* program: goes to its plane's aligned block */
    bool direct;      /* read: waits for its die, whatever that does */
    int64_t begin_ns; /* on the die */
    int64_t mark_ns;  /* end of what is accounted */
    int64_t own_ns[OWN__COUNT];
    int64_t waited_ns[DIE_ACTIVITY__COUNT]; /* queued: less the die's spent */
} __attribute__((aligned(SCARP_CACHE_LINE)));

typedef struct {
    ScarpTx *head, **tail;
} TxQueue;

typedef enum {
    BLOCK_FREE, BLOCK_ACTIVE, BLOCK_FULL, BLOCK_VICTIM, BLOCK_BAD
} BlockState;

/*
 * What each unit that is written or superseded changes of its block lies
 * together, a line of the cache for blocks of up to 320 units: on a large
 * drive every line, and every page of memory, is one that is not near.
 */
typedef struct {
    uint32_t valid;      /* units */
    uint32_t erases;
    uint16_t written;    /* next page to program */
    uint16_t programmed; /* pages whose program has ended; checked at erase */
    uint8_t state;
    uint8_t origin;      /* that opened it */
    uint8_t stream;      /* ditto; GC's copies: 0 */
    int64_t modified_ns; /* last program, or last unit that became invalid */
    uint64_t is_valid[]; /* a bit per unit: the mapping names it */
} ScarpBlock;

/* In a bucket of full blocks; next: or in the free list. */
typedef struct {
    uint32_t next, prev;
} BlockLink;

/* What of a block changes once in its life. */
typedef struct {
    uint32_t full_next, full_prev; /* full blocks, in the order of filling */
    uint64_t seq; /* of the drive's block openings: age, recovery */
    void **data;  /* [units_per_block], NULL until something is stored */
} BlockRest;

/*
 * ALIGNED: at one write point with the planes of the die (hpdc18 §4.2).  From
 * ACTIVE_HOST on: one for each stream of the host.
 */
enum {
    ACTIVE_GC, ACTIVE_ALIGNED, ACTIVE_HOST,
    ACTIVE__COUNT = ACTIVE_HOST + SCARP_MAX_STREAMS
};

/* Units that wait until they fill a page. */
typedef struct {
    ScarpUnit *head, **tail;
    uint32_t n;
} ScarpPacker;

/*
 * Collection of one victim; at most one a plane.  It reads page after page, at
 * most window pages at once between the start of a read and the end of their
 * program, and erases the block when nothing of it is on its way.
 */
struct ScarpGc {
    ScarpOrigin origin; /* GC, or PREMIGRATE: pages only, no erase */
    bool running;
    bool begun;     /* its first flash command has started */
    bool erasing;
    bool levelling; /* chosen for wear */
    uint32_t plane;
    uint32_t victim;    /* drive-wide block */
    uint32_t next_page; /* of the victim, to look at */
    uint32_t pages_out; /* reads and programs on their way */
    uint32_t units_out; /* read, not yet committed or dropped */
    uint32_t moves_left;
    uint32_t moved;     /* units */
    int64_t begin_ns;
    /* The victim's reverse map in the units before line_end: job.c */
    uint32_t line[SCARP_GC_LINE];
    uint32_t line_end;
    uint32_t fetched_end; /* units up to it are in the processor's cache */
};

/* Ends of a list of blocks, or SCARP_NONE. */
typedef struct {
    uint32_t head, tail;
} BlockList;

typedef struct {
    TxQueue reads, programs, gc_queue;
    uint32_t active[ACTIVE__COUNT];
    BlockList free; /* in the order of release */
    uint32_t n_free;
    uint32_t n_bad;
    BlockList *bucket;       /* [units_per_block + 1] by valid units */
    uint64_t *bucket_filled; /* a bit per bucket */
    uint32_t valid;          /* units, in all blocks */
    uint32_t incoming;       /* relocated units in programs on their way */
    uint32_t programs_units; /* host units assigned to it, not yet on flash */
    uint32_t full_head, full_tail; /* filled longest ago first */
    uint32_t n_full;
    ScarpPacker gc_packer;   /* relocated units for this plane */
    ScarpGc gc;
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpPlane;

typedef enum {
    PHASE_IDLE,
    PHASE_COMMAND,  /* waits for the channel: command, program's data */
    PHASE_ARRAY,    /* channel granted; the event is the array's end */
    PHASE_OUT_WAIT, /* waits for the channel: read's data */
    PHASE_OUT,
    PHASE_SUSPEND,
} DiePhase;

/* In lines of the processor's cache: what each event looks at first. */
typedef struct {
    ScarpTx *current; /* and its mates */
    ScarpTx *suspended;
    ScarpTx *ahead;   /* nand.cache: loads or senses behind current */
    DiePhase phase;
    DieActivity activity;
    int64_t since_ns; /* of activity */
    uint32_t n_reads, n_programs, n_gc; /* queued, all planes */
    uint32_t gc_jobs;  /* collections that run in its planes */
    uint32_t gc_begun; /* of them, begun */
    bool kicked;       /* in the drive's list */
    bool gc_settled;   /* no plane was due, and no block was opened since */
    int64_t spent_ns[DIE_ACTIVITY__COUNT]; /* all of the past */
    int64_t array_begin_ns, array_end_ns;  /* of current */
    uint32_t channel_next[2]; /* next waiter: die * 2 + (ahead) */
    int64_t window_ns;        /* since when gc_begun > 0 */
    int64_t ahead_ready_ns;   /* NEVER until the channel is granted */
    int64_t suspended_left_ns;
    uint32_t suspends;        /* of the operation */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpDie;

G_STATIC_ASSERT(offsetof(ScarpDie, spent_ns) == SCARP_CACHE_LINE);

typedef struct {
    int64_t free_ns;
    uint32_t wait_head, wait_tail; /* die * 2 + (ahead), or SCARP_NONE */
} ScarpChannel;

typedef struct {
    ScarpCmd *head, *tail;
} CmdQueue;

#include "policy.h"

/* Lanes of events: arrays and transfers that take equally long, and waits. */
enum {
    SCARP_LANE_READ, SCARP_LANE_PROGRAM, SCARP_LANE_OUT, SCARP_LANE_CHANNEL,
    SCARP_LANE__COUNT
};
G_STATIC_ASSERT(SCARP_LANE__COUNT == SCARP_EVENTS_LANES);

/* Event sources: channels, dies, the timer, then these. */
enum { STAGE_FIRMWARE, STAGE_LINK_IN, STAGE_LINK_OUT, STAGE__COUNT };

struct ScarpDrive {
    ScarpDescription d;
    ScarpScheme scheme;
    bool store_data;
    uint32_t n_dies, n_planes, n_blocks;
    uint32_t n_free; /* blocks, in all planes */
    uint32_t units_per_page, units_per_block, unit_bytes;
    uint32_t logical_units, units_per_plane;
    uint32_t mapped_units; /* the host's, then a parity of each stripe */
    uint32_t unit_shift, page_shift; /* log2 of unit_bytes, units_per_page */
    ScarpDivisor by_units_per_block, by_units_per_plane, by_blocks_per_plane,
        by_planes_per_die, by_dies_per_channel, by_planes;
    int64_t page_transfer_ns;
    int64_t unit_link_ns; /* of unit_bytes on the host's link */
    int64_t *read_ns_of, *program_ns_of; /* [pages_per_block] */
    bool pages_alike; /* each page of a block takes as long as the first */
    int64_t now_ns;
    int64_t past_ns; /* lived before its clock began: an image's */
    ScarpEvents events;
    ScarpChannel *channel;
    ScarpDie *die;
    uint32_t *kicked; /* [n_dies] ring: dies to look for work afterwards */
    uint32_t first_kicked, n_kicked;
    ScarpPlane *plane;
    char *blocks;                /* [plane][block]: scarp_block() */
    uint32_t block_record_bytes; /* from one of them to the next */
    BlockLink *link;             /* [plane][block] */
    BlockRest *block_rest;       /* [plane][block] */
    BlockList *buckets;          /* [plane][units_per_block + 1] */
    uint32_t *l2p;     /* forward: LPN to PPN, SCARP_NONE unmapped */
    uint32_t *p2l;     /* reverse, as in the spare area; kept until erase */
    uint64_t *version; /* ftl.recovery, else NULL: ScarpUnit.seq, per PPN */
    uint64_t next_seq, next_block_seq;
    uint64_t random; /* state of the policies' generator */
    uint64_t seed;
    /* hil/ */
    CmdQueue stage[STAGE__COUNT];
    int64_t link_free_ns[2];
    CmdQueue waiting; /* for a device slot */
    uint64_t slots_used;
    bool dispatching;
    CmdQueue done;
    CmdQueue flushes;
    /* hil/buffer.c */
    ScarpUnit **hash;   /* units that are being written, by LPN */
    uint32_t hash_mask;
    ScarpUnit *dirty_head, *dirty_tail; /* host units, oldest first */
    uint64_t buffer_units; /* 0: no buffer */
    uint64_t buffer_used, buffer_packing;
    CmdQueue buffer_wait;
    ScarpPacker *packer; /* [plane, or n_planes: not yet decided][stream] */
    uint32_t next_plane; /* dynamic allocation's turn */
    /* pools */
    ScarpTx *free_tx;
    ScarpUnit *free_unit;
    GPtrArray *tx_chunks; /* of transactions */
    GPtrArray *chunks;    /* of units, and stripes */
    GPtrArray *free_data; /* spare data units */
    ScarpParity *parity;  /* ftl.parity_width, else NULL */
    bool broken;          /* a law was broken */
    ScarpObserver observer;
    ScarpStats stats;
    ScarpLatency *latency[SCARP_LATENCY_OPS]; /* reads, writes */
    uint64_t first_counted_seq; /* commands before it: before the reset */
};

/* map/blocks.c */
void scarp_blocks_init(ScarpDrive *drive);
bool scarp_blocks_set_bad(ScarpDrive *drive, GError **error);
/* Whether a plane has the blocks that it needs besides what the host fills. */
bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t plane);
/*
 * The lists of an image: forget a new drive's free blocks, then add each block
 * in the order of its list.  A full one is added twice, first in the order of
 * filling, then, its valid units being known, among the candidates.
 */
void scarp_blocks_forget(ScarpDrive *drive, uint32_t plane);
void scarp_blocks_add_free(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_full(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_candidate(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_bad(ScarpDrive *drive, uint32_t block);
/* Active blocks that this drive's settings would never fill count as full. */
void scarp_blocks_close_unused(ScarpDrive *drive);
void scarp_block_set_valid(ScarpDrive *drive, uint32_t ppn, int change);
/* A hint: ppn's unit will no longer be valid soon. */
void scarp_block_expect(const ScarpDrive *drive, uint32_t ppn);
/* n units of one block from ppn on, which were not, are valid. */
void scarp_block_filled(ScarpDrive *drive, uint32_t ppn, uint32_t n);
/* None of its units is valid any longer. */
void scarp_block_emptied(ScarpDrive *drive, uint32_t block);
void scarp_block_take(ScarpDrive *drive, uint32_t block);
/* Back among the candidates, not erased (PREMIGRATE ends so). */
void scarp_block_put_back(ScarpDrive *drive, uint32_t block);
void scarp_block_erase(ScarpDrive *drive, uint32_t block);
/* Whether a page can be allocated now; GC may use the last free block. */
bool scarp_alloc_possible(const ScarpDrive *drive, uint32_t plane,
                          ScarpOrigin origin, uint16_t stream);
/* Offset in its block of the page that would be allocated next. */
uint32_t scarp_alloc_offset(const ScarpDrive *drive, uint32_t plane,
                            ScarpOrigin origin, uint16_t stream);
/* The same of the plane's aligned block; offset: 0 when it is to be opened. */
bool scarp_aligned_possible(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_aligned_offset(const ScarpDrive *drive, uint32_t plane);
/* First PPN of the plane's next page; the caller checked that it exists. */
uint32_t scarp_alloc_page(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin,
                          uint16_t stream);
/*
 * *pages of them, or as many as lie one after the other, for GC's copies that
 * take no time: their programs have ended.
 */
uint32_t scarp_alloc_copies(ScarpDrive *drive, uint32_t plane,
                            uint32_t *pages);
/* The same for a program, which says whether it wants the aligned block. */
uint32_t scarp_alloc_for(ScarpDrive *drive, const ScarpTx *tx);

/*
 * map/table.c: begins a line of the processor's cache; contents undefined; NULL
 * when there is no memory for it
 */
void *scarp_table_new(uint64_t bytes);
void scarp_table_free(void *table);

/* map/pagemap.c */
/* What the host wrote is on flash at ppn; scarp_map_move(): GC's copy is. */
void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn);
static inline uint32_t scarp_ppn_block(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_divide(ppn, drive->by_units_per_block); /* drive-wide */
}
static inline ScarpBlock *scarp_block(const ScarpDrive *drive, uint32_t index)
{
    return (ScarpBlock *)(drive->blocks +
                          (uint64_t)index * drive->block_record_bytes);
}
/* Of ScarpBlock.is_valid[]. */
static inline uint32_t scarp_valid_bytes(const ScarpDrive *drive)
{
    return (drive->units_per_block + 63) / 64 * sizeof(uint64_t);
}
static inline bool scarp_map_valid(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - index * drive->units_per_block;

    return scarp_block(drive, index)->is_valid[unit / 64] >> (unit % 64) & 1;
}
static inline void scarp_map_set_version(ScarpDrive *drive, uint32_t ppn,
                                         uint64_t version)
{
    if (drive->version) {
        drive->version[ppn] = version;
    }
}
/*
 * map/rebuild.c: the mapping by what the flash holds, as after a loss of all
 * else; docs/images.md says what it finds.  l2p[mapped_units] is filled.
 */
void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *l2p);
/* The mapping and the data switch together, if the copy is still wanted. */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to);

/* A bit for each of n <= 64 units of a block, from ppn on, the first lowest. */
uint64_t scarp_map_valid_bits(const ScarpDrive *drive, uint32_t ppn,
                              uint32_t n);
/*
 * The n valid units from[], of one block, have moved to those from to on, of
 * another.  The first block counts them until scarp_block_emptied().
 */
void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to);

/* map/alloc_static.c: the i-th plane in the order of ftl.allocation */
uint32_t scarp_alloc_order(const ScarpDescription *d, uint32_t i);

/*
 * redundancy/parity.c.  But for init, free and those of the layout: of drives
 * with parity only.
 */
bool scarp_parity_init(ScarpDrive *drive, GError **error);
void scarp_parity_free(ScarpDrive *drive);
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn);
/* The parity's LPN of a unit's stripe. */
uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn);
/* Whether another die of a stripe that the die has pages of collects. */
bool scarp_parity_sibling_collects(const ScarpDrive *drive, uint32_t die);
/* The dies of the plane's stripes look for work, the next in turn first. */
void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane);
/* A unit's newest contents are data, whole; NULL: it was deallocated. */
void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data);
/* No RAM for the stripe of a unit that the host wants to write. */
bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn);
void scarp_parity_read_done(ScarpDrive *drive, ScarpTx *tx);
void scarp_parity_programmed(ScarpDrive *drive, ScarpTx *tx);
/* The host's read that a read of a stripe's page is for, or NULL. */
const ScarpTx *scarp_parity_parent(const ScarpTx *tx);
/* Every parity that is in RAM gets on its way. */
void scarp_parity_drain(ScarpDrive *drive);
bool scarp_parity_at_rest(const ScarpDrive *drive);
/* The laws of stripes; with contents, of what their pages hold. */
bool scarp_parity_check(const ScarpDrive *drive, bool contents,
                        GError **error);

/* gc/job.c: one collection */
bool scarp_gc_start(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin);
/* One page of a full block moves; the plane has no collection running. */
void scarp_gc_premigrate(ScarpDrive *drive, uint32_t plane, uint32_t victim);
/* Tells observers of a victim that was collected. */
void scarp_gc_report(ScarpDrive *drive, const ScarpGc *gc);
/* Goes on with a collection that was left alone (moves_left was 0). */
void scarp_gc_advance(ScarpDrive *drive, ScarpGc *gc);
void scarp_gc_tx_started(ScarpDrive *drive, ScarpTx *tx);
void scarp_gc_tx_done(ScarpDrive *drive, ScarpTx *tx);
/* gc/instant.c: a collection that takes no time; false: there is no victim */
bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t plane);
/* gc/victim.c */
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t plane,
                                bool *levelling);
/* Up to max full blocks of the least valid units; none when all are valid. */
uint32_t scarp_victim_least(const ScarpDrive *drive, uint32_t plane,
                            uint32_t *candidates, uint32_t max);
/*
 * The full block with the least valid units of those with more than least;
 * *n_below: how many have no more.  Walks those.  SCARP_NONE: there is none.
 */
uint32_t scarp_victim_above(const ScarpDrive *drive, uint32_t plane,
                            uint32_t least, uint32_t *n_below);
/* block if it has something to gain, else one of the least, or SCARP_NONE. */
uint32_t scarp_victim_or_least(const ScarpDrive *drive, uint32_t plane,
                               uint32_t block);
uint32_t scarp_victim_random_full(ScarpDrive *drive, uint32_t plane);
/*
 * gc/cost.c: how long a collection of the plane's least valid block takes, if
 * its die does nothing else, and each page stays in its plane; 0: none is
 * worth it.  Linear in a block's pages.
 */
int64_t scarp_gc_cost_ns(const ScarpDrive *drive, uint32_t plane);
/* gc/pacing_*.c: what pacing policies have in common */
/* Lets a collection that was left alone move so many pages more. */
static inline void scarp_gc_allow(ScarpDrive *drive, ScarpGc *gc,
                                  uint32_t pages)
{
    gc->moves_left = pages;
    scarp_gc_advance(drive, gc);
}
bool scarp_gc_due(const ScarpDrive *drive, uint32_t plane);
/* Starts one collection of the die, if one is due and none runs. */
void scarp_gc_check_one(ScarpDrive *drive, uint32_t die);

/* gc/place_common.c */
/* May plane take one more relocated unit from elsewhere? */
bool scarp_place_room(const ScarpDrive *drive, uint32_t plane);
/* Where a channel writes its share of a victim: its planes take turns. */
uint32_t scarp_place_plane_of(const ScarpDrive *drive, const ScarpGc *gc,
                              uint32_t channel);
/* plane, or the next one with room (counted), or the victim's own. */
uint32_t scarp_place_or_next(ScarpDrive *drive, const ScarpGc *gc,
                             uint32_t plane);

/* sched/priority.c, sched/merge.c */
typedef enum { PICK_ANY, PICK_READ, PICK_PROGRAM } PickFilter;
ScarpTx *scarp_sched_pick(ScarpDrive *drive, uint32_t die, PickFilter filter);
void scarp_sched_join(ScarpDrive *drive, uint32_t die, ScarpTx *lead);
/* Removes *link from queue; the die's counts follow. */
ScarpTx *scarp_sched_dequeue(ScarpDrive *drive, TxQueue *queue, ScarpTx **link);

/* nand/observe.c: calls observer.flash_phase, which is set; tx is of group */
void scarp_observe(const ScarpDrive *drive, const ScarpTx *group,
                   const ScarpTx *tx, ScarpFlashPhase phase, int64_t begin_ns,
                   int64_t end_ns);

/* nand/die.c, nand/channel.c, nand/timing.c */
void scarp_tx_enqueue(ScarpDrive *drive, ScarpTx *tx);
/* The die looks for work when the event that runs now has been handled. */
static inline void scarp_die_kick(ScarpDrive *drive, uint32_t die);
void scarp_die_work(ScarpDrive *drive, uint32_t die);
void scarp_work(ScarpDrive *drive); /* drive.c: every kicked die's */
void scarp_die_event(ScarpDrive *drive, uint32_t die);
void scarp_channel_event(ScarpDrive *drive, uint32_t channel);
void scarp_timing_init(ScarpDrive *drive);
void scarp_tx_account(ScarpDrive *drive, ScarpTx *tx);
/* Adds what tx spent its life on, and returns the sum. */
int64_t scarp_tx_explain(const ScarpTx *tx, ScarpCmd *cmd);
/* A waiter is die * 2, or die * 2 + 1 for its command behind the current. */
void scarp_channel_request(ScarpDrive *drive, uint32_t waiter);
void scarp_channel_granted(ScarpDrive *drive, uint32_t waiter);

/* hil/host.c */
void scarp_stage_event(ScarpDrive *drive, uint32_t stage);
void scarp_cmd_put(ScarpDrive *drive, ScarpCmd *cmd);
void scarp_flushes_done(ScarpDrive *drive);
/* Calls back ahead->timer at time_ns, once. */
void scarp_timer_set(ScarpDrive *drive, int64_t time_ns);
void scarp_timer_event(ScarpDrive *drive);

/* hil/read.c */
void scarp_read_split(ScarpDrive *drive, ScarpCmd *cmd);
void scarp_read_for_rmw(ScarpDrive *drive, ScarpUnit *unit);
/* Ends in scarp_parity_read_done(); bytes cross the channel. */
void scarp_read_for_stripe(ScarpDrive *drive, struct ScarpStripe *stripe,
                           uint32_t lpn, uint32_t bytes);
/* A read of one unit that was taken from its queue: back into one, or done. */
void scarp_read_again(ScarpDrive *drive, ScarpTx *tx);
/* It ends: data (NULL: zeroes) is what its page holds. */
void scarp_read_serve(ScarpDrive *drive, ScarpTx *tx, const void *data);
bool scarp_read_start(ScarpDrive *drive, ScarpTx *tx);
void scarp_read_done(ScarpDrive *drive, ScarpTx *tx);

/* hil/buffer.c */
ScarpUnit *scarp_buffer_find(const ScarpDrive *drive, uint32_t lpn);
/* A write, or a write of zeroes; it may wait for room. */
void scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd);
void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn);
/* The bytes that the host did not write are known (NULL: zeroes). */
void scarp_buffer_ready(ScarpDrive *drive, ScarpUnit *unit, const void *base);
/* Programs what was written before seq, filled pages or not. */
void scarp_buffer_drain(ScarpDrive *drive, uint64_t seq);
void scarp_buffer_tx_done(ScarpDrive *drive, ScarpTx *tx);
/* Units were released: lets in who waits for room. */
void scarp_buffer_admit(ScarpDrive *drive);

/* pool.c: transactions and units; nothing is freed until the drive is */
ScarpTx *scarp_tx_new(ScarpDrive *drive, TxKind kind, ScarpOrigin origin);
void scarp_tx_free(ScarpDrive *drive, ScarpTx *tx);
ScarpUnit *scarp_unit_new(ScarpDrive *drive, uint32_t lpn);
void scarp_unit_free(ScarpDrive *drive, ScarpUnit *unit);

/* store/ */
void *scarp_store_new(ScarpDrive *drive); /* a unit, contents undefined */
void scarp_store_release(ScarpDrive *drive, void *data);
void *scarp_store_get(const ScarpDrive *drive, uint32_t ppn);
/* Takes data over; an all-zero unit is released and costs nothing. */
void scarp_store_put(ScarpDrive *drive, uint32_t ppn, void *data);
void *scarp_store_take(ScarpDrive *drive, uint32_t ppn);

/* drive.c: quiescent, and nothing is buffered or still to happen */
bool scarp_at_rest(const ScarpDrive *drive, GError **error);

/* image/ */
typedef struct ScarpImage ScarpImage;
ScarpImage *scarp_image_open(const char *path, GError **error);
void scarp_image_close(ScarpImage *image);
/* The description of the drive that was saved; g_free() it. */
char *scarp_image_description(ScarpImage *image, GError **error);
/*
 * Whether drive, whose sizes are known and nothing else, is of the image's
 * layout class, and the file holds tables of its size.
 */
bool scarp_image_fits(ScarpImage *image, const ScarpDrive *drive,
                      GError **error);
/* Into a new drive; the scheme's own state is another matter. */
bool scarp_image_load(ScarpImage *image, ScarpDrive *drive, GError **error);
bool scarp_image_load_scheme(ScarpImage *image, ScarpDrive *drive,
                             GError **error);

/* Checks the spare area's LPN and says so in the statistics. */
void scarp_check_oob(ScarpDrive *drive, uint32_t ppn, uint32_t lpn);

/*
 * Zeroes in steps that become plain stores: what compilers make of a longer
 * memset() (rep stos) takes some 30 cycles to start.
 */
static inline void scarp_clear(void *what, size_t bytes)
{
    char *at = what;

    for (; bytes >= 64; bytes -= 64, at += 64) {
        memset(at, 0, 64);
    }
    memset(at, 0, bytes);
}

/* xorshift64* (Vigna 2016): small, fast, and the same on every host. */
static inline uint64_t scarp_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ull;
}

/* Since it was new; its clock begins again when it starts from an image. */
static inline int64_t scarp_life_ns(const ScarpDrive *drive)
{
    return drive->past_ns + drive->now_ns;
}

static inline void scarp_die_kick(ScarpDrive *drive, uint32_t die)
{
    if (!drive->die[die].kicked) {
        uint32_t at = drive->first_kicked + drive->n_kicked++;

        drive->die[die].kicked = true;
        drive->kicked[at < drive->n_dies ? at : at - drive->n_dies] = die;
    }
}

static inline uint32_t scarp_bytes_lpn(const ScarpDrive *drive,
                                       uint64_t offset_bytes)
{
    return offset_bytes >> drive->unit_shift;
}

static inline uint32_t scarp_ppn_plane(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_divide(ppn, drive->by_units_per_plane);
}

static inline uint32_t scarp_block_plane(const ScarpDrive *drive,
                                         uint32_t block)
{
    return scarp_divide(block, drive->by_blocks_per_plane);
}

static inline uint32_t scarp_plane_die(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_divide(plane, drive->by_planes_per_die);
}

/* Page offset in its block: what the planes of a die must have in common. */
static inline uint32_t scarp_ppn_page(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t first = scarp_ppn_block(drive, ppn) * drive->units_per_block;

    return (ppn - first) >> drive->page_shift;
}

static inline uint32_t scarp_die_source(const ScarpDrive *drive, uint32_t die)
{
    return drive->d.channels + die;
}

static inline uint32_t scarp_timer_source(const ScarpDrive *drive)
{
    return drive->d.channels + drive->n_dies;
}

static inline uint32_t scarp_die_channel(const ScarpDrive *drive, uint32_t die)
{
    return scarp_divide(die, drive->by_dies_per_channel);
}

#include "queue.h"

#endif /* SCARP_DRIVE_H */
