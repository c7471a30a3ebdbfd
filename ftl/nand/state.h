/*
 * nand: channels and dies. Owns the phases and times of flash commands, the
 * queues of each die, and the list of dies that shall look for work.
 *
 * Other rooms make flash commands, queue them and ask how busy a die is. flow
 * starts them and takes those that have ended. gc says which dies collect. nand
 * asks causes and core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NAND_STATE_H
#define SCARP_NAND_STATE_H

#include "causes/state.h"
#include "core/state.h"
#include "turns/state.h"

/* The owner of a flash command made it, and is told of its end. */
typedef enum {
    OWNER_READ,    /* flow: for its subject, a command of the host */
    OWNER_RMW,     /* buffer: the rest of a partial write's unit */
    OWNER_STRIPE,  /* parity: a page that a stripe needs */
    OWNER_BUFFER,  /* buffer: a program of the host's units */
    OWNER_PARITY,  /* parity: a program of one */
    OWNER_MAP,     /* map: a read of a translation unit, a program of some */
    OWNER_GC,      /* gc: read, program, copyback or erase of a job */
    OWNER_RECOVERY, /* recovery: the same, and reads of spare areas */
    OWNER__COUNT
} ScarpOwner;

/* A plane has a queue for each kind of command, first come, first served. */
typedef enum {
    QUEUE_READS, QUEUE_PROGRAMS, QUEUE_GC,
    QUEUE_MAP, /* programs of translation units, which have pages of their own */
    QUEUE__COUNT
} ScarpQueueKind;

/* A flash command: one operation of one plane. */
struct ScarpFlashCmd {
    ScarpFlashCmd *next; /* in its plane's queue, or in the pool */
    ScarpFlashCmd *mate; /* next of a multi-plane command */
    void *subject;       /* what the owner made it for */
    ScarpUnit *units;    /* that it programs or, for GC, reads */
    void *data;          /* sensed by a read; the owner frees it */
    uint64_t seq;
    uint32_t plane;
    uint32_t ppn;        /* first unit; program: known once started */
    union {
        uint32_t source_ppn; /* copyback: where it reads */
        uint32_t lpn;        /* host read: first of n_units */
    };
    uint16_t n_units;
    uint16_t bytes;      /* that cross the channel: a page at most */
    uint8_t kind;        /* ScarpFlashKind */
    uint8_t owner;       /* ScarpOwner */
    uint8_t origin;      /* ScarpOrigin: what observers are told */
    bool aligned;        /* program: goes to its plane's aligned block */
    bool promised;       /* program: blocks keeps a page for it (gc) */
    bool direct;         /* read: waits for its die, whatever that does */
    bool guest;          /* gc's program: of another die's victim */
    ScarpOwnCount retries; /* read: its page had changed by its turn */
    int64_t begin_ns;    /* on the die */
    int64_t array_ns;    /* the group that it heads: fixed at the grant */
    ScarpAccount account;
} __attribute__((aligned(SCARP_CACHE_LINE)));

G_STATIC_ASSERT(sizeof(ScarpFlashCmd) == 3 * SCARP_CACHE_LINE);

typedef struct {
    ScarpFlashCmd *head, **tail;
} ScarpFlashQueue;

typedef struct {
    ScarpFlashQueue queue[QUEUE__COUNT];
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpNandPlane;

typedef enum {
    PHASE_IDLE,
    PHASE_COMMAND,  /* waits for the channel: command, program's data */
    PHASE_ARRAY,    /* channel granted; the event is the array's end */
    PHASE_OUT_WAIT, /* waits for the channel: read's data */
    PHASE_OUT,
    PHASE_SUSPEND,
} ScarpDiePhase;

/* A die, in lines of the processor's cache: each event looks at the first. */
typedef struct {
    ScarpFlashCmd *current; /* and its mates */
    ScarpFlashCmd *suspended;
    ScarpFlashCmd *ahead;   /* nand.cache: loads or senses behind current */
    uint32_t queued[QUEUE__COUNT]; /* in all planes */
    uint32_t suspends;      /* how often current was suspended */
    uint8_t phase;          /* ScarpDiePhase */
    bool kicked;            /* in the list of dies to look for work */
    bool collecting;        /* as gc says */
    ScarpDieClock clock;
    int64_t array_begin_ns, array_end_ns; /* of current */
    uint32_t channel_next[2]; /* next waiter: die * 2 + (ahead) */
    int64_t ahead_loaded_ns;  /* NEVER until the channel is granted */
    int64_t suspended_left_ns;
    uint32_t guests;          /* of queued[QUEUE_GC]: other dies' copies */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpDie;

G_STATIC_ASSERT(offsetof(ScarpDie, clock) + SCARP_CLOCK_SPENT_AT ==
                SCARP_CACHE_LINE);

/* Queues of a channel; the first one goes before the second. */
enum { WAIT_GC, WAIT_ANY, WAIT__COUNT };

typedef struct {
    uint32_t head, tail; /* die * 2 + (ahead), or SCARP_NONE */
} ScarpChannelQueue;

typedef struct {
    int64_t free_ns;
    ScarpChannelQueue wait[WAIT__COUNT];
} ScarpChannel;

/* A phase that observers are to be told of. */
typedef struct {
    const ScarpFlashCmd *cmd;
    int64_t begin_ns, end_ns;
    ScarpFlashPhase phase;
    bool multiplane;
} ScarpSeenPhase;

typedef struct {
    ScarpChannel *channel;
    ScarpDie *die;
    ScarpNandPlane *plane;
    uint32_t *kicked; /* [n_dies] ring: dies to look for work afterwards */
    uint32_t first_kicked, n_kicked;
    ScarpPool pool;   /* of flash commands */
    /* Times of each page of a block: nand/timing.c */
    int64_t *read_ns_of, *program_ns_of; /* [pages_per_block] */
    bool pages_alike; /* each page of a block takes as long as the first */
    int64_t page_transfer_ns;
    ScarpFlashQueue *unpaired; /* [plane]; NULL: no ftl.paired_pages=pad */
    GArray *seen; /* ScarpSeenPhase, while there is an observer of them */
} ScarpNand;

#endif /* SCARP_NAND_STATE_H */
