/*
 * nand: channels and dies. This directory owns the phases and times of flash
 * commands, the queues of each die, and the list of kicked dies: dies that are
 * to look for work when the present event has been handled.
 *
 * Other directories of ftl/ make flash commands, queue them, and ask how busy a
 * die is. flow starts commands, and takes those that have ended. gc says which
 * dies collect. nand calls causes, media (in which mode a block is),
 * heat (how much longer the array takes) and core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NAND_STATE_H
#define SCARP_NAND_STATE_H

#include "causes/state.h"
#include "core/state.h"
#include "turns/state.h"

/*
 * The owner of a flash command: the directory of ftl/ that made the command and
 * is called when it ends.
 */
typedef enum {
    OWNER_READ,    /* flow: a read for a command of the host */
    OWNER_RMW,     /* buffer: the rest of a unit that was written in part */
    OWNER_STRIPE,  /* parity: a read of a page of a stripe */
    OWNER_BUFFER,  /* buffer: a program of the host's units */
    OWNER_PARITY,  /* parity: a program of a parity page */
    OWNER_MAP,     /* map: reads and programs of translation units */
    OWNER_GC,      /* gc: commands of a collection or a merge */
    OWNER_RECOVERY, /* recovery: reads of spare areas, and mending */
    OWNER__COUNT
} ScarpOwner;

/*
 * The queues of a plane, one for each kind of command, first come, first
 * served.
 */
typedef enum {
    QUEUE_READS, QUEUE_PROGRAMS, QUEUE_GC,
    /* programs of translation units, which have blocks of their own */
    QUEUE_MAP,
    QUEUE__COUNT
} ScarpQueueKind;

/* A flash command: one operation of one plane. */
struct ScarpFlashCmd {
    ScarpFlashCmd *next; /* in the plane's queue, in a list, or in the pool */
    ScarpFlashCmd *mate; /* the next command of the same multi-plane command */
    void *subject;       /* the object that the owner made the command for */
    ScarpUnit *units;    /* units that a program carries, or that GC reads */
    void *data;          /* data that a read has sensed; the owner frees it */
    uint64_t seq;
    uint32_t plane;
    uint32_t ppn;        /* of the first unit; a program has it once started */
    union {
        uint32_t source_ppn; /* copyback: PPN of the page that it senses */
        uint32_t lpn;        /* host's read: LPN of the first of n_units */
    };
    uint16_t n_units;
    uint16_t bytes;      /* bytes that cross the channel, a page at most */
    uint8_t kind;        /* ScarpFlashKind */
    uint8_t owner;       /* ScarpOwner */
    uint8_t origin;      /* ScarpOrigin, for observers */
    bool aligned;        /* program: for the plane's aligned block (gc-par) */
    bool promised;       /* GC's program: the plane keeps a page for it */
    bool direct;         /* read: parity does not serve it (parity/ops.h) */
    bool guest;          /* GC's program: its victim is on another die */
    /* read: how often its page had moved when it was picked */
    ScarpOwnCount retries;
    int64_t begin_ns;    /* when the die began the command */
    /* the group's longest array time; set when the group gets the channel */
    int64_t array_ns;
    ScarpAccount account;
} __attribute__((aligned(SCARP_CACHE_LINE)));

G_STATIC_ASSERT(sizeof(ScarpFlashCmd) == 3 * SCARP_CACHE_LINE);
/* with ScarpGeometry.part_causes, a cache line with ScarpParts follows */
G_STATIC_ASSERT(offsetof(ScarpFlashCmd, account) + sizeof(ScarpAccount) ==
                sizeof(ScarpFlashCmd));
G_STATIC_ASSERT(sizeof(ScarpParts) <= SCARP_CACHE_LINE);

typedef struct {
    ScarpFlashCmd *head, **tail;
} ScarpFlashQueue;

typedef struct {
    ScarpFlashQueue queue[QUEUE__COUNT];
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpNandPlane;

typedef enum {
    PHASE_IDLE,
    PHASE_COMMAND,  /* waits for the channel, for command and data in */
    PHASE_ARRAY,    /* the array works; its end is the die's event */
    PHASE_OUT_WAIT, /* a read waits for the channel, for data out */
    PHASE_OUT,
    PHASE_SUSPEND,
} ScarpDiePhase;

/*
 * A die. Its members are in the order of use: for most events, the first line
 * of the processor's cache is enough.
 */
typedef struct {
    ScarpFlashCmd *current; /* the running command; its mates follow */
    ScarpFlashCmd *suspended;
    ScarpFlashCmd *ahead;   /* nand.cache: loaded or sensed behind current */
    uint32_t queued[QUEUE__COUNT]; /* commands that wait, over all planes */
    uint32_t suspends;      /* how often `current` has been suspended */
    uint8_t phase;          /* ScarpDiePhase */
    bool kicked;            /* the die is in ScarpNand.kicked */
    bool collecting;        /* gc says that a plane of the die collects */
    bool relieved;          /* the die is in ScarpNand.relieved */
    ScarpDieClock clock;
    int64_t array_begin_ns, array_end_ns; /* of the current command */
    uint32_t channel_next[2]; /* next waiter behind `current`, behind `ahead` */
    int64_t ahead_loaded_ns;  /* end of ahead's transfer in; NEVER: unknown */
    int64_t suspended_left_ns;
    uint32_t guests;          /* waiting GC programs whose flag guest is set */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpDie;

G_STATIC_ASSERT(offsetof(ScarpDie, clock) + SCARP_CLOCK_SPENT_AT ==
                SCARP_CACHE_LINE);

/*
 * The queues of a channel. Waiters in WAIT_GC go before waiters in WAIT_ANY
 * (controller.gc_first_on_channel).
 */
enum { WAIT_GC, WAIT_ANY, WAIT__COUNT };

typedef struct {
    /*
     * first and last waiter: die * 2 (the die's current command) or die * 2 + 1
     * (ahead); SCARP_NONE: none
     */
    uint32_t head, tail;
} ScarpChannelQueue;

typedef struct {
    int64_t free_ns;
    ScarpChannelQueue wait[WAIT__COUNT];
} ScarpChannel;

/* A phase of a flash command, remembered for observers. */
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
    uint32_t *kicked; /* [n_dies] ring of dies that look for work next */
    uint32_t first_kicked, n_kicked;
    uint32_t *relieved; /* [n_dies] or NULL: see scarp_nand_note_relief() */
    uint32_t n_relieved;
    ScarpPool pool;   /* free flash commands */
    /*
     * Array times of each page offset of the real mode (nand.cell_bits bits in
     * a cell), then of each page offset of SLC mode: nand/timing.c
     */
    int64_t *read_ns_of, *program_ns_of; /* [pages_per_block + slc_pages] */
    bool pages_alike; /* all pages have equal array times */
    bool times_vary;  /* with the mode of a block, or with temperature */
    int64_t page_transfer_ns;
    ScarpFlashQueue *unpaired; /* [plane]; NULL unless ftl.paired_pages=pad */
    GArray *seen; /* of ScarpSeenPhase; NULL: no observer wants phases */
} ScarpNand;

#endif /* SCARP_NAND_STATE_H */
