/*
 * An array of drives behind a page cache: public interface of the core
 *
 * The design is that of Zheng, Burns and Szalay, "Optimize Unsynchronized
 * Garbage Collection in an SSD Array"; section numbers below are that paper's.
 * docs/papers/safs.md decides what the paper leaves open.
 *
 * The core is a state machine. It knows no threads, clocks or files, takes no
 * lock, and allocates nothing after array_new(). Applications hand requests in
 * by array_submit(). The core hands I/O for the drives out by ArrayOps.issue,
 * and hears of its end by array_io_done(). One thread at a time calls the core;
 * ArrayOps' functions must not call it.
 *
 * The core uses libc only, so that the guest and the host can build it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_H
#define ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_MAX_DRIVES 256
#define ARRAY_MAX_SET_PAGES 64
#define ARRAY_ERROR_BYTES 256 /* room for any message of this interface */

typedef struct Array Array;
typedef struct ArrayRequest ArrayRequest;
typedef struct ArrayIo ArrayIo;

/* ---- Configuration ----------------------------------------------------- */

/*
 * Configuration of an array. array_config_init() sets defaults; keys.c has
 * ranges and meanings of the keys.
 */
typedef struct {
    /* Set by the caller. */
    uint32_t n_drives;
    const uint64_t *drive_bytes;  /* [n_drives], read by array_new() only */
    uint64_t data_offset_bytes;   /* where data begins on each drive */
    /*
     * Memory of array_memory_bytes() bytes for the buffers, owned by the
     * caller. NULL: the core keeps and moves no data, and only the order of
     * events is right.
     */
    void *memory;
    /*
     * NULL, or an array of array_buffers() marks, all 0 at first, owned by the
     * caller. While the data in a buffer is on no drive, the buffer's mark is
     * the number of its page plus 1; else the mark is 0. A caller who keeps
     * `marks` and `memory` beyond the end of the process, however it ends, can
     * write acknowledged data to the drives later.
     */
    uint64_t *marks;

    /* Keys. */
    uint64_t page_bytes;
    uint64_t stripe_bytes;   /* striping unit, on one drive */
    uint64_t cache_bytes;    /* page cache; 0: 4096 pages a drive */
    uint64_t set_pages;      /* pages of a set; 12 in the paper (3.3) */
    uint64_t clean_first;    /* evict clean pages first (3.3) */
    uint64_t flusher;        /* 0: a dirty page is written when it must leave */
    uint64_t dirty_pages;    /* more dirty pages in a set wake the flusher */
    uint64_t flush_batch;    /* pages that the flusher asks for in a visit */
    uint64_t max_flushes;    /* pending flush requests for each drive (3.3) */
    uint64_t stale_score;    /* flush requests of less score are discarded */
    uint64_t slots;          /* I/O on a drive at once (3.2) */
    uint64_t reserved_slots; /* slots that flush requests cannot use */
    uint64_t retries;        /* attempts after a write that failed */
} ArrayConfig;

typedef struct {
    const char *name;
    const char *help;
    uint64_t min, max;
    size_t offset; /* of the key's member in ArrayConfig */
    uint64_t fallback;
} ArrayKey;

extern const ArrayKey array_keys[];
extern const size_t array_key_count;

void array_config_init(ArrayConfig *config);
/*
 * Sets the keys that text names as "key=value,key=value"; NULL or "" sets no
 * key. False: error (of ARRAY_ERROR_BYTES) names the key and says what is
 * allowed.
 */
bool array_config_parse(ArrayConfig *config, const char *text, char *error);
/* True when the key of that name may have the value. */
bool array_key_allows(const char *name, uint64_t value);
/* True when array_new() would accept config. False: error says why not. */
bool array_config_check(const ArrayConfig *config, char *error);
/* Returns the number of pages in the cache. */
size_t array_cached_pages(const ArrayConfig *config);
/*
 * Returns the number of buffers. Each page of the cache has one. A page that
 * changes takes another buffer while a write carries its old contents, or while
 * those are the only copy of acknowledged data.
 */
size_t array_buffers(const ArrayConfig *config);
size_t array_memory_bytes(const ArrayConfig *config); /* of all buffers */

/* ---- Requests of the application --------------------------------------- */

typedef enum {
    ARRAY_OP_READ,
    ARRAY_OP_WRITE,
    /*
     * A flush ends when every write that was acknowledged before it is on its
     * drive, and the drives have flushed their own caches (3.4).
     */
    ARRAY_OP_FLUSH,
    /*
     * A discard tells the drives that the contents of the range's whole pages
     * are of no use any more. Until such a page is written again, each read of
     * it may return zeroes or any earlier contents.
     */
    ARRAY_OP_DISCARD,
} ArrayOp;

/*
 * A request. The caller owns the request, and keeps it and the memory at data
 * until ArrayOps.done returns it. Offsets and lengths need no alignment.
 */
