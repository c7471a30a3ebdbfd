/*
 * Invariants of the mappings block and fast, and the parts of their tables that
 * an image contains.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/log_blocks.h"

/* The role of a block. */
typedef enum {
    ROLE_NONE,
    ROLE_DATA,   /* the data block of `group`, each page at its own offset */
    ROLE_LOG,    /* log block of `group`; if SCARP_NONE, a shared one */
    ROLE_ORDER,  /* as ROLE_LOG, with each page at its own offset */
    ROLE_DEAD,   /* to be erased next */
} RoleKind;

typedef struct {
    RoleKind kind;
    uint32_t group;
} Role;

/*
 * Gives a block its role. Returns false if the block has a role already, or if
 * its state is not BLOCK_OWNED, the state of all blocks of these mappings.
 */
static bool name(const ScarpDrive *drive, Role *role, uint32_t block,
                 RoleKind kind, uint32_t group, GError **error)
{
    if (role[block].kind || scarp_block_state(drive, block) != BLOCK_OWNED) {
        return scarp_law_differs(error, "role of mapped block", block,
                                 role[block].kind, kind);
    }
    role[block] = (Role) { kind, group };
    return true;
}

static bool name_data(const ScarpDrive *drive, Role *role, GError **error)
{
    const ScarpLogs *logs = scarp_logs(drive);

    for (uint32_t g = 0; g < logs->groups * drive->geo.n_planes; g++) {
        uint32_t data = logs->data_of[g];

        if (data != SCARP_NONE &&
            !name(drive, role, data, ROLE_DATA, g, error)) {
            return false;
        }
    }
    return true;
}

/*
 * Checks that in_order is true if and only if each programmed page of the log
 * block lies at its own offset in the logical block.
 */
static bool check_order(const ScarpDrive *drive, uint32_t block,
                        GError **error)
{
    const ScarpLogBlock *log = &scarp_logs(drive)->block[block];
    uint32_t n = scarp_media_programmed(drive, block);
    bool in_order = true;

    if (log->group == SCARP_NONE || !scarp_block_settled(drive, block)) {
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        in_order &= scarp_media_lpn(drive, scarp_block_ppn(drive, block) + i) ==
                    scarp_log_lpn(drive, log->group, i);
    }
    return in_order == log->in_order ||
           scarp_law_differs(error, "order of log block", block, log->in_order,
                             in_order);
}

/*
 * Checks that the plane's sequential log block has its pages in order, and that
 * ftl.mapping is fast, as no other mapping has such a block.
 */
static bool check_sequential(const ScarpDrive *drive, uint32_t p,
                             GError **error)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t log = logs->plane[p].sequential;

    if (drive->desc.mapping != MAPPING_FAST) {
        return scarp_law_differs(error, "sequential log block of plane", p, log,
                                 SCARP_NONE);
    }
    return logs->block[log].in_order ||
           scarp_law_differs(error, "order of sequential log block", log, false,
                             true);
}

/*
 * Checks a random log block of ftl.mapping=fast. Only the newest random log
 * block may have free pages, as each is filled before the next is opened. The
 * list must be sorted by the time of opening.
 */
static bool check_turn(const ScarpDrive *drive, uint32_t block, GError **error)
{
    uint32_t newer = scarp_logs(drive)->block[block].newer;

    if (drive->desc.mapping != MAPPING_FAST || newer == SCARP_NONE) {
        return true;
    }
    if (scarp_block_written(drive, block) != drive->geo.units_per_block) {
        return scarp_law_differs(error, "pages of full log block", block,
                                 scarp_block_written(drive, block),
                                 drive->geo.units_per_block);
    }
    return scarp_media_seq(drive, block) < scarp_media_seq(drive, newer) ||
           scarp_law_differs(error, "age of log block", block,
                             scarp_media_seq(drive, block),
                             scarp_media_seq(drive, newer));
}

