/*
 * The engine's inner types: who owns what in a drive.  Not for users of the
 * library.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_H
#define SCARP_DRIVE_H

#include "config.h"
#include "event.h"
#include "scarp.h"

#define SCARP_NONE UINT32_MAX
#define SCARP_INFLIGHT_BUCKETS 4096

/* What a die does, as a command that waits for it sees it. */
typedef enum {
    DIE_HOST_READ,
    DIE_HOST_PROGRAM,
    DIE_GC_READ,
    DIE_GC_PROGRAM,
    DIE_ERASE,
    DIE_GC_HELD,
    DIE_IDLE, /* a command that waits for an idle die waits for space */
    DIE_ACTIVITY__COUNT
} DieActivity;

typedef enum { TX_READ, TX_PROGRAM, TX_ERASE } TxKind;
typedef enum { TX_QUEUED, TX_COMMAND, TX_ARRAY, TX_DATA_OUT } TxPhase;

/* A transaction: one flash command.  Pooled; GC's are part of their plane. */
typedef struct ScarpTx ScarpTx;
struct ScarpTx {
    ScarpTx *next;       /* plane queue, or free list */
    ScarpTx *hash_next;  /* in-flight writes of one hash bucket */
    ScarpTx *dependent;  /* partial write of the same page that waits for us */
    ScarpCmd *cmd;       /* NULL for GC */
    uint64_t seq;
    uint32_t lpn;
    uint32_t ppn;        /* read: source; program: destination once started */
    uint32_t source_ppn; /* GC program: where the copy came from */
    uint16_t stream;
    uint32_t plane;
    uint32_t first_byte; /* in the page */
    uint32_t bytes;
    TxKind kind;
    TxPhase phase;
    ScarpOrigin origin;
    bool rmw; /* read: for a partial write; program: waits for such a read */
    bool superseded;  /* a newer write, or a deallocate, made it stale */
    void *data;       /* program: page, owned; NULL for zeroes or replay */
    int64_t mark_ns;  /* start of the open interval */
    int64_t waited[DIE_ACTIVITY__COUNT]; /* die's clock when queued */
    int64_t cause_ns[SCARP_CAUSE__COUNT];
};

typedef struct {
    ScarpTx *head, **tail;
} TxQueue;

typedef enum {
    BLOCK_FREE, BLOCK_ACTIVE, BLOCK_FULL, BLOCK_VICTIM
} BlockState;

typedef struct {
    uint32_t next, prev; /* in the free list, or in a bucket of full blocks */
    uint32_t valid;      /* pages */
    uint32_t written;    /* next page to program */
    uint32_t erases;
    uint8_t state;
    void **data; /* [pages_per_block], NULL until something is stored */
} ScarpBlock;

enum { ACTIVE_HOST, ACTIVE_GC, ACTIVE__COUNT };

/* Collection of one victim; at most one a plane. */
typedef struct {
    bool wanted; /* waits for the die's current holder */
    bool running;
    bool begun;
    uint32_t victim;
    uint32_t next_page;
    uint32_t moved;
    int64_t begin_ns;
    ScarpTx tx;
    bool ready; /* tx waits for the die */
} ScarpGc;

typedef struct {
    TxQueue reads, programs;
    uint32_t active[ACTIVE__COUNT];
    uint32_t free_head; /* least erased first */
    uint32_t n_free;
    uint32_t *bucket;        /* [pages_per_block + 1] by valid pages */
    uint64_t *bucket_filled; /* a bit per bucket */
    uint32_t valid;          /* pages, in all blocks */
    ScarpGc gc;
} ScarpPlane;

typedef struct {
    ScarpTx *current;
    bool picking;    /* guards against a kick from within a choice */
    uint32_t holder; /* plane whose GC holds the die, or SCARP_NONE */
    uint32_t channel_next; /* next die that waits for the channel */
    DieActivity activity;
    int64_t since_ns;
    int64_t spent[DIE_ACTIVITY__COUNT]; /* all of the past, by activity */
} ScarpDie;

typedef struct {
    uint32_t user; /* die, or SCARP_NONE */
    uint32_t wait_head, wait_tail;
} ScarpChannel;

typedef struct {
    ScarpCmd *head, *tail;
} CmdQueue;

typedef struct ScarpVictimOps {
    const char *name;
    const char *help;
    /* One of n candidate blocks, all with the least valid pages. */
    uint32_t (*choose)(const ScarpDrive *drive, const ScarpPlane *plane,
                       const uint32_t *candidates, uint32_t n);
} ScarpVictimOps;

typedef struct ScarpPacingOps {
    const char *name;
    const char *help;
    /* A plane reached its threshold of free blocks. */
    void (*trigger)(ScarpDrive *drive, uint32_t plane);
} ScarpPacingOps;

typedef struct ScarpHilOps {
    const char *name;
    const char *help;
    ScarpCmd *(*pick)(CmdQueue *waiting); /* removes what it returns */
} ScarpHilOps;

typedef struct {
    const char *name;
    const char *help;
    const ScarpHilOps *hil;
    const ScarpVictimOps *victim;
    const ScarpPacingOps *pacing;
} ScarpScheme;

extern const ScarpVictimOps scarp_victim_greedy;
extern const ScarpPacingOps scarp_pacing_blocking;
extern const ScarpPacingOps scarp_pacing_ideal;
extern const ScarpHilOps scarp_hil_fifo;
const ScarpScheme *scarp_scheme_find(const char *name, GError **error);

