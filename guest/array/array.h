/*
 * An array of drives behind a page cache: public interface of the core
 *
 * After Zheng, Burns and Szalay's "Optimize Unsynchronized Garbage Collection
 * in an SSD Array"; section numbers below are that paper's. docs/papers/safs.md
 * decides what the paper leaves open.
 *
 * The core is a state machine. It knows no threads, clocks or files, takes no
 * lock, and allocates nothing after array_new(). Requests come in by
 * array_submit(); I/O for the drives goes out by ArrayOps.issue, and its end
 * comes back by array_io_done(). One thread at a time calls the core; ArrayOps'
 * functions must not call it.
 *
 * The core uses libc only, so that it builds for the guest as for the host.
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
 * Configuration: array_config_init() sets the defaults; keys.c has ranges and
 * meanings.
 */
typedef struct {
    /* Set by the caller. */
    uint32_t n_drives;
    const uint64_t *drive_bytes;  /* [n_drives], read by array_new() only */
    uint64_t data_offset_bytes;   /* where data begins on each drive */
    /*
     * array_memory_bytes() bytes, owned by the caller, or NULL: then the core
     * keeps and moves no data, and only the order of events is right.
     */
    void *memory;
    /*
     * NULL, or array_buffers() zeroes, owned by the caller. If the data in a
     * buffer of memory is on no drive, the buffer's mark is one more than its
     * page's number, else 0. An owner that keeps marks and memory beyond the
     * end of the process, however it ends, can write acknowledged data later.
     */
    uint64_t *marks;

    /* Keys. */
    uint64_t page_bytes;
    uint64_t stripe_bytes;   /* striping unit */
    uint64_t cache_bytes;    /* 0: 4096 pages a drive */
    uint64_t set_pages;      /* 12 in the paper (3.3) */
    uint64_t clean_first;    /* evict clean pages first (3.3) */
    uint64_t flusher;        /* 0: dirty pages leave by eviction only */
    uint64_t dirty_pages;    /* the flusher wakes above this many in a set */
    uint64_t flush_batch;    /* pages of a set that it writes at a time */
    uint64_t max_flushes;    /* pending flush requests, a drive (3.3) */
    uint64_t stale_score;    /* flush requests below it are discarded */
    uint64_t slots;          /* I/O on a drive at once (3.2) */
    uint64_t reserved_slots; /* those of them that flush requests cannot use */
    uint64_t retries;        /* of a write that failed */
} ArrayConfig;

typedef struct {
    const char *name;
    const char *help;
    uint64_t min, max;
    size_t offset; /* of its uint64_t in ArrayConfig */
    uint64_t fallback;
} ArrayKey;

extern const ArrayKey array_keys[];
extern const size_t array_key_count;

void array_config_init(ArrayConfig *config);
/*
 * Parses "key=value,key=value"; NULL or "" sets no key. False: error (of
 * ARRAY_ERROR_BYTES) names the key and says what is allowed.
 */
bool array_config_parse(ArrayConfig *config, const char *text, char *error);
/* True when the value is in the key's range. */
bool array_key_allows(const char *name, uint64_t value);
/* True when array_new() would accept the values together. */
bool array_config_check(const ArrayConfig *config, char *error);
/* Number of the cache's pages. */
size_t array_cached_pages(const ArrayConfig *config);
/*
 * Number of buffers: the cache's, and those for the new contents of pages that
 * change while they are written, or whose old contents are the only copy.
 */
size_t array_buffers(const ArrayConfig *config);
size_t array_memory_bytes(const ArrayConfig *config); /* of these buffers */

/* ---- Requests of the application --------------------------------------- */

typedef enum {
    ARRAY_OP_READ,
    ARRAY_OP_WRITE,
    /*
     * A flush: ends when all writes that had been acknowledged are on the
     * drives, and the drives were told to keep them (3.4).
     */
    ARRAY_OP_FLUSH,
    /*
     * A discard: the contents of the range's whole pages are of no use any
     * more, and the drives are told so. Until they are written again, each read
     * may return zeroes, or any earlier contents.
     */
    ARRAY_OP_DISCARD,
} ArrayOp;

/*
 * A request. The caller owns it, and keeps it and the memory at data until
 * ArrayOps.done returns it. Offsets and lengths need no alignment.
 */
struct ArrayRequest {
    /* Set by the caller. */
    ArrayOp op;
    bool fua; /* write: ends as a flush does */
    uint64_t offset_bytes;
    uint64_t length_bytes;
    void *data; /* may be NULL when the core has no memory */
    void *opaque;

