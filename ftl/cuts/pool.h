/*
 * Child processes that each try one cut, at most at_once at a time. Their lines
 * are written in the order in which they began.
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
/* Frees the pool. All its processes have ended. */
void cuts_pool_free(CutsPool *pool);

/*
 * Waits until fewer than at_once processes run, and forks. In the child *out
 * takes lines, and the child ends by cuts_pool_child_end(). In the parent *out
 * is NULL. If the child dies, a line names its cut. False, with *error set: the
 * host has no process left.
 */
bool cuts_pool_fork(CutsPool *pool, uint64_t cut, FILE **out, GError **error);
void cuts_pool_child_end(FILE *out) G_GNUC_NORETURN;

/* Waits until all processes have ended. */
void cuts_pool_wait(CutsPool *pool);

#endif /* SCARP_CUTS_POOL_H */
