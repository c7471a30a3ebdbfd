/*
 * What holds for every command, and for their sums.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_LAWS_H
#define HUNT_LAWS_H

#include "scarp.h"

/* What the host knows of a drive's statistics since they began. */
typedef struct {
    uint64_t accepted, completed, by_op[SCARP_OP__COUNT];
    uint64_t read_bytes, write_bytes;
    int64_t since_ns;
} Own;

void laws_count(Own *own, const ScarpCmd *cmd);
bool laws_sums(const Own *own, const ScarpStats *stats, GError **error);
/* Of an SLC cache; slc: NULL, or its counters. */
bool laws_slc(const ScarpSlcStats *slc, const ScarpStats *stats,
              GError **error);
/* Of a drive of so many planes, now: none was busy for longer than that. */
bool laws_times(const Own *own, const ScarpStats *stats, uint64_t planes,
                int64_t now_ns, GError **error);
/* A completed one; last_ns: when the one before it completed. */
bool laws_command(const ScarpCmd *cmd, int64_t submit_ns, int64_t last_ns,
                  int64_t now_ns, GError **error);

#endif /* HUNT_LAWS_H */
