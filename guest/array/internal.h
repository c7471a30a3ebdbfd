/*
 * Declarations that the core's files share, and nobody else uses.
 *
 * Who owns what:
 *   cache.c          the pages' numbers, contents, states; waiting parts
 *   gclock.c         hits and the clock's hand of each set
 *   writeback.c      dirty pages, their epochs; the result of a write
 *   drive_queues.c   the drives' queues and slots
 *   stale_flushes.c  which flush requests are discarded at their queue's head
 *   flusher.c        the FIFO of sets, the number of pending flush requests
 *   barrier.c        epochs, pending flushes
 *   discard.c        pending discards
 *   array.c          requests, parts, and the order in which all this runs
 *   copy.c           copies of pages
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_INTERNAL_H
#define ARRAY_INTERNAL_H

#include "array.h"

#define NONE UINT32_MAX
#define NO_NUMBER UINT64_MAX

enum {
    PAGE_VALID = 1,   /* its contents are right */
    PAGE_READING = 2, /* contents come; only HIGH may be set, too */
    PAGE_DIRTY = 4,   /* it has data that no write carries */
    PAGE_HIGH = 8,    /* in its drive's high-priority queue */
    PAGE_WRITING = 16,
    PAGE_FAILED = 32, /* dirty, and all attempts to write it failed */
    PAGE_ASKED = 64,  /* a flush request is queued: Page.flush */
};

/*
 * Half a line of a processor's cache: a large cache's pages are mostly not
 * there.
 */
typedef struct {
    uint64_t epoch;     /* while DIRTY: of its oldest unwritten data */
    uint32_t buffer;    /* the buffer of its contents */
    uint32_t next;      /* in the high-priority queue, or dirty list */
    uint32_t prev;      /* in the dirty list: page_listed() */
    uint32_t flush;     /* its flush request, or NONE */
    uint16_t drive;
    uint16_t io;        /* while WRITING: its slot plus 1; else 0 */
    uint8_t tries;      /* failed writes in a row */
} Page;

/* A page's share of a request that has to wait. */
typedef struct {
    ArrayRequest *request;
    uint64_t number; /* of the page */
    uint64_t at;     /* in the request's data */
    uint32_t from;   /* in the page */
    uint32_t length;
    uint32_t next;
} Part;

typedef struct {
    uint32_t hand;    /* the clock's hand: a page of the set */
    uint32_t unclean; /* pages that are DIRTY or WRITING */
    uint32_t waiting_first, waiting_last; /* parts in order of arrival */
    uint32_t fifo_next; /* the set that the flusher visits after this */
    bool in_fifo;
} Set;

/* An entry of a low-priority queue, which does not pin its page. */
typedef struct {
    uint64_t number; /* the page's number when it was put there */
    uint32_t page;
    uint32_t next;
} FlushEntry;

typedef struct {
    uint32_t high_first, high_last; /* pages */
    uint32_t high_length;
    uint32_t low_first, low_last; /* flush entries */
    uint32_t dirty_first, dirty_last; /* pages by epoch, oldest first */
    uint32_t free_slots;
    uint32_t *slot_stack; /* [slots] */
    ArrayIo *ios;         /* [slots] */
    bool unflushed;    /* it acknowledged writes since its last flush */
    bool flush_wanted; /* a flush command is to be issued */
    bool lost;         /* it could not keep acknowledged data */
    uint32_t flush_tries;
    uint64_t discard_at, discard_bytes; /* to be issued; 0 bytes: none */
    bool kicked;       /* it is in Array.kicks */
} Drive;

struct Array {
    ArrayConfig config;
    ArrayOps ops;
    void *opaque;
    bool inside; /* a function of the interface runs */

    /* State of map.c. */
    uint64_t stripe_pages;
    uint64_t n_pages; /* pages of the array */