    /*
     * Set by the array: 0 or an errno. EINVAL: the range is outside the array.
     * EIO: a read failed, a part of a page could not be read before it was
     * written, or no page could be made free because none can be written back.
     * A write that failed may have been done in part. A flush: data that it
     * covers is not on its drive; the data stays in the cache, and later
     * flushes try again.
     */
    int error;

    /* Private to the array. */
    uint64_t cursor; /* bytes handed to the cache so far */
    uint64_t parts;  /* pages to wait for, plus 1 while handed out */
    uint64_t epoch;  /* flush: covers this epoch and those before */
    uint64_t owed;   /* flush: pages of that epoch not yet on a drive */
    ArrayRequest *next;
};

/* ---- I/O for the drives ------------------------------------------------ */

typedef enum {
    ARRAY_IO_READ,
    ARRAY_IO_WRITE,
    ARRAY_IO_FLUSH, /* acknowledged data then survives a power cut */
    ARRAY_IO_DISCARD, /* the drive may zero the range */
} ArrayIoOp;

/*
 * An I/O. The array owns it; the adapter has it from issue() to
 * array_io_done().
 */
struct ArrayIo {
    ArrayIoOp op;
    bool low; /* a flush request, which nobody waits for */
    uint32_t drive;
    uint32_t slot; /* below ArrayConfig.slots; one I/O at a time */
    uint64_t offset_bytes; /* on the drive */
    uint64_t length_bytes; /* 0: flush; one page, unless a discard */
    void *data; /* unchanged until the end; NULL without memory */
    void *opaque; /* the adapter's */

    /* Private to the array. */
    uint32_t page;
    uint32_t buffer;
    uint64_t epoch;
};

typedef struct {
    /* Starts the I/O; at most ArrayConfig.slots on a drive. Must not refuse. */
    void (*issue)(void *opaque, ArrayIo *io);
    /* Returns the request to the caller. */
    void (*done)(void *opaque, ArrayRequest *request);
} ArrayOps;

/* Makes an array. NULL: error (of ARRAY_ERROR_BYTES) is one line. */
Array *array_new(const ArrayConfig *config, const ArrayOps *ops, void *opaque,
                 char *error);
/*
 * Frees an array without outstanding requests; dirty pages are lost: flush
 * before.
 */
void array_free(Array *array);
uint64_t array_bytes(const Array *array); /* that requests may address */

void array_submit(Array *array, ArrayRequest *request);
/*
 * Ends an I/O. error: 0 or an errno; EIO if fewer bytes than length_bytes were
 * moved.
 */
void array_io_done(Array *array, ArrayIo *io, int error);

/* ---- Statistics and checks --------------------------------------------- */

/* Counts since array_new() or array_stats_reset(); of pages unless noted. */
typedef struct {
    uint64_t hits;   /* parts of requests whose page was in the cache */
    uint64_t misses; /* parts whose page was not, or was being read */
    uint64_t read;   /* from drives */
    uint64_t written; /* to drives, successfully */
    uint64_t written_low; /* those written by the flusher */
    uint64_t evicted_dirty; /* written because a request wanted the place */
    uint64_t barrier_writes; /* written because a flush waits for them */
    uint64_t flush_requests; /* put in low-priority queues */
    uint64_t discarded_evicted; /* discarded by rule (i) of section 3.3.2 */
    uint64_t discarded_cleaned; /* (ii) */
    uint64_t discarded_score;   /* (iii) */
    uint64_t flush_pending_max; /* most pending at once */
    uint64_t copied;       /* changed while they were being written */
    uint64_t waited;       /* parts that could not be served at once */
    uint64_t drive_flushes;
    uint64_t read_errors;
    uint64_t write_errors; /* each attempt */
    uint64_t failed;       /* writes given up until the next flush or write */
} ArrayStats;

const ArrayStats *array_stats(const Array *array);
void array_stats_reset(Array *array);
/* Pages not on their drive; those of them whose last attempts all failed. */
uint64_t array_dirty_pages(const Array *array);
uint64_t array_failed_pages(const Array *array);
/* Flush requests that are queued or being written by low-priority I/O. */
uint64_t array_pending_flushes(const Array *array);

/* True when no request and no I/O is outstanding. False: why is one line. */
bool array_quiet(const Array *array, char *why);
/*
 * Checks every invariant, from scratch; linear in the cache. False: why is one
 * line.
 */
bool array_check(const Array *array, char *why);

#endif /* ARRAY_H */
