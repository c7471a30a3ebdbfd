/*
 * Records and functions that mappings by logical block share (block, fast).
 * Static allocation gives each plane a sequence of logical pages;
 * pages_per_block consecutive ones are a logical block. A logical block has at
 * most one data block, where each page lies at its own offset, and pages at any
 * offset in log blocks.
 *
 * Logical blocks are numbered through the drive, those of a plane together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_LOG_H
#define SCARP_LOG_H

#include "map/internal.h"

/* A log block. */
typedef struct {
    uint32_t older, newer; /* in the plane's list, or SCARP_NONE */
    uint32_t group;        /* logical block whose log it is, or SCARP_NONE */
    bool in_order;         /* each page lies at its own offset */
    bool named;            /* an image has named the block */
} ScarpLogBlock;

typedef struct {
    uint32_t oldest, newest; /* ends of the list of log blocks */
    uint32_t n_logs;
    uint32_t sequential;     /* FAST's, in no list; or SCARP_NONE */
} ScarpLogPlane;

typedef struct {
    uint32_t groups;        /* logical blocks of a plane */
    uint32_t *turn_of;      /* [plane]: its turn in allocation's order */
    uint32_t *data_of;      /* [logical block]: data block, or SCARP_NONE */
    uint32_t *log_of;       /* [logical block]: its log block, or SCARP_NONE */
    uint32_t *end_of;       /* [logical block]: no page from it on is mapped */
    uint32_t *seen;         /* [logical block]: the last look that saw it */
    uint32_t look;          /* number of scarp_log_ahead()'s look */
    ScarpLogBlock *block;   /* [block] */
    ScarpLogPlane *plane;
} ScarpLogs;

static inline ScarpLogs *scarp_logs(const ScarpDrive *drive)
{
    return drive->map.state;
}

/* The logical block of a page, and the page's offset in it. */
typedef struct {
    uint32_t group, offset;
} ScarpLogPage;

static inline ScarpLogPage scarp_log_page(const ScarpDrive *drive, uint32_t p,
                                          uint32_t lpn)
{
    uint32_t page = scarp_divide(lpn, drive->geo.by_planes);
    uint32_t block = scarp_divide(page, drive->geo.by_units_per_block);

    return (ScarpLogPage) { p * scarp_logs(drive)->groups + block,
                            page - block * drive->geo.units_per_block };
}

/* Returns SCARP_NONE beyond the plane's last logical page. */
uint32_t scarp_log_lpn(const ScarpDrive *drive, uint32_t group,
                       uint32_t offset);

bool scarp_logs_init(ScarpDrive *drive, GError **error);
void scarp_logs_clear(ScarpDrive *drive);
/* Returns 1: each logical block is reclaimed by itself. */
uint64_t scarp_logs_group_blocks(const ScarpDrive *drive);
/*
 * Log blocks that a plane has room for: beside a data block for each logical
 * block, and the free one that a full merge copies to. With one more, merges of
 * logical blocks that have no data block yet could find none free.
 */
uint32_t scarp_logs_room(const ScarpDrive *drive, uint32_t plane);
/*
 * Log blocks that a plane has, and may have; FAST's sequential one counts even
 * while it is not there.
 */
