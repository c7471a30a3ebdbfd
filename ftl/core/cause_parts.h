/*
 * Parts of causes: die_fold_read, die_fold_program and throttled, on drives
 * with an SLC cache or a temperature (ScarpGeometry.part_causes).
 *
 * ScarpCmd is part of the library's binary interface, so its cause_ns[] cannot
 * grow. cause_ns[] counts a part in the cause that it belongs to. The parts
 * themselves are kept in members of ScarpCmd that the engine no longer needs
 * when the command's last flash command has ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CAUSE_PARTS_H
#define SCARP_CAUSE_PARTS_H

#include <string.h>

#include "scarp.h"

enum {
    PART_FOLD_READ, PART_FOLD_PROGRAM, PART_THROTTLED, PART__COUNT
};

/* Times of the parts, by the constants above. */
typedef struct {
    int64_t ns[PART__COUNT];
} ScarpParts;

G_STATIC_ASSERT(SCARP_CAUSE__COUNT + PART__COUNT == SCARP_CAUSE__ALL);
G_STATIC_ASSERT(SCARP_CAUSE__COUNT + PART_THROTTLED == SCARP_CAUSE_THROTTLED);

/* Returns the cause in whose cause_ns[] the part is counted. */
static inline ScarpCause scarp_part_of(unsigned part)
{
    return part == PART_FOLD_READ ? SCARP_CAUSE_DIE_GC_READ
         : part == PART_FOLD_PROGRAM ? SCARP_CAUSE_DIE_GC_PROGRAM
                                     : SCARP_CAUSE_ARRAY;
}

/*
 * Sets cause_ns to the times in `whole`, with the parts taken out of the causes
 * that they belong to.
 */
static inline void scarp_take_parts_out(uint64_t cause_ns[SCARP_CAUSE__ALL],
                                        const uint64_t *whole,
                                        const ScarpParts *parts)
{
    memcpy(cause_ns, whole, SCARP_CAUSE__COUNT * sizeof(*cause_ns));
    for (unsigned i = 0; i < PART__COUNT; i++) {
        cause_ns[SCARP_CAUSE__COUNT + i] = parts->ns[i];
        cause_ns[scarp_part_of(i)] -= parts->ns[i];
    }
}

/*
 * Stores the parts of a command whose last flash command has ended. units_left
 * still counts that end, so the third part waits in due_ns until
 * scarp_cmd_keep_parts() is called.
 */
static inline void scarp_cmd_set_parts(ScarpCmd *cmd, const ScarpParts *parts)
{
    cmd->split = true;
    cmd->next_byte = parts->ns[PART_FOLD_READ];
    cmd->order = parts->ns[PART_FOLD_PROGRAM];
    cmd->due_ns = parts->ns[PART_THROTTLED];
}

/*
 * Called when units_left has become 0, and before due_ns is set to the end of
 * the command's next pipeline stage. From now on units_left and passes_left
 * have the halves of the third part.
 */
static inline void scarp_cmd_keep_parts(ScarpCmd *cmd)
{
    cmd->units_left = (uint64_t)cmd->due_ns & UINT32_MAX;
    cmd->passes_left = (uint64_t)cmd->due_ns >> 32;
}

/* Returns the parts of a command that has completed. */
static inline ScarpParts scarp_cmd_parts(const ScarpCmd *cmd)
{
    if (!cmd->split) {
        return (ScarpParts) { { 0 } };
    }
    return (ScarpParts) { {
        [PART_FOLD_READ] = cmd->next_byte,
        [PART_FOLD_PROGRAM] = cmd->order,
        [PART_THROTTLED] = (int64_t)((uint64_t)cmd->passes_left << 32 |
                                     cmd->units_left),
    } };
}

#endif /* SCARP_CAUSE_PARTS_H */