static bool name_logs(const ScarpDrive *drive, Role *role, uint32_t p,
                      GError **error)
{
    const ScarpLogs *logs = scarp_logs(drive);
    const ScarpLogPlane *plane = &logs->plane[p];
    uint32_t n = 0, last = SCARP_NONE;

    for (uint32_t b = plane->oldest; b != SCARP_NONE;
         b = logs->block[b].newer) {
        uint32_t group = logs->block[b].group;

        if (!name(drive, role, b, ROLE_LOG, group, error) ||
            !check_order(drive, b, error) || !check_turn(drive, b, error)) {
            return false;
        }
        if (group != SCARP_NONE && logs->log_of[group] != b) {
            return scarp_law_differs(error, "log block of logical block", group,
                                     logs->log_of[group], b);
        }
        if (logs->block[b].older != last) {
            return scarp_law_differs(error, "log block before block", b,
                                     logs->block[b].older, last);
        }
        last = b;
        n++;
    }
    if (plane->newest != last || plane->n_logs != n) {
        return scarp_law_differs(error, "log blocks of plane", p, plane->n_logs,
                                 n);
    }
    if (scarp_logs_count(drive, p) > scarp_logs_room(drive, p)) {
        return scarp_law_differs(error, "room for log blocks of plane", p,
                                 scarp_logs_count(drive, p),
                                 scarp_logs_room(drive, p));
    }
    return plane->sequential == SCARP_NONE ||
           (name(drive, role, plane->sequential, ROLE_ORDER,
                 logs->block[plane->sequential].group, error) &&
            check_order(drive, plane->sequential, error) &&
            check_sequential(drive, p, error));
}

/*
 * Gives roles to the blocks of the plane's merge. The merge's target is not yet
 * in the tables. The log blocks in merge->dead[] have left the tables already.
 * The old data block leaves them only when all copies are on flash.
 */
static bool name_merge(const ScarpDrive *drive, Role *role, uint32_t p,
                       GError **error)
{
    const ScarpMerge *merge = &drive->map.merge[p];
    uint32_t data;

    if (!merge->kind) {
        return true;
    }
    data = merge->group == SCARP_NONE ? SCARP_NONE
                                      : scarp_logs(drive)->data_of[merge->group];
    if (merge->target != SCARP_NONE && merge->target != data &&
        !name(drive, role, merge->target, ROLE_ORDER, merge->group, error)) {
        return false;
    }
    for (uint32_t i = 0; i < merge->n_dead; i++) {
        uint32_t b = merge->dead[i];

        if (b != data && !name(drive, role, b,
                               merge->switched ? ROLE_DEAD : ROLE_LOG,
                               merge->group, error)) {
            return false;
        }
    }
    return merge->erasing == SCARP_NONE ||
           name(drive, role, merge->erasing, ROLE_DEAD, SCARP_NONE, error);
}

/*
 * Checks that the controller's tables lead to the same PPN for lpn as the
 * forward map. The page of lpn must be in a block of its logical block, or in a
 * shared log block. In a data block the page must be at its own offset.
 */
static bool check_unit(const ScarpDrive *drive, const Role *role, uint32_t lpn,
                       GError **error)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn), block;
    ScarpLogPage page;
    bool own, right;

    if (ppn == SCARP_NONE) {
        return true;
    }
    block = scarp_ppn_block(drive, ppn);
    page = scarp_log_page(drive, scarp_ppn_plane(drive, ppn), lpn);
    if (page.offset >= scarp_logs(drive)->end_of[page.group]) {
        return scarp_law_differs(error, "end of logical block", page.group,
                                 scarp_logs(drive)->end_of[page.group],
                                 page.offset + 1);
    }
    own = role[block].group == page.group;
    right = ppn - scarp_block_ppn(drive, block) == page.offset;
    switch (role[block].kind) {
    case ROLE_DATA:
    case ROLE_ORDER:
        own &= right;
        break;
    case ROLE_LOG:
        own |= role[block].group == SCARP_NONE;
        break;
    default:
        own = false;
        break;
    }
    own &= scarp_log_lpn(drive, page.group, page.offset) == lpn;
    return own || scarp_law_differs(error, "place of logical unit", lpn, ppn,
                                    role[block].group);
}

bool scarp_logs_check(const ScarpDrive *drive, GError **error)
{
    g_autofree Role *role = g_new0(Role, drive->geo.n_blocks);

    if (!name_data(drive, role, error)) {
        return false;
    }
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (!name_logs(drive, role, p, error) ||
            !name_merge(drive, role, p, error)) {
            return false;
        }
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (!role[b].kind && scarp_block_state(drive, b) == BLOCK_OWNED) {
            return scarp_law_differs(error, "role of mapped block", b,
                                     ROLE_NONE, ROLE_DATA);
        }
    }
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        if (!check_unit(drive, role, lpn, error)) {
            return false;
        }
    }
    return true;
}

