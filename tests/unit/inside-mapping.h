/*
 * What unit tests know of the inside of mappings that say where pages go; as
 * inside.h, for the test that needs it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef INSIDE_MAPPING_H
#define INSIDE_MAPPING_H

#include "inside.h"
#include "map/log.h"
#include "map/superblock.h"

static inline const char *inside_break_logs(ScarpDrive *drive, unsigned law)
{
    ScarpLogs *logs = scarp_logs(drive);
    uint32_t data = logs->data_of[0], log = logs->plane[0].oldest;
    bool own = drive->desc.mapping == MAPPING_BLOCK;

    switch (law) {
    case 0: /* two logical blocks' data blocks are swapped */
        logs->data_of[0] = logs->data_of[1];
        logs->data_of[1] = data;
        return "place of logical unit";
    case 1: /* a block that nobody names */
        logs->data_of[0] = SCARP_NONE;
        return "role of mapped block";
    case 2: /* one that two name */
        logs->data_of[0] = logs->data_of[1];
        return "role of mapped block";
    case 3: /* a free one */
        logs->data_of[0] = drive->blocks.plane[0].free.head;
        return "role of mapped block";
    case 4:
        logs->plane[0].n_logs++;
        return own ? "log blocks of plane" : "log blocks of plane";
    case 5:
        logs->block[log].older = log;
        return "log block before block";
    case 6:
        if (own) {
            logs->block[log].in_order = !logs->block[log].in_order;
            return "order of log block";
        }
        return NULL;
    case 7:
        logs->log_of[logs->block[log].group] = data;
        return "log block of logical block";
    default:
        return NULL;
    }
}

static inline const char *inside_break_supers(ScarpDrive *drive, unsigned law)
{
    ScarpSupers *supers = scarp_supers(drive);
    ScarpSuper *super = &supers->super[0];

    switch (law) {
    case 0: /* two superblocks' blocks are swapped */
        supers->super[0] = supers->super[1];
        return "superblock of block";
    case 1:
        super->current = drive->blocks.plane[0].free.head;
        return "current block of superblock";
    case 2:
        super->n++;
        return "blocks of superblock";
    case 3:
        supers->plane[0].updates++;
        return "update blocks of plane";
    case 4:
        supers->plane[0].newest = SCARP_NONE;
        return "superblocks with update blocks of plane";
    default:
        return NULL;
    }
}

/*
 * Breaks one law of the mapping of an aged drive of one plane, and returns what
 * scarp_check() is to say; NULL: there are no more.
 */
static inline const char *inside_break_mapping(ScarpDrive *drive, unsigned law)
{
    return drive->desc.mapping == MAPPING_SUPERBLOCK
               ? inside_break_supers(drive, law)
               : inside_break_logs(drive, law);
}

/* An image of such a drive says the same: what follows from others is made anew. */
static inline bool inside_forges_mapping(const ScarpDrive *drive, unsigned law)
{
    return drive->desc.mapping == MAPPING_SUPERBLOCK ? law < 2 : law < 4;
}

#endif /* INSIDE_MAPPING_H */
