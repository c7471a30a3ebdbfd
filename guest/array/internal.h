/*
 * Declarations that the files of the core share.
 *
 * Owners of the state:
 *  - cache.c: numbers, contents and flags of pages; parts that wait
 *  - gclock.c: hits of pages, and the clock's hand of each set
 *  - writeback.c: dirty pages and their epochs; results of writes
 *  - drive_queues.c: queues and slots of the drives
 *  - stale_flushes.c: which flush requests are discarded when they are taken
 *    from their queue
 *  - flusher.c: the FIFO of sets, and the number of pending flush requests
 *  - barrier.c: epochs, and the flushes that have not ended
 *  - discard.c: the discards that have not ended
 *  - array.c: requests, parts, and the order in which all this runs
 *  - copy.c: copies of pages
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_INTERNAL_H
#define ARRAY_INTERNAL_H

#include "array.h"

#define NONE UINT32_MAX
#define NO_NUMBER UINT64_MAX

enum {
    PAGE_VALID = 1,   /* the contents are right */
    PAGE_READING = 2, /* a read will bring the contents; HIGH may be set, too */
    PAGE_DIRTY = 4,   /* the page has data that no write carries */
    PAGE_HIGH = 8,    /* the page is in its drive's high-priority queue */
    PAGE_WRITING = 16,
    PAGE_FAILED = 32, /* the page is dirty, and no retry is left */
    PAGE_ASKED = 64,  /* a flush request for the page is queued: Page.flush */
};

/*
 * A page of the cache. A record is half a line of the processor's cache, so
 * that an access fetches a single line: the records of a large page cache are
 * mostly not in the processor's cache.
 */
typedef struct {
    uint64_t epoch;     /* while DIRTY: of the page's oldest unwritten data */
    uint32_t buffer;    /* the buffer with the page's contents */
    uint32_t next;      /* in the high-priority queue, or dirty list */
    uint32_t prev;      /* in the dirty list: page_listed() */
    uint32_t flush;     /* entry of the page's flush request, or NONE */
    uint16_t drive;
    uint16_t io;        /* while WRITING: the I/O's slot plus 1; else 0 */
    uint8_t tries;      /* failed writes in a row */
} Page;

/*
 * A part of a request, the bytes that lie in one page of the array, while it
 * has to wait for that page.
 */
typedef struct {
    ArrayRequest *request;
    uint64_t number; /* the page of the array */
    uint64_t at;     /* offset in the request's data */
    uint32_t from;   /* offset in the page */
    uint32_t length;
    uint32_t next;
} Part;

typedef struct {
    uint32_t hand;    /* the clock's hand: a page of the set */
    uint32_t unclean; /* pages that are DIRTY or WRITING */
    uint32_t waiting_first, waiting_last; /* parts in order of arrival */
    uint32_t fifo_next; /* the next set in the flusher's FIFO */
    bool in_fifo;
} Set;

/*
 * A flush request in the low-priority queue of a drive. The page may leave the
 * cache while its flush request is queued.
 */
typedef struct {
    uint64_t number; /* number of the page when the request was made */
    uint32_t page;
    uint32_t next;
} FlushEntry;

typedef struct {
    uint32_t high_first, high_last; /* pages */
    uint32_t high_length;
    uint32_t low_first, low_last; /* flush entries */
    uint32_t dirty_first, dirty_last; /* list by epoch, oldest first */
    uint32_t free_slots;
    uint32_t *slot_stack; /* [slots] */
    ArrayIo *ios;         /* [slots] */
    bool unflushed;    /* writes ended since the last flush began */
    bool flush_wanted; /* a flush command is to be issued */
    bool lost;         /* a flush failed for good: data may be lost */
    uint32_t flush_tries;
    uint64_t discard_at, discard_bytes; /* discard to issue; 0 bytes: none */
    bool kicked;       /* the drive is in Array.kicks */
} Drive;