uint32_t scarp_logs_count(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_logs_max(const ScarpDrive *drive, uint32_t plane);
/* ScarpMappingOps: needs_all. */
bool scarp_logs_need_all(const ScarpDrive *drive, uint32_t plane);
/*
 * RAM of the maps: 4 bytes a logical block; 4 bytes for each possible log
 * block, and page_bytes for each page of it; a valid bit for each page.
 */
uint64_t scarp_logs_ram_bytes(const ScarpDrive *drive, uint32_t page_bytes);
/*
 * True when the host may open a block: the last free one is for a full merge.
 */
static inline bool scarp_logs_may_open(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_plane_free_blocks(drive, plane) >= 2;
}

/* Returns the offset behind the logical block's last mapped page. */
uint32_t scarp_log_end(const ScarpDrive *drive, uint32_t group);

/* ScarpMappingOps: mapped. */
void scarp_logs_mapped(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);

/* Appends block to the plane's list of log blocks, or removes it. */
void scarp_log_append(ScarpDrive *drive, uint32_t plane, uint32_t block);
void scarp_log_remove(ScarpDrive *drive, uint32_t plane, uint32_t block);

/* True when group is being merged, so that its data block must not change. */
static inline bool scarp_log_is_merging(const ScarpDrive *drive, uint32_t plane,
                                        uint32_t group)
{
    const ScarpMerge *merge = &drive->map.merge[plane];

    return merge->kind && !merge->switched && merge->group == group;
}

/*
 * Returns the data block if page is its next one, SCARP_FRESH if page is the
 * first of a block to be opened, or SCARP_NONE: the page goes to a log block.
 */
static inline uint32_t scarp_log_in_place(const ScarpDrive *drive, uint32_t p,
                                          ScarpLogPage page)
{
    uint32_t data = scarp_logs(drive)->data_of[page.group];

    if (data == SCARP_NONE ? page.offset
                           : scarp_block_written(drive, data) != page.offset) {
        return SCARP_NONE;
    }
    if (scarp_log_is_merging(drive, p, page.group)) {
        return SCARP_NONE;
    }
    return data == SCARP_NONE ? SCARP_FRESH : data;
}

/*
 * True when page goes to its data block, or begins one, after n pages of its
 * logical block that are on their way there.
 */
static inline bool scarp_log_in_place_behind(const ScarpDrive *drive,
                                             uint32_t p, ScarpLogPage page,
                                             uint32_t n)
{
    uint32_t data = scarp_logs(drive)->data_of[page.group];

    n += data == SCARP_NONE ? 0 : scarp_block_written(drive, data);
    return n == page.offset && !scarp_log_is_merging(drive, p, page.group);
}

/*
 * Blocks and pages that pages on their way to the plane will take before lpn.
 * The first page of each other logical block decides: the rest are assumed to
 * follow it.
 */
typedef struct {
    uint32_t data;   /* pages of lpn's own data block */
    uint32_t log;    /* pages of lpn's logical block that go to a log block */
    uint32_t others_data; /* data blocks that other logical blocks open */
    uint32_t others_log;  /* log blocks, if each has its own */
} ScarpLogAhead;

ScarpLogAhead scarp_log_ahead(const ScarpDrive *drive, uint32_t plane,
                              uint32_t lpn, const uint32_t *ahead,
                              uint32_t n_ahead);

/*
 * Plans a merge of merge->group and its log block, or SCARP_NONE: a switch or
 * partial merge if possible, else a full one.
 */
void scarp_log_plan(const ScarpDrive *drive, uint32_t log, ScarpMerge *merge);
/* Begins the merge: opens its target if it has none. */
void scarp_log_begin(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
/* ScarpMappingOps: source_page, target. */
uint32_t scarp_log_source(const ScarpDrive *drive, ScarpMerge *merge);
uint32_t scarp_log_target(ScarpDrive *drive, uint32_t plane,
                          ScarpMerge *merge);

/* ---- map/log_recover.c: ScarpMappingOps: recover, mend, … ---------------- */

void scarp_logs_recover(ScarpDrive *drive, uint32_t *ppn_of);
bool scarp_logs_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
void scarp_logs_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                            uint32_t *target);
void scarp_logs_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                            uint32_t block);

/* ---- map/log_blocks_laws.c ---------------------------------------------- */

/* ScarpMappingOps: check, may_hold, persist. */
bool scarp_logs_check(const ScarpDrive *drive, GError **error);
bool scarp_logs_may_hold(const ScarpDrive *drive, uint32_t ppn);
void scarp_logs_persist(ScarpDrive *drive, ScarpVisit *visit);

#endif /* SCARP_LOG_H */