/* ---- Images ------------------------------------------------------------- */

/* Saves or loads *block, which is SCARP_NONE or a block of the plane. */
static void visit_block(ScarpDrive *drive, uint32_t p, const char *what,
                        uint32_t *block, ScarpVisit *visit)
{
    uint32_t first = p * (uint32_t)drive->desc.blocks_per_plane;
    bool any = *block != SCARP_NONE;

    scarp_visit_bool(visit, what, &any);
    if (any) {
        scarp_visit_u32(visit, what, block, first,
                        first + drive->desc.blocks_per_plane - 1);
    } else {
        *block = SCARP_NONE;
    }
}

/*
 * Saves or loads the logical block of a log block. in_order is not in the
 * image: a load computes it from the LPNs in the block's spare areas.
 */
static void visit_log(ScarpDrive *drive, uint32_t p, uint32_t block,
                      ScarpVisit *visit)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogBlock *log = &logs->block[block];

    scarp_visit_u32(visit, "a log's logical block", &log->group,
                    p * logs->groups, (p + 1) * logs->groups - 1);
    if (visit->loading) {
        log->in_order = true;
        for (uint32_t i = 0; i < scarp_block_written(drive, block); i++) {
            log->in_order &=
                scarp_media_lpn(drive, scarp_block_ppn(drive, block) + i) ==
                scarp_log_lpn(drive, log->group, i);
        }
    }
}

static void visit_plane(ScarpDrive *drive, uint32_t p, ScarpVisit *visit)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPlane *plane = &logs->plane[p];
    bool shared = drive->desc.mapping == MAPPING_FAST;
    uint32_t n = plane->n_logs, b = plane->oldest;

    for (uint32_t g = p * logs->groups; g < (p + 1) * logs->groups; g++) {
        visit_block(drive, p, "a data block", &logs->data_of[g], visit);
    }
    visit_block(drive, p, "a sequential log block", &plane->sequential, visit);
    if (plane->sequential != SCARP_NONE) {
        visit_log(drive, p, plane->sequential, visit);
    }
    scarp_visit_u32(visit, "log blocks of a plane", &n, 0,
                    drive->desc.blocks_per_plane);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        visit_block(drive, p, "a log block", &b, visit);
        if (b == SCARP_NONE || (visit->loading && logs->block[b].named)) {
            scarp_visit_fail(visit, "a log block is none, or named twice");
            return;
        }
        if (shared) {
            logs->block[b].group = SCARP_NONE;
        } else {
            visit_log(drive, p, b, visit);
        }
        if (visit->loading) {
            logs->block[b].named = true;
            if (!shared) {
                logs->log_of[logs->block[b].group] = b;
            }
            scarp_log_append(drive, p, b);
        } else {
            b = logs->block[b].newer;
        }
    }
}

void scarp_logs_persist(ScarpDrive *drive, ScarpVisit *visit)
{
    g_autoptr(GError) error = NULL;

    for (uint32_t p = 0; p < drive->geo.n_planes && !visit->problem; p++) {
        visit_plane(drive, p, visit);
    }
    if (visit->loading && !visit->problem && !scarp_logs_check(drive, &error)) {
        scarp_visit_fail(visit, "%s", error->message);
    }
}

/*
 * True when the LPN that is stored at ppn may be there. Static allocation must
 * give the LPN to ppn's plane. With ftl.mapping=block, all LPNs of a block must
 * be of one logical block, so the LPN is compared with the first LPN in the
 * block. With ftl.mapping=fast, log blocks are shared.
 */
bool scarp_logs_may_hold(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t p = scarp_ppn_plane(drive, ppn), lpn = scarp_media_lpn(drive, ppn);
    uint32_t first = scarp_block_ppn(drive, scarp_ppn_block(drive, ppn));
    ScarpLogPage page = scarp_log_page(drive, p, lpn);

    while (scarp_media_lpn(drive, first) == SCARP_NONE) {
        first++;
    }
    return scarp_log_lpn(drive, page.group, page.offset) == lpn &&
           (drive->desc.mapping == MAPPING_FAST ||
            scarp_log_page(drive, p, scarp_media_lpn(drive, first)).group ==
                page.group);
}