struct Array {
    ArrayConfig config;
    ArrayOps ops;
    void *opaque;
    bool inside; /* a function of the interface is running */

    /* State of map.c. */
    uint64_t stripe_pages;
    uint64_t n_pages; /* pages of the array */

    /* State of cache.c. */
    uint32_t n_sets, n_cached; /* number of sets, and of all their pages */
    uint64_t *numbers; /* [n_cached], NO_NUMBER: empty */
    /*
     * Members that a search reads for all pages of a set are arrays of their
     * own, so that a set takes few lines of the processor's cache.
     */
    uint8_t *flags;    /* [n_cached] of PAGE_… */
    uint16_t *hits;    /* [n_cached]: hits that the hand has not taken */
    Page *pages;       /* [n_cached] */
    Set *sets;         /* [n_sets] */
    uint32_t *spares;  /* stack of buffers that no page has */
    uint32_t n_spares;

    /* State of drive_queues.c. */
    Drive *drives;
    uint32_t *kicks; /* stack of drives whose queues are to be run */
    uint32_t n_kicks;

    /* State of flusher.c. */
    FlushEntry *entries; /* max_flushes * n_drives */
    uint32_t entry_free;
    uint64_t flushes_pending;
    uint64_t flushes_max;
    /* visits of sets still to make, for ended flush requests */
    uint64_t demand;
    uint32_t fifo_first, fifo_last; /* sets */

    /* State of barrier.c. */
    uint64_t epoch; /* the epoch of data that is written now */
    uint64_t open;  /* pages with unwritten data of that epoch */
    ArrayRequest *barrier_first, *barrier_last;
    /* the last flush request that the drives' present flushes serve */
    ArrayRequest *settling;
    uint32_t drives_owed;   /* drives whose flush has not ended yet */

    /* State of discard.c. */
    ArrayRequest *discard_first, *discard_last; /* the first is being done */
    uint32_t discards_owed; /* drives whose discard has not ended yet */

    /* State of array.c. */
    Part *parts;
    uint32_t part_free, n_parts;
    /* requests for which no Part is free */
    ArrayRequest *backlog_first, *backlog_last;
    ArrayRequest *done_first, *done_last;
    uint64_t outstanding;

    ArrayStats stats;
};

/* ---- map.c ------------------------------------------------------------- */

/*
 * Returns the drive of page `number` of the array, and the page's offset there.
 */
uint32_t array_map(const Array *a, uint64_t number, uint64_t *offset_bytes);
/*
 * Returns how many pages of the drive are pages of the array before `number`.
 */
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

/*
 * Prefetches the lines of the processor's cache that a search of the set reads
 * first.
 */
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
 * Returns the page's distance (section 3.3.1): the steps of the clock's hand
 * until it takes the page. Distances are unique in a set.
 */
uint32_t array_distance(const Array *a, uint32_t page);
/* Computes the distances of all pages of a set into far[]. */
void array_distances(const Array *a, uint32_t set, uint32_t *far);
/*
 * Returns the page's flush score: how many pages of its set stay longer. 0: the
 * page stays longest; set_pages - 1: the page leaves next.
 */
uint32_t array_flush_score(const Array *a, uint32_t page);
/*
 * Returns the page of the set that leaves first, of the pages with (flags &
 * mask) == value; NONE: there are none.
 */
uint32_t array_nearest(const Array *a, uint32_t set, uint8_t mask,
                       uint8_t value);
/*
 * Returns an empty page of the set; or moves GClock's hand to a clean page and
 * returns that page; or returns NONE. The caller takes the page.
 */
uint32_t array_victim(Array *a, uint32_t set);
/*
 * Returns the dirty page that would leave the set first, or NONE. Its write
 * makes room.
 */
uint32_t array_dirty_victim(const Array *a, uint32_t set);

/* ---- cache.c ----------------------------------------------------------- */