    /* State of cache.c. */
    uint32_t n_sets, n_cached; /* sets, and their pages */
    uint64_t *numbers; /* [n_cached], NO_NUMBER: empty */
    /* Arrays that are read for all pages of a set are contiguous. */
    uint8_t *flags;    /* [n_cached] of PAGE_… */
    uint16_t *hits;    /* [n_cached]: hits that GClock has not taken */
    Page *pages;       /* [n_cached] */
    Set *sets;         /* [n_sets] */
    uint32_t *spares;  /* buffers without a page */
    uint32_t n_spares;

    /* State of drive_queues.c. */
    Drive *drives;
    uint32_t *kicks; /* stack of drives whose queues must run */
    uint32_t n_kicks;

    /* State of flusher.c. */
    FlushEntry *entries; /* max_flushes * n_drives */
    uint32_t entry_free;
    uint64_t flushes_pending;
    uint64_t flushes_max;
    uint64_t demand; /* visits owed for ended flush requests */
    uint32_t fifo_first, fifo_last; /* sets */

    /* State of barrier.c. */
    uint64_t epoch; /* of data written now */
    uint64_t open;  /* that epoch's pages not on their drives */
    ArrayRequest *barrier_first, *barrier_last;
    ArrayRequest *settling; /* the last one that the drives flush for */
    uint32_t drives_owed;   /* flush commands still awaited for it */

    /* State of discard.c. */
    ArrayRequest *discard_first, *discard_last; /* the first is under way */
    uint32_t discards_owed; /* drives whose discard is awaited */

    /* State of array.c. */
    Part *parts;
    uint32_t part_free, n_parts;
    ArrayRequest *backlog_first, *backlog_last; /* requests that lack parts */
    ArrayRequest *done_first, *done_last;
    uint64_t outstanding;

    ArrayStats stats;
};

/* ---- map.c ------------------------------------------------------------- */

/* Returns the drive of a page of the array, and its place there. */
uint32_t array_map(const Array *a, uint64_t number, uint64_t *offset_bytes);
/* Number of the drive's pages that lie before this page of the array. */
uint64_t array_map_before(const Array *a, uint64_t number, uint32_t drive);

/* ---- gclock.c ---------------------------------------------------------- */

static inline uint32_t set_first(const Array *a, uint32_t set)
{
    return set * (uint32_t)a->config.set_pages;
}

static inline uint32_t set_of_page(const Array *a, uint32_t page)
{
    return page / (uint32_t)a->config.set_pages;
}

/* Prefetches the lines of a set that are read first. */
static inline void set_fetch(const Array *a, uint32_t set)
{
    uint32_t first = set_first(a, set);

    __builtin_prefetch(&a->numbers[first]);
    __builtin_prefetch(&a->numbers[first + a->config.set_pages - 1]);
    __builtin_prefetch(&a->flags[first]);
    __builtin_prefetch(&a->hits[first]);
    __builtin_prefetch(&a->sets[set]);
}

void array_hit(Array *a, uint32_t page);
/*
 * Distance of section 3.3.1; unique in a set, small when the page leaves soon.
 */
uint32_t array_distance(const Array *a, uint32_t page);
/* Computes the distances of all pages of a set. */
void array_distances(const Array *a, uint32_t set, uint32_t *far);
/* Returns 0 (stays longest) to set_pages - 1 (leaves next). */
uint32_t array_flush_score(const Array *a, uint32_t page);
/*
 * Returns the page that leaves first, of those whose flags under mask are
 * value.
 */
uint32_t array_nearest(const Array *a, uint32_t set, uint8_t mask,
                       uint8_t value);
/*
 * Sweeps as GClock does, and returns an empty or clean page to take, or NONE.
 */
uint32_t array_victim(Array *a, uint32_t set);
/* Returns the dirty page whose write makes a place, or NONE. */
uint32_t array_dirty_victim(const Array *a, uint32_t set);

/* ---- cache.c ----------------------------------------------------------- */

uint32_t array_set_of(const Array *a, uint64_t number);
uint32_t array_find(const Array *a, uint32_t set, uint64_t number);
/*
 * Serves a part; false: it must wait in its set. first: it has not waited yet.
 */
