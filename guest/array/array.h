/*
 * An array of drives behind a page cache: public interface of the core
 *
 * After Zheng, Burns and Szalay's "Optimize Unsynchronized Garbage Collection
 * in an SSD Array"; section numbers below are that paper's.  What it leaves
 * open is decided in docs/papers/safs.md.
 *
 * The core is a state machine.  It knows no threads, clocks or files, takes
 * no lock, and allocates nothing after array_new().  Requests come in by
 * array_submit(), what must be done on the drives goes out by ArrayOps.issue,
 * and its end comes back by array_io_done().  One thread at a time calls it;
 * ArrayOps' functions must not call it.
 *
 * It uses libc only, so that it builds for the guest as for the host.
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

/* array_config_init() sets the defaults; keys.c has ranges and meanings. */
typedef struct {
    /* Set by the caller: what there is */
    uint32_t n_drives;
    const uint64_t *drive_bytes;  /* [n_drives], read by array_new() only */
    uint64_t data_offset_bytes;   /* where data begin on each drive */
    /*
     * array_memory_bytes() of it, owned by the caller, or NULL: then no data
     * are kept or moved, and only what would happen when is right.
     */
    void *memory;
    /*
     * NULL, or array_buffers() of them, zeroes, owned by the caller: a mark is
     * one more than the number of the page whose data in that buffer of memory
     * are not on a drive, else 0.  Who keeps marks and memory beyond the end of
     * the process, however it ends, can write what was acknowledged later.
     */
    uint64_t *marks;

    /* Keys */
    uint64_t page_bytes;
    uint64_t stripe_bytes;   /* striping unit */
    uint64_t cache_bytes;    /* 0: 4096 pages a drive */
    uint64_t set_pages;      /* 12 in the paper (3.3) */
    uint64_t clean_first;    /* evict clean pages first (3.3) */
    uint64_t flusher;        /* 0: dirty pages leave by eviction only */
    uint64_t dirty_pages;    /* the flusher wakes above so many in a set */
    uint64_t flush_batch;    /* pages of a set at a time */
    uint64_t max_flushes;    /* pending, a drive (3.3) */
    uint64_t stale_score;    /* flush requests below it are discarded */
    uint64_t slots;          /* I/O on a drive at once (3.2) */
    uint64_t reserved_slots; /* of them, kept free of flush requests */
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
 * "key=value,key=value"; NULL or "" is none.  False: error (of
 * ARRAY_ERROR_BYTES) names the key and says what is allowed.
 */
bool array_config_parse(ArrayConfig *config, const char *text, char *error);
/* Whether a key may have the value, whatever the others have. */
bool array_key_allows(const char *name, uint64_t value);
/* What the values are good for together; as array_new() finds them. */
bool array_config_check(const ArrayConfig *config, char *error);
/* Of the cache alone. */
size_t array_cached_pages(const ArrayConfig *config);
/*
 * With those for the new contents of pages that change while they are written,
 * or while the old contents are all that there is.
 */
size_t array_buffers(const ArrayConfig *config);
size_t array_memory_bytes(const ArrayConfig *config); /* that these have */

/* ---- Requests: what the application wants ------------------------------ */

typedef enum {
    ARRAY_OP_READ,
    ARRAY_OP_WRITE,
    /*
     * Ends when all writes that had been acknowledged are on the drives, and
     * the drives were told to keep them (3.4).
     */
    ARRAY_OP_FLUSH,
    /*
     * What the whole pages of the range hold is of no use any more, and the
     * drives are told so.  Until they are written again they read as zeroes, or
     * as what was there at any time before, now this and now that.
     */
    ARRAY_OP_DISCARD,
} ArrayOp;

/*
 * The caller owns it, and keeps it and the memory at data until it comes back
 * by ArrayOps.done.  Offsets and lengths are of any number of bytes.
 */
struct ArrayRequest {
    /* Set by the caller */
    ArrayOp op;
    bool fua; /* write: then as a flush */
    uint64_t offset_bytes;
    uint64_t length_bytes;
    void *data; /* may be NULL when the core has no memory */
    void *opaque;

    /*
     * Set by the array: 0 or an errno.  EINVAL: not inside the array.  EIO: a
     * read failed, a part of a page could not be read before it was written,
     * or no page could be made free because none can be written back.  A
     * write that failed may have been done in part.  A flush: something that
     * it covers is not on its drive; it stays in the cache, and later flushes
     * try again.
     */
    int error;

    /* The array's own */
    uint64_t cursor; /* bytes handed to the cache so far */
    uint64_t parts;  /* pages that it waits for, one more while handed out */
    uint64_t epoch;  /* flush: covers what was written in it and before */
    uint64_t owed;   /* flush: pages of that epoch not yet on a drive */
    ArrayRequest *next;
};

/* ---- I/O: what the drives must do -------------------------------------- */

typedef enum {
    ARRAY_IO_READ,
    ARRAY_IO_WRITE,
    ARRAY_IO_FLUSH, /* what the drive has acknowledged survives a power cut */
    ARRAY_IO_DISCARD, /* it may keep the range, or make zeroes of it */
} ArrayIoOp;

/* The array owns it; the adapter has it from issue() to array_io_done(). */
struct ArrayIo {
    ArrayIoOp op;
    bool low; /* a flush request: nobody waits for it */
    uint32_t drive;
    uint32_t slot; /* below ArrayConfig.slots, one I/O at a time */
    uint64_t offset_bytes; /* on the drive */
    uint64_t length_bytes; /* 0: flush; of pages one, but for discards */
    void *data; /* unchanged until the end; NULL without memory */
    void *opaque; /* the adapter's */

    /* The array's own */
    uint32_t page;
    uint32_t buffer;
    uint64_t epoch;
};

typedef struct {
    /* Start it; at most ArrayConfig.slots on a drive.  Never refuses. */
    void (*issue)(void *opaque, ArrayIo *io);
    /* The request is the caller's again. */
    void (*done)(void *opaque, ArrayRequest *request);
} ArrayOps;

/* NULL: error (of ARRAY_ERROR_BYTES) is one line. */
Array *array_new(const ArrayConfig *config, const ArrayOps *ops, void *opaque,
                 char *error);
/* Nothing may be outstanding; what is dirty is lost: flush before. */
void array_free(Array *array);
uint64_t array_bytes(const Array *array); /* that requests may address */

void array_submit(Array *array, ArrayRequest *request);
/*
 * error: 0 or an errno; an I/O that moved fewer bytes than length_bytes is an
 * EIO, and the adapter says so.
 */
void array_io_done(Array *array, ArrayIo *io, int error);

/* ---- Looking at it ----------------------------------------------------- */

/* Counted since array_new() or array_stats_reset(); pages unless said. */
typedef struct {
    uint64_t hits;   /* parts of requests whose page was in the cache */
    uint64_t misses; /* … was not, or was still being read */
    uint64_t read;   /* from drives */
    uint64_t written; /* to drives, successfully */
    uint64_t written_low; /* of them, by the flusher */
    uint64_t evicted_dirty; /* written because a request wanted their place */
    uint64_t barrier_writes; /* written because a flush waits for them */
    uint64_t flush_requests; /* put in low-priority queues */
    uint64_t discarded_evicted; /* of them, by rule (i) of section 3.3.2 */
    uint64_t discarded_cleaned; /* (ii) */
    uint64_t discarded_score;   /* (iii) */
    uint64_t flush_pending_max; /* most at once */
    uint64_t copied;       /* changed while they were being written */
    uint64_t waited;       /* parts that could not be served at once */
    uint64_t drive_flushes;
    uint64_t read_errors;
    uint64_t write_errors; /* each attempt */
    uint64_t failed;       /* given up until the next flush or write, events */
} ArrayStats;

const ArrayStats *array_stats(const Array *array);
void array_stats_reset(Array *array);
/* Pages not on their drive; of them those whose last attempts all failed. */
uint64_t array_dirty_pages(const Array *array);
uint64_t array_failed_pages(const Array *array);
/* Flush requests queued or being written; low-priority I/O among them. */
uint64_t array_pending_flushes(const Array *array);

/* No request and no I/O is outstanding.  False: why is one line. */
bool array_quiet(const Array *array, char *why);
/* Every invariant, from scratch; linear in the cache.  False: as above. */
bool array_check(const Array *array, char *why);

#endif /* ARRAY_H */
