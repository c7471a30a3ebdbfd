/*
 * Child processes, each of which tries one instant of a run. At most at_once of
 * them run at a time. The pool writes their lines in the order in which the
 * processes began.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RERUN_POOL_H
#define SCARP_RERUN_POOL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct RerunPool RerunPool;

/*
 * Makes a pool whose processes write to `out`. `key` is the name of the JSON
 * member with the number of a line's instant.
 */
RerunPool *rerun_pool_new(uint32_t at_once, FILE *out, const char *key);
/* Frees the pool. All its processes must have ended. */
void rerun_pool_free(RerunPool *pool);

/*
 * Waits until fewer than at_once processes run, and forks. In the child, *out
 * takes its lines, and the child ends by rerun_pool_child_end(). In the parent
 * *out is NULL. If the child dies, the pool writes a line with its number.
 * Returns false, with *error set, if the host cannot start a further process.
 */
bool rerun_pool_fork(RerunPool *pool, uint64_t number, FILE **out,
                     GError **error);
void rerun_pool_child_end(FILE *out) G_GNUC_NORETURN;

/* Waits until all processes have ended. */
void rerun_pool_wait(RerunPool *pool);

#endif /* SCARP_RERUN_POOL_H */