bool array_part_run(Array *a, const Part *part, bool first);
void array_part_wait(Array *a, uint32_t part);
/* Serves the set's waiting parts that can be, in order, after a change. */
void array_set_run(Array *a, uint32_t set);
void array_read_done(Array *a, uint32_t page, int error);

/* ---- writeback.c ------------------------------------------------------- */

static inline bool page_listed(const Array *a, uint32_t page)
{
    return (a->flags[page] & (PAGE_DIRTY | PAGE_HIGH | PAGE_WRITING)) ==
           PAGE_DIRTY;
}

/* Returns the write of the page that is under way, or NULL. */
static inline ArrayIo *page_io(const Array *a, const Page *p)
{
    return p->io ? &a->drives[p->drive].ios[p->io - 1] : NULL;
}

/*
 * Prepares a change of the page's contents, and returns the buffer of the old
 * ones. The page gets another buffer if the old contents are still needed: a
 * write under way carries them, or they are marked, as the only copy of
 * acknowledged data, for whoever follows a killed process.
 */
uint32_t array_page_unshare(Array *a, uint32_t page, bool whole);
/* The contents have changed. */
void array_page_dirtied(Array *a, uint32_t page, uint32_t old);
/*
 * Drops a page whose contents nobody wants; nothing may be under way with it.
 */
void array_page_forget(Array *a, uint32_t page);
/* Moves a listed page to the high-priority queue. */
void array_page_write_soon(Array *a, uint32_t page);
/* The page goes to its drive now. */
void array_page_writing(Array *a, uint32_t page, ArrayIo *io);
void array_write_done(Array *a, ArrayIo *io, int error);

/* ---- drive_queues.c ---------------------------------------------------- */

void array_drive_kick(Array *a, uint32_t drive);
void array_drive_queue_high(Array *a, uint32_t page);
void array_drive_queue_low(Array *a, uint32_t entry);
/* Issues the I/O that may be issued. */
void array_drive_run(Array *a, uint32_t drive);

/* ---- stale_flushes.c --------------------------------------------------- */

/* Returns the statistic of the rule by which the request is stale, or NULL. */
uint64_t *array_flush_stale(Array *a, uint32_t entry);
/*
 * Takes the head of a drive's low-priority queue, which must not be empty:
 * returns the page to write, or NONE, as the request was stale.
 */
uint32_t array_flush_take(Array *a, uint32_t drive);

/* ---- flusher.c --------------------------------------------------------- */

/* A page of the set became dirty. */
void array_flusher_consider(Array *a, uint32_t set);
/* A flush request was discarded, or its write ended. */
void array_flusher_ended(Array *a);
void array_entry_free(Array *a, uint32_t entry);
/* Makes the visits that are owed. */
void array_flusher_run(Array *a);

/* ---- barrier.c --------------------------------------------------------- */

void array_barrier_submit(Array *a, ArrayRequest *request);
/* A page that owed its data to this epoch no longer does. */
void array_epoch_paid(Array *a, uint64_t epoch);
/* Makes all that waits for data of this epoch end with an error. */
void array_barrier_fail(Array *a, uint64_t epoch);
/* The last epoch that a barrier waits for; 0: none. */
uint64_t array_barrier_epoch(const Array *a);
void array_barrier_run(Array *a);
void array_drive_flushed(Array *a, uint32_t drive, int error);

/* ---- discard.c --------------------------------------------------------- */

void array_discard_submit(Array *a, ArrayRequest *request);
void array_discard_run(Array *a);
void array_drive_discarded(Array *a, uint32_t drive, int error);

/* ---- array.c ----------------------------------------------------------- */

void array_part_end(Array *a, uint32_t part, int error);
void array_request_end(Array *a, ArrayRequest *request);

/* ---- copy.c ------------------------------------------------------------ */

void array_copy(void *to, const void *from, size_t bytes);

static inline void *array_buffer(const Array *a, uint32_t buffer)
{
    return a->config.memory ? (char *)a->config.memory +
                                  (size_t)buffer * a->config.page_bytes : NULL;
}

#endif /* ARRAY_INTERNAL_H */