uint32_t array_set_of(const Array *a, uint64_t number);
uint32_t array_find(const Array *a, uint32_t set, uint64_t number);
/*
 * Serves a part. False: the part must wait in its set. first: the part has not
 * waited before, so hits and misses count it.
 */
bool array_part_run(Array *a, const Part *part, bool first);
void array_part_wait(Array *a, uint32_t part);
/*
 * Called when pages of the set have changed: serves, in order of arrival, the
 * waiting parts of the set that can be served.
 */
void array_set_run(Array *a, uint32_t set);
void array_read_done(Array *a, uint32_t page, int error);

/* ---- writeback.c ------------------------------------------------------- */

static inline bool page_listed(const Array *a, uint32_t page)
{
    return (a->flags[page] & (PAGE_DIRTY | PAGE_HIGH | PAGE_WRITING)) ==
           PAGE_DIRTY;
}

/* Returns the I/O that writes the page, or NULL. */
static inline ArrayIo *page_io(const Array *a, const Page *p)
{
    return p->io ? &a->drives[p->drive].ios[p->io - 1] : NULL;
}

/*
 * Prepares a change of the page's contents. Returns the buffer with the old
 * contents. If that buffer is still needed, the page gets another buffer, into
 * which the old contents are copied unless `whole` says that all bytes change.
 * The old buffer is needed while an I/O writes it, and while its mark says that
 * it has the only copy of acknowledged data: that copy must stay whole if the
 * process is killed.
 */
uint32_t array_page_unshare(Array *a, uint32_t page, bool whole);
/*
 * Called when the page's contents have changed: makes the page dirty. old: as
 * array_page_unshare() returned it.
 */
void array_page_dirtied(Array *a, uint32_t page, uint32_t old);
/*
 * Drops a page, whose contents nobody wants, from the cache. No I/O and no
 * queue may have the page.
 */
void array_page_forget(Array *a, uint32_t page);
/* Moves a page from its drive's dirty list to the high-priority queue. */
void array_page_write_soon(Array *a, uint32_t page);
/* Called when io, which writes the page, is about to be issued. */
void array_page_writing(Array *a, uint32_t page, ArrayIo *io);
void array_write_done(Array *a, ArrayIo *io, int error);

/* ---- drive_queues.c ---------------------------------------------------- */

void array_drive_kick(Array *a, uint32_t drive);
void array_drive_queue_high(Array *a, uint32_t page);
void array_drive_queue_low(Array *a, uint32_t entry);
/* Issues I/O of the drive's queues as long as slots are free for it. */
void array_drive_run(Array *a, uint32_t drive);

/* ---- stale_flushes.c --------------------------------------------------- */

/*
 * Returns the counter of the rule that makes this flush request stale (section
 * 3.3.2). NULL: the flush request is worth a write.
 */
uint64_t *array_flush_stale(Array *a, uint32_t entry);
/*
 * Takes the first flush request from a drive's low-priority queue, which must
 * not be empty. Returns the page to write; NONE: the flush request was stale,
 * and is discarded.
 */
uint32_t array_flush_take(Array *a, uint32_t drive);

/* ---- flusher.c --------------------------------------------------------- */

/*
 * Called when a page of the set became dirty: visits the set if it has more
 * dirty pages than the key dirty_pages allows.
 */
void array_flusher_consider(Array *a, uint32_t set);
/* Called when a flush request was discarded, or its write has ended. */
void array_flusher_ended(Array *a);
void array_entry_free(Array *a, uint32_t entry);
/* Visits sets, once for each flush request that has ended. */
void array_flusher_run(Array *a);

/* ---- barrier.c --------------------------------------------------------- */

void array_barrier_submit(Array *a, ArrayRequest *request);
/* Called when a page no longer has unwritten data of this epoch. */
void array_epoch_paid(Array *a, uint64_t epoch);
/* Sets EIO for each flush that covers this epoch. */
void array_barrier_fail(Array *a, uint64_t epoch);
/* Returns the last epoch that a flush waits for; 0: no flush waits. */
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
