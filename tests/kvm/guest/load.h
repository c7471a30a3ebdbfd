/*
 * Writes and reads of single pages, whose data is known and compared.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_LOAD_H
#define BARE_LOAD_H

#include "nvme.h"

enum { LOAD_PAGES = 256, LOAD_DEPTH = 32 };

typedef enum {
    LOAD_FILL,  /* writes each page once, in order */
    LOAD_READS,
    LOAD_WRITES,
    LOAD_MIXED, /* reads and writes of random pages */
} LoadKind;

/* Waits for completions of the queue; NULL where they are polled for. */
typedef void LoadWait(Queue *queue);

/*
 * So many commands of the kind, at most `depth` in flight, to their ends.  A
 * wrong status or wrong data is a failure.  One processor at a time.
 */
void load_run(Queue *queue, LoadKind kind, uint32_t n, uint32_t depth,
              LoadWait *wait);
/* Reads that are not compared, with buffers of their own: beside load_run(). */
void load_read_beside(Queue *queue, uint32_t n, uint32_t depth, LoadWait *wait);
/* Pushes and rings so many reads; their ends are the caller's. */
void load_begin_reads(Queue *queue, uint32_t n);

/*
 * Reads one at a time: the median of the nanoseconds from the doorbell's write
 * until the completion is seen, and of those that the write itself takes.
 */
void load_latency(Queue *queue, uint32_t n, uint32_t *seen_ns,
                  uint32_t *doorbell_ns);

/* A number below limit; the same sequence in each run. */
uint32_t load_random(uint32_t limit);

#endif /* BARE_LOAD_H */