enum { STAGE_FIRMWARE, STAGE_LINK_IN, STAGE_LINK_OUT, STAGE__COUNT };

struct ScarpDrive {
    ScarpDescription d;
    const ScarpScheme *scheme;
    bool store_data;
    uint32_t n_dies, n_planes, n_blocks, logical_pages;
    int64_t page_transfer_ns;
    int64_t now_ns;
    ScarpEvents events; /* channels, dies, then stages */
    ScarpChannel *channel;
    ScarpDie *die;
    ScarpPlane *plane;
    ScarpBlock *block; /* [plane][block] */
    uint32_t *l2p;     /* forward: LPN to PPN, SCARP_NONE unmapped */
    uint32_t *p2l;     /* reverse, as in the spare area; kept until erase */
    uint64_t next_seq;
    CmdQueue stage[STAGE__COUNT];
    int64_t link_free_ns[2];
    CmdQueue waiting; /* for a device slot */
    uint64_t slots_used;
    bool dispatching;
    CmdQueue done;
    CmdQueue flushes;
    ScarpCmd *write_head, *write_tail; /* in-flight writes, oldest first */
    ScarpTx *inflight[SCARP_INFLIGHT_BUCKETS];
    ScarpTx *free_tx;
    GPtrArray *tx_chunks;
    GPtrArray *free_pages; /* spare data pages */
    bool broken;           /* a law was broken */
    ScarpObserver observer;
    ScarpStats stats;
};

/* map/ */
void scarp_map_init(ScarpDrive *drive);
uint32_t scarp_alloc_plane(const ScarpDrive *drive, uint32_t lpn);
bool scarp_alloc_possible(const ScarpDrive *drive, const ScarpPlane *plane,
                          ScarpOrigin origin);
/* Next page of the plane's active block; the caller checked that it exists. */
uint32_t scarp_alloc_page(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin,
                          uint16_t stream);
/* What the host wrote is on flash at ppn; scarp_map_move(): GC's copy is. */
void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn);
void scarp_block_erase(ScarpDrive *drive, uint32_t plane, uint32_t block);
void scarp_block_take(ScarpDrive *drive, uint32_t plane, uint32_t block);

static inline uint32_t scarp_ppn_block(const ScarpDrive *drive, uint32_t ppn)
{
    return ppn / drive->d.pages_per_block; /* drive-wide */
}

/* gc/ */
void scarp_gc_check(ScarpDrive *drive, uint32_t plane);
bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t plane);
void scarp_gc_tx_done(ScarpDrive *drive, ScarpTx *tx);
void scarp_gc_tx_started(ScarpDrive *drive, ScarpTx *tx);

/* sched/ and nand/ */
ScarpTx *scarp_sched_pick(ScarpDrive *drive, uint32_t die);
void scarp_die_kick(ScarpDrive *drive, uint32_t die);
void scarp_die_event(ScarpDrive *drive, uint32_t die);
void scarp_channel_event(ScarpDrive *drive, uint32_t channel);
void scarp_die_set_activity(ScarpDrive *drive, ScarpDie *die, DieActivity now);
void scarp_tx_enqueue(ScarpDrive *drive, ScarpTx *tx);

/* hil/ */
ScarpTx *scarp_inflight_find(const ScarpDrive *drive, uint32_t lpn);
void scarp_stage_event(ScarpDrive *drive, uint32_t stage);
void scarp_host_tx_done(ScarpDrive *drive, ScarpTx *tx);
bool scarp_host_read_start(ScarpDrive *drive, ScarpTx *tx);

static inline uint32_t scarp_die_source(const ScarpDrive *drive, uint32_t die)
{
    return drive->d.channels + die;
}

static inline uint32_t scarp_stage_source(const ScarpDrive *drive,
                                          uint32_t stage)
{
    return drive->d.channels + drive->n_dies + stage;
}

static inline uint32_t scarp_die_channel(const ScarpDrive *drive, uint32_t die)
{
    return die / (drive->d.chips_per_channel * drive->d.dies_per_chip);
}

/* store/ */
void *scarp_store_new(ScarpDrive *drive); /* a page, contents undefined */
void scarp_store_release(ScarpDrive *drive, void *page);
void *scarp_store_get(const ScarpDrive *drive, uint32_t ppn);
/* Takes page over; an all-zero one is released and costs nothing. */
void scarp_store_put(ScarpDrive *drive, uint32_t ppn, void *page);
void *scarp_store_take(ScarpDrive *drive, uint32_t ppn);

/* Checks the spare area's LPN and says so in the statistics. */
void scarp_check_oob(ScarpDrive *drive, uint32_t ppn, uint32_t lpn);

static inline void scarp_cmd_push(CmdQueue *queue, ScarpCmd *cmd)
{
    cmd->next = NULL;
    if (queue->head) {
        queue->tail->next = cmd;
    } else {
        queue->head = cmd;
    }
    queue->tail = cmd;
}

static inline ScarpCmd *scarp_cmd_pop(CmdQueue *queue)
{
    ScarpCmd *cmd = queue->head;

    if (cmd) {
        queue->head = cmd->next;
    }
    return cmd;
}

#endif /* SCARP_DRIVE_H */
