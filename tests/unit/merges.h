/*
 * What the tests of merges share: a drive of one plane with blocks of four
 * pages, 8 logical blocks and 8 spare ones; counts and times of what a write
 * has to wait for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MERGES_H
#define MERGES_H

#include "helpers.h"
#include "inside.h"

#define ONE_PLANE "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.blocks_per_plane=16,geometry.pages_per_block=4," \
                  "ftl.over_provisioning_permille=1000," \
                  "gc.trigger_free_blocks=1"

enum {
    BLOCK_PAGES = 4, LOGICAL_BLOCKS = 8,
    WRITE_NS = FW + LINK + CMD + BUS + TPROG,
};

/* Counted since the last call. */
typedef struct {
    uint64_t switches, partials, fulls, reads, programs, pads, erases;
} Merges;

static inline Merges merges_of(Rig *rig)
{
    const ScarpStats *s = rig_stats(rig);
    Merges m = { s->switch_merges, s->partial_merges, s->full_merges,
                 s->gc_page_reads, s->gc_page_programs, s->padded_units,
                 s->erases };

    scarp_stats_reset(rig->drive);
    return m;
}

static inline void expect(Rig *rig, Merges should)
{
    Merges is = merges_of(rig);

    g_assert_cmpuint(is.switches, ==, should.switches);
    g_assert_cmpuint(is.partials, ==, should.partials);
    g_assert_cmpuint(is.fulls, ==, should.fulls);
    g_assert_cmpuint(is.reads, ==, should.reads);
    g_assert_cmpuint(is.programs, ==, should.programs);
    g_assert_cmpuint(is.pads, ==, should.pads);
    g_assert_cmpuint(is.erases, ==, should.erases);
}

/* Pages of one logical block after the other, from offsets "0123". */
static inline void write_offsets(Rig *rig, unsigned block, const char *offsets)
{
    for (; *offsets; offsets++) {
        rig_write(rig, block * BLOCK_PAGES + (unsigned)(*offsets - '0'));
    }
}

/* A write of offset in block, and what its merges may have cost it. */
static inline void write_after(Rig *rig, unsigned block, unsigned offset,
                               Merges should)
{
    int64_t merge_ns = (int64_t)should.reads * READ_NS +
                       (int64_t)should.programs * PROGRAM_NS +
                       (int64_t)should.erases * ERASE_NS;
    g_autoptr(GError) error = NULL;

    merges_of(rig);
    g_assert_cmpint(rig_write(rig, block * BLOCK_PAGES + offset), ==,
                    WRITE_NS + merge_ns);
    expect(rig, should);
    g_assert_true(scarp_check(rig->drive, &error));
}

static inline void trim(Rig *rig, unsigned block, unsigned offset, unsigned n)
{
    ScarpCmd cmd = cmd_of(SCARP_OP_DEALLOCATE,
                          (uint64_t)(block * BLOCK_PAGES + offset) * PAGE,
                          (uint64_t)n * PAGE);

    rig_do(rig, &cmd);
}

/* The block that a page lies in, and where in it; INSIDE_NONE: unmapped. */
static inline uint32_t block_of(const Rig *rig, unsigned block,
                                unsigned offset)
{
    uint32_t ppn = inside_l2p(rig->drive, block * BLOCK_PAGES + offset);

    return ppn == INSIDE_NONE ? INSIDE_NONE : ppn / BLOCK_PAGES;
}

static inline uint32_t page_of(const Rig *rig, unsigned block, unsigned offset)
{
    return inside_l2p(rig->drive, block * BLOCK_PAGES + offset) % BLOCK_PAGES;
}

/* Programs of pages over pages that the host wrote, in thousandths. */
static inline uint64_t amplification(const Rig *rig)
{
    const ScarpStats *s = rig_stats(rig);

    return (s->host_page_programs + s->gc_page_programs) * 1000 /
           s->host_page_programs;
}

#endif /* MERGES_H */