struct ArrayRequest {
    /* Set by the caller. */
    ArrayOp op;
    bool fua; /* for a write: it ends when a flush after it would end */
    uint64_t offset_bytes;
    uint64_t length_bytes;
    void *data; /* may be NULL when the core has no memory */
    void *opaque;

    /*
     * Set by the array: 0 or an errno.
     *  - EINVAL: the range is outside the array.
     *  - EIO of a read or write: a read of a drive failed, or no page of a set
     *    could be made free because none can be written back. A write may have
     *    been done in part.
     *  - EIO of a flush: data that it covers is not on its drive. The data
     *    stays in the cache, and later flushes try again.
     */
    int error;

    /* Private to the array. */
    uint64_t cursor; /* bytes of the range that the cache got so far */
    uint64_t parts;  /* parts that wait, plus 1 while cursor moves */
    uint64_t epoch;  /* flush: the last epoch that it covers */
    uint64_t owed;   /* flush: pages with unwritten data of epoch */
    ArrayRequest *next;
};

/* ---- I/O for the drives ------------------------------------------------ */

typedef enum {
    ARRAY_IO_READ,
    ARRAY_IO_WRITE,
    ARRAY_IO_FLUSH, /* the drive makes its acknowledged data durable */
    ARRAY_IO_DISCARD, /* the range need not be kept, and may be zeroed */
} ArrayIoOp;

/*
 * An I/O for a drive. The array owns it. The adapter, which implements
 * ArrayOps, uses it from issue() to array_io_done().
 */
struct ArrayIo {
    ArrayIoOp op;
    bool low; /* the write of a flush request: nobody waits for it */
    uint32_t drive;
    uint32_t slot; /* below ArrayConfig.slots; a slot has one I/O at a time */
    uint64_t offset_bytes; /* from the drive's first byte */
    uint64_t length_bytes; /* flush: 0; read, write: a page; discard: any */
    void *data; /* unchanged until the end; NULL: no memory */
    void *opaque; /* for the adapter's use */

    /* Private to the array. */
    uint32_t page;
    uint32_t buffer;
    uint64_t epoch;
};

typedef struct {
    /*
     * Starts the I/O, and must not refuse. A drive has at most
     * ArrayConfig.slots of them at once.
     */
    void (*issue)(void *opaque, ArrayIo *io);
    /* Gives the request back to the caller of array_submit(). */
    void (*done)(void *opaque, ArrayRequest *request);
} ArrayOps;

/* Makes an array. NULL: error (of ARRAY_ERROR_BYTES) says why, in one line. */
Array *array_new(const ArrayConfig *config, const ArrayOps *ops, void *opaque,
                 char *error);
/*
 * Frees an array that is quiet (array_quiet()). Dirty pages are lost, so flush
 * the array before.
 */
void array_free(Array *array);
uint64_t array_bytes(const Array *array); /* size of the array */

void array_submit(Array *array, ArrayRequest *request);
/*
 * Tells the array that an I/O has ended. error: 0 or an errno; EIO if fewer
 * bytes than io->length_bytes were moved.
 */
void array_io_done(Array *array, ArrayIo *io, int error);

/* ---- Statistics and checks --------------------------------------------- */

/* Counts since array_new() or array_stats_reset(); of pages unless noted. */
typedef struct {
    uint64_t hits;   /* parts of requests that found their page */
    uint64_t misses; /* parts of requests that did not */
    uint64_t read;   /* from drives */
    uint64_t written; /* to drives, with success */
    uint64_t written_low; /* written for flush requests */
    uint64_t evicted_dirty; /* written because a part wanted the page's place */
    uint64_t barrier_writes; /* written because a flush waits for the page */
    uint64_t flush_requests; /* asked for by the flusher */
    /* flush requests discarded: the page has left */
    uint64_t discarded_evicted;
    /* flush requests discarded: the page is clean */
    uint64_t discarded_cleaned;
    /* flush requests discarded: score < stale_score */
    uint64_t discarded_score;
    uint64_t flush_pending_max; /* the most flush requests pending at once */
    uint64_t copied; /* pages that got another buffer while being written */
    uint64_t waited;       /* parts that could not be served at once */
    uint64_t drive_flushes;
    uint64_t read_errors;
    uint64_t write_errors; /* failed attempts of writes */
    /* pages whose write was given up for the time being */
    uint64_t failed;
} ArrayStats;

const ArrayStats *array_stats(const Array *array);
void array_stats_reset(Array *array);
/*
 * Return the number of pages whose data is on no drive, and of those among them
 * whose writes failed until there were no retries left.
 */
uint64_t array_dirty_pages(const Array *array);
uint64_t array_failed_pages(const Array *array);
/* Returns the number of flush requests that are queued or being written. */
uint64_t array_pending_flushes(const Array *array);

/*
 * True when no request and no I/O is outstanding. False: why says, in one line,
 * which ones are.
 */
bool array_quiet(const Array *array, char *why);
/*
 * Checks every invariant from scratch, in time linear in the cache. False: why
 * says, in one line, which one is broken.
 */
bool array_check(const Array *array, char *why);

#endif /* ARRAY_H */
