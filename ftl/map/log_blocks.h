/*
 * Records and functions that the mappings block and fast share.
 *
 * Static allocation gives every n_planes-th LPN to the same plane.
 * units_per_block consecutive LPNs of a plane are a logical block. A logical
 * block has at most one data block, in which its page i lies at offset i. Its
 * other pages lie in log blocks, at any offset.
 *
 * The logical blocks have one numbering for the whole drive: first all of plane
 * 0, then all of plane 1, and so on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_LOG_H
#define SCARP_LOG_H

#include "map/internal.h"

/* A log block. */
typedef struct {
    uint32_t older, newer; /* links of the plane's list, or SCARP_NONE */
    uint32_t group;        /* its logical block; SCARP_NONE: shared */
    bool in_order;         /* each page lies at its own offset */
    bool named;            /* the image that is loaded lists the block */
} ScarpLogBlock;

typedef struct {
    uint32_t oldest, newest; /* the ends of the plane's list of log blocks */
    uint32_t n_logs;
    /* FAST's sequential log block (in no list), or SCARP_NONE */
    uint32_t sequential;
} ScarpLogPlane;

typedef struct {
    uint32_t groups;        /* logical blocks of a plane */
    uint32_t *turn_of;      /* [plane]: its place in the allocation's order */
    uint32_t *data_of;      /* [logical block]: data block, or SCARP_NONE */
    uint32_t *log_of;       /* [logical block]: its log block, or SCARP_NONE */
    /* [logical block]: no page from this offset on is mapped */
    uint32_t *end_of;
    uint32_t *seen; /* [logical block]: number of the last walk that met it */
    uint32_t look;          /* number of the last walk of scarp_log_ahead() */
    ScarpLogBlock *block;   /* [block] */
    ScarpLogPlane *plane;
} ScarpLogs;

static inline ScarpLogs *scarp_logs(const ScarpDrive *drive)
{
    return drive->map.state;
}

/* A page's logical block, and its offset there. */
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

/*
 * Returns the LPN of the page at offset in the logical block `group`, or
 * SCARP_NONE beyond the plane's last logical page.
 */
uint32_t scarp_log_lpn(const ScarpDrive *drive, uint32_t group,
                       uint32_t offset);

bool scarp_logs_init(ScarpDrive *drive, GError **error);
void scarp_logs_clear(ScarpDrive *drive);
/*
 * Implements ScarpMappingOps.group_blocks. Returns 1, because each block is
 * reclaimed alone.
 */
uint64_t scarp_logs_group_blocks(const ScarpDrive *drive);
/*
 * Returns how many log blocks the plane has room for. The other blocks are bad
 * blocks, recovery's block, one data block for each logical block, and one free
 * block. A full merge needs the free block for its copies.
 */
uint32_t scarp_logs_room(const ScarpDrive *drive, uint32_t plane);
/*
 * scarp_logs_count() returns how many log blocks the plane has, and
 * scarp_logs_max() how many it may have. With ftl.mapping=fast the count
 * includes a sequential log block even while the plane has none.
 */
uint32_t scarp_logs_count(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_logs_max(const ScarpDrive *drive, uint32_t plane);
/* Implements ScarpMappingOps.needs_all. */
bool scarp_logs_need_all(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns the RAM of the tables: 4 bytes for each logical block, 4 bytes for
 * each possible log block, `page_bytes` for each page of a log block, and a
 * valid bit for each page of the drive.
 */
uint64_t scarp_logs_ram_bytes(const ScarpDrive *drive, uint32_t page_bytes);
/*
 * True when a host write may open a block of the plane. The plane's last free
 * block is kept for the copies of a full merge.
 */
static inline bool scarp_logs_may_open(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_plane_free_blocks(drive, plane) >= 2;
}

/* Returns the offset behind the logical block's last mapped page. */
uint32_t scarp_log_end(const ScarpDrive *drive, uint32_t group);

/* Implements ScarpMappingOps.mapped. */
void scarp_logs_mapped(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);

/* Append `block` to the plane's list of log blocks, and take it out again. */
void scarp_log_append(ScarpDrive *drive, uint32_t plane, uint32_t block);
void scarp_log_remove(ScarpDrive *drive, uint32_t plane, uint32_t block);

/*
 * True when a merge of the logical block `group` has begun, and not all of its
 * copies are on flash. Until then no write may go to the data block of `group`,
 * as the merge may replace that block.
 */
static inline bool scarp_log_is_merging(const ScarpDrive *drive, uint32_t plane,
                                        uint32_t group)
{
    const ScarpMerge *merge = &drive->map.merge[plane];

    return merge->kind && !merge->switched && merge->group == group;
}

/*
 * Returns the block that `page` goes to if it can go to a data block. That is
 * the data block if `page` is its next page in order, or SCARP_FRESH if `page`
 * is the first page of a data block that has to be opened. Returns SCARP_NONE
 * if the page needs a log block.
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
 * True when `page` can go to its group's data block, as the next or the first
 * page, after n pages that are on their way have been written there.
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
 * How many pages will be filled and blocks opened before lpn is written, by the
 * pages that are already on their way to the plane. For a logical block other
 * than lpn's, only its first page on the way is looked at. The logical block's
 * other pages are assumed to go to the same block as the first.
 */
typedef struct {
    uint32_t data;   /* pages of the data block of lpn's logical block */
    uint32_t log;    /* pages of lpn's logical block that go to a log block */
    /* data blocks that are opened for other logical blocks */
    uint32_t others_data;
    /* log blocks opened for other logical blocks, if each has its own */
    uint32_t others_log;
} ScarpLogAhead;

ScarpLogAhead scarp_log_ahead(const ScarpDrive *drive, uint32_t plane,
                              uint32_t lpn, const uint32_t *ahead,
                              uint32_t n_ahead);

/*
 * Plans a merge of the logical block merge->group and its log block `log`,
 * which may be SCARP_NONE. A switch merge copies nothing, and a partial merge
 * copies a part of the pages. If neither is possible, a full merge copies all
 * pages.
 */
void scarp_log_plan(const ScarpDrive *drive, uint32_t log, ScarpMerge *merge);
/*
 * Begins the merge. If merge->target is SCARP_FRESH, opens a block as the
 * target.
 */
void scarp_log_begin(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
/* Implement source_page and target of ScarpMappingOps. */
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

/* Implement ScarpMappingOps.check, may_hold and persist. */
bool scarp_logs_check(const ScarpDrive *drive, GError **error);
bool scarp_logs_may_hold(const ScarpDrive *drive, uint32_t ppn);
void scarp_logs_persist(ScarpDrive *drive, ScarpVisit *visit);

#endif /* SCARP_LOG_H */
