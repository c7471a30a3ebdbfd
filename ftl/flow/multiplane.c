/*
 * Multi-plane commands: commands of one kind and one page offset, on different
 * planes of a die, run together (ONFI 4.2, multi-plane operations).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/* Number of commands of a queue that are tried as mates. */
#define MATES_SEARCHED 32

static bool fits(const ScarpDrive *drive, const ScarpFlashCmd *lead,
                 const ScarpFlashCmd *mate)
{
    return scarp_flash_kind(mate) == scarp_flash_kind(lead) &&
           drive->scheme.multiplane->may(drive, lead, mate);
}

/* True when the command's block is in SLC mode. */
static bool is_slc(const ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    return scarp_media_mode(drive,
                            scarp_ppn_block(drive, scarp_flash_ppn(cmd))) !=
           MODE_REAL;
}

/*
 * True when both commands address blocks of one mode. Planes of a die can work
 * together in one mode only. This function serves only reads and erases,
 * because a program has no block yet.
 */
static bool same_mode(const ScarpDrive *drive, const ScarpFlashCmd *lead,
                      const ScarpFlashCmd *mate)
{
    return !scarp_blocks_cached(drive) ||
           is_slc(drive, lead) == is_slc(drive, mate);
}

static ScarpFlashCmd *take_read(ScarpDrive *drive, uint32_t p,
                                ScarpQueueKind kind, const ScarpFlashCmd *lead)
{
    ScarpFlashQueue *queue = scarp_nand_queue(drive, p, kind);
    ScarpFlashCmd **link = scarp_nand_first_link(queue);
    uint32_t page = scarp_ppn_page(drive, scarp_flash_ppn(lead));

    for (int i = 0; *link && i < MATES_SEARCHED; i++) {
        ScarpFlashCmd *cmd = *link;

        if (!fits(drive, lead, cmd) ||
            scarp_ppn_page(drive, scarp_flash_ppn(cmd)) != page ||
            !same_mode(drive, lead, cmd)) {
            link = scarp_flash_next_link(cmd);
            continue;
        }
        scarp_mark_if(drive, mate_behind_others, i > 0);
        scarp_nand_dequeue(drive, queue, link);
        if (scarp_flash_is_gc(cmd)) {
            scarp_gc_cmd_started(drive, cmd);
            return cmd;
        }
        scarp_flash_waited(drive, cmd);
        if (scarp_flow_read_start(drive, cmd)) {
            return cmd;
        }
        scarp_mark(drive, mate_had_moved);
        /*
         * If the read was queued again, perhaps in this queue, links have
         * changed. So the search begins anew.
         */
        link = scarp_nand_first_link(queue);
    }
    return NULL;
}

/*
 * For a mapping that chooses the page of each program: true when the page that
 * `mate` will program has the offset `page` in its block.
 */
static bool same_mapped_offset(const ScarpDrive *drive, uint32_t p,
                               uint32_t page, const ScarpFlashCmd *mate)
{
    uint32_t lpn;

    if (scarp_flash_is_gc(mate)) {
        return scarp_merge_offset(drive, p) == page;
    }
    lpn = scarp_unit_lpn(scarp_flash_units(mate));
    return scarp_map_page_possible(drive, p, lpn) &&
           scarp_map_page_offset(drive, p, lpn) == page;
}

/* True when mate's plane can program a page with the offset of lead's page. */
static bool same_offset(const ScarpDrive *drive, uint32_t p,
                        const ScarpFlashCmd *lead, const ScarpFlashCmd *mate)
{
    uint32_t page = scarp_ppn_page(drive, scarp_flash_ppn(lead));
    ScarpOrigin origin = scarp_flash_is_gc(mate) ? SCARP_ORIGIN_GC
                                                 : SCARP_ORIGIN_HOST;
    uint16_t stream = scarp_flash_stream(mate);

    if (scarp_map_can(drive, MAP_PLACES_PAGES)) {
        return same_mapped_offset(drive, p, page, mate);
    }
    if (scarp_blocks_cached(drive) &&
        scarp_page_is_slc(drive, p, origin, stream) != is_slc(drive, lead)) {
        scarp_mark(drive, mates_of_other_modes);
        return false;
    }
    if (scarp_flash_aligned(lead)) {
        return !stream && scarp_aligned_possible(drive, p) &&
               scarp_aligned_offset(drive, p) == page;
    }
    return scarp_page_possible(drive, p, origin, stream) &&
           scarp_page_offset(drive, p, origin, stream) == page;
}

/*
 * True when the host's program may join a collection's program. If collections
 * have gone before the host as often as the limit allows
 * (scarp_gc_owes_host()), only the host's oldest command may join.
 */
