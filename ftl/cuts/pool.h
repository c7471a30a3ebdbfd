/*
 * Processes that each try one cut, at_once of them at a time; their lines come
 * out in the order in which they were begun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_POOL_H
#define SCARP_CUTS_POOL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct CutsPool CutsPool;

CutsPool *cuts_pool_new(uint32_t at_once, FILE *out);
/* Frees the pool, which must be empty. */
void cuts_pool_free(CutsPool *pool);

/*
 * Waits for a place and forks. In the new process *out takes its lines, and it
 * ends with cuts_pool_child_end(); in the parent *out is NULL. If the process
 * dies, a line names its cut. False and *error set: the host has no process for
 * it.
 */
bool cuts_pool_fork(CutsPool *pool, uint64_t cut, FILE **out, GError **error);
void cuts_pool_child_end(FILE *out) G_GNUC_NORETURN;

/* Waits until all processes have ended. */
void cuts_pool_wait(CutsPool *pool);

#endif /* SCARP_CUTS_POOL_H */