static bool may_join(const ScarpDrive *drive, uint32_t die,
                     const ScarpFlashCmd *program)
{
    bool may = !scarp_gc_owes_host(drive, die) ||
               scarp_flash_seq(program) ==
                   scarp_nand_oldest(drive, die, SCARP_HOST_QUEUES);

    scarp_mark_if(drive, program_joins_no_more, !may);
    return may;
}

static ScarpFlashCmd *take_program(ScarpDrive *drive, uint32_t p,
                                   ScarpQueueKind kind,
                                   const ScarpFlashCmd *lead)
{
    ScarpFlashQueue *queue = scarp_nand_queue(drive, p, kind);
    ScarpFlashCmd *cmd = *scarp_nand_first_link(queue);

    if (!cmd || !fits(drive, lead, cmd) || !same_offset(drive, p, lead, cmd)) {
        return NULL;
    }
    if (scarp_flash_is_gc(lead) && !scarp_flash_is_gc(cmd) &&
        !may_join(drive, scarp_plane_die(drive, p), cmd)) {
        return NULL;
    }
    scarp_flash_set_aligned(cmd, scarp_flash_aligned(lead));
    scarp_nand_dequeue(drive, queue, scarp_nand_first_link(queue));
    if (scarp_flash_is_gc(cmd)) {
        scarp_gc_cmd_started(drive, cmd);
    } else {
        scarp_flash_waited(drive, cmd);
        scarp_flow_place_program(drive, cmd);
    }
    return cmd;
}

static ScarpFlashCmd *take_erase(ScarpDrive *drive, uint32_t p,
                                 const ScarpFlashCmd *lead)
{
    ScarpFlashQueue *queue = scarp_nand_queue(drive, p, QUEUE_GC);
    ScarpFlashCmd *cmd = *scarp_nand_first_link(queue);

    if (!cmd || !fits(drive, lead, cmd) || !same_mode(drive, lead, cmd)) {
        return NULL;
    }
    scarp_nand_dequeue(drive, queue, scarp_nand_first_link(queue));
    scarp_gc_cmd_started(drive, cmd);
    return cmd;
}

void scarp_flow_take_mates(ScarpDrive *drive, uint32_t die, ScarpFlashCmd *lead)
{
    uint32_t first = scarp_die_plane(drive, die);

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        ScarpFlashCmd *mate = NULL;

        if (p == scarp_flash_plane(lead)) {
            continue;
        }
        switch (scarp_flash_kind(lead)) {
        case SCARP_FLASH_READ:
            mate = take_read(drive, p, QUEUE_GC, lead);
            mate = mate ? mate : take_read(drive, p, QUEUE_READS, lead);
            break;
        case SCARP_FLASH_PROGRAM:
            mate = take_program(drive, p, QUEUE_GC, lead);
            mate = mate ? mate : take_program(drive, p, QUEUE_PROGRAMS, lead);
            break;
        case SCARP_FLASH_ERASE:
            mate = take_erase(drive, p, lead);
            break;
        case SCARP_FLASH_COPYBACK:
            break;
        }
        if (mate) {
            scarp_mark_if(drive, host_joined_collection,
                          scarp_flash_is_gc(lead) && !scarp_flash_is_gc(mate));
            scarp_mark_if(drive, collection_joined_host,
                          !scarp_flash_is_gc(lead) && scarp_flash_is_gc(mate));
            scarp_mark_if(drive, erases_together,
                          scarp_flash_kind(lead) == SCARP_FLASH_ERASE);
            scarp_mark_if(drive, merges_together,
                          scarp_flash_kind(lead) == SCARP_FLASH_PROGRAM &&
                          scarp_map_can(drive, MAP_MERGES) &&
                          scarp_flash_is_gc(lead) && scarp_flash_is_gc(mate));
            scarp_mark_if(drive, aligned_mates,
                          scarp_flash_aligned(lead) &&
                          scarp_flash_is_gc(lead) != scarp_flash_is_gc(mate));
            scarp_flash_join(lead, mate);
        }
    }
}

static bool same_side(const ScarpDrive *drive G_GNUC_UNUSED,
                      const ScarpFlashCmd *lead, const ScarpFlashCmd *mate)
{
    return scarp_flash_is_gc(lead) == scarp_flash_is_gc(mate);
}

const ScarpMultiplaneOps scarp_multiplane_none = {
    .policy = {
        .axis = AXIS_MULTIPLANE,
        .name = "single-plane",
        .help = "every flash command is of one plane",
        .source = "hpdc18 section 2",
    },
};

const ScarpMultiplaneOps scarp_multiplane_host = {
    .policy = {
        .axis = AXIS_MULTIPLANE,
        .name = "multi-plane",
        .needs = NEEDS_PLANES,
        .help = "host commands run together, and so do GC's, not both",
        .source = "ONFI 4.2, multi-plane operations",
    },
    .may = same_side,
};
