/*
 * Mappings that say where pages go, when power fails: at every event of each
 * kind of merge; and what their blocks are for when it returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "merges.h"
#include "sweep.h"

#define POWER ONE_PLANE ",nand.power_cuts=1,ftl.recovery="
#define MAPS "1,ftl.mapping="
#define RECORDS "2,controller.buffer_bytes=16384,ftl.mapping="

/* "1:20 3:1": offsets 2 and 0 of logical block 1, then offset 1 of block 3. */
static unsigned commands_of(const char *text, ScarpCmd *cmd)
{
    g_auto(GStrv) items = g_strsplit(text, " ", -1);
    unsigned n = 0;

    for (char **item = items; *text && *item; item++) {
        for (const char *at = strchr(*item, ':') + 1; *at; at++) {
            uint64_t page = (**item - '0') * BLOCK_PAGES + (*at & 15);

            /* A letter is an offset that is deallocated: p is 0. */
            cmd[n++] = *at < 'p' ? write_page(page) : trim_pages(page, 1);
        }
    }
    return n;
}

/* All logical blocks are written in order; then what is said. */
static const char *prepared;

static void prepare(Rig *rig)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    ScarpCmd cmd[64];
    unsigned n = commands_of(prepared, cmd);

    for (uint64_t page = 0; page < pages; page++) {
        power_write(rig, page, SWEEP_FIRST + page);
    }
    for (unsigned i = 0; i < n; i++) {
        if (cmd[i].op == SCARP_OP_WRITE) {
            cmd[i].data = bytes_of(SWEEP_FIRST + 40 + i);
        }
        power_do(rig, &cmd[i]);
    }
}

/* Moments in merges of each kind. */
static void count_kinds(Rig *rig, void *opaque)
{
    ScarpUnderWay what = power_under_way(rig);
    unsigned *kinds = opaque;

    for (unsigned i = 0; i < SCARP_MERGE__COUNT; i++) {
        kinds[i] += what.merges[i];
    }
}

typedef struct {
    const char *name, *mapping;
    const char *before, *script; /* as commands_of() has them */
    ScarpMergeKind kind;
} Case;

/*
 * The script's first write needs the merge; the others overwrite, or deallocate,
 * what is merged, while it goes on.
 */
static const Case cases[] = {
    { "block-switch", "block,ftl.log_blocks=1", "0:0123", "1:0 0:2",
      SCARP_MERGE_SWITCH },
    { "block-partial", "block,ftl.log_blocks=1", "0:01", "1:0 0:3",
      SCARP_MERGE_PARTIAL },
    { "block-full", "block,ftl.log_blocks=1", "0:10", "1:0 0:3",
      SCARP_MERGE_FULL },
    { "block-deallocated", "block,ftl.log_blocks=1", "0:10 0:rs", "1:0 0:p 1:1",
      SCARP_MERGE_FULL },
    { "superblock-switch", "superblock,ftl.superblock_blocks=2,"
      "ftl.log_blocks=1", "0:3021", "0:1 2:0", SCARP_MERGE_SWITCH },
    { "superblock-partial", "superblock,ftl.superblock_blocks=2,"
      "ftl.log_blocks=1", "0:012", "2:0 0:3", SCARP_MERGE_PARTIAL },
    { "superblock-full", "superblock,ftl.superblock_blocks=2,"
      "ftl.log_blocks=1", "0:0 1:0", "2:0 0:3 1:1", SCARP_MERGE_FULL },
    { "fast-switch", "fast,ftl.log_blocks=2", "4:0123", "5:0 4:1",
      SCARP_MERGE_SWITCH },
    { "fast-partial", "fast,ftl.log_blocks=2", "5:01", "6:0 5:3",
      SCARP_MERGE_PARTIAL },
    { "fast-broken", "fast,ftl.log_blocks=2", "6:0", "6:2 6:1",
      SCARP_MERGE_PARTIAL },
    { "fast-random", "fast,ftl.log_blocks=2", "0:1 1:2 0:3 2:1", "3:1 1:3 2:p",
      SCARP_MERGE_FULL },
    { "fast-both", "fast,ftl.log_blocks=2", "2:0 1:1 2:3 0:1 0:2", "4:1 2:1",
      SCARP_MERGE_FULL },
};

static void cut(const Case *c, const char *kind, bool twice)
{
    g_autofree char *keys = g_strconcat(POWER, kind, c->mapping, NULL);
    unsigned kinds[SCARP_MERGE__COUNT] = { 0 };
    bool records = kind[0] == '2';
    ScarpCmd cmd[SWEEP_CMDS];
    Sweep all = { .scheme = "pgc", .overrides = keys, .prepare = prepare,
                  .cmd = cmd, .n_cmds = commands_of(c->script, cmd),
                  .is_durable = !records, .keeps_deallocated = !records,
                  .twice = twice, .look = count_kinds, .opaque = kinds };

    prepared = c->before;
    sweep(&all);
    g_assert_cmpuint(kinds[c->kind], >, 0);
}

static void test_merge(gconstpointer data)
{
    cut(data, MAPS, false);
    cut(data, MAPS, true);
}

/* With records and a buffer, whose order on flash is another one. */
static void test_merge_with_records(gconstpointer data)
{
    cut(data, RECORDS, false);
}

/* ---- Cells of more than one page ------------------------------------------- */

/*
 * A program that is cut takes the earlier page of its cells.  What it takes is
 * saved before, by a copy or by the energy that is left.
 */
static void test_paired(gconstpointer data)
{
    static const char *const how[] = {
        "1,nand.cell_bits=2,ftl.paired_pages=backup,ftl.mapping=",
        "1,nand.cell_bits=2,ftl.paired_pages=plp,controller.plp_bytes=65536,"
        "controller.buffer_bytes=16384,ftl.mapping=",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(how); i++) {
        cut(data, how[i], i == 0);
    }
}

/* ---- What blocks are for ---------------------------------------------------- */

enum { SCAN_NS = CMD + TR + 40 };

static Rig *filled(const char *mapping, const char *before)
{
    g_autofree char *keys = g_strconcat(POWER MAPS, mapping, NULL);
    Rig *rig = rig_new("baseline", NULL, keys);

    prepared = before;
    prepare(rig);
    rig_drain(rig);
    merges_of(rig);
    return rig;
}

/* So many reads of spare areas, and erases; nothing is copied. */
static void expect_recovery(Rig *rig, unsigned scans, unsigned erases)
{
    g_assert_cmpint(power_cycle(rig), ==,
                    (int64_t)scans * SCAN_NS + (int64_t)erases * ERASE_NS);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_programs, ==, 0);
}

/* Data blocks stay, and a log block in order is written on. */
static void test_log_in_order(void)
{
    Rig *rig = filled("block,ftl.log_blocks=1", "0:01");
    uint32_t log = block_of(rig, 0, 0), data = block_of(rig, 0, 2);

    /* 8 full blocks, 2 pages and the next one, and 7 free blocks. */
    expect_recovery(rig, 8 * BLOCK_PAGES + 3 + 7, 0);
    g_assert_cmpuint(block_of(rig, 0, 0), ==, log);
    g_assert_cmpuint(block_of(rig, 0, 2), ==, data);
    write_after(rig, 0, 2, (Merges) { 0 });
    g_assert_cmpuint(block_of(rig, 0, 2), ==, log);
    write_after(rig, 0, 3, (Merges) { 0 });
    /* It has all of the pages in order. */
    write_after(rig, 1, 0, (Merges) { .switches = 1, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 0, 0), ==, log);
    rig_free(rig);
}

/* A write is cut in its program.  Then, what that has left at its place. */
static char cut_write(Rig *rig, unsigned page, uint32_t block, unsigned at)
{
    ScarpCmd cmd = write_tag(page, 1, 'a');

    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TO_ARRAY_NS + 1);
    power_cycle(rig);
    return power_cell(rig, block, at);
}

/* One whose page is torn is in order no longer: a full merge, not a partial. */
static void test_log_with_torn_page(void)
{
    Rig *rig = filled("block,ftl.log_blocks=1", "0:0");
    uint32_t log = block_of(rig, 0, 0);
    char is = 'p';

    for (unsigned i = 0; is == 'p' && i < 3; i++) {
        is = cut_write(rig, 1 + i, log, 1 + i);
    }
    g_assert_cmpint(is, ==, 't');
    write_after(rig, 1, 0, (Merges) { .fulls = 1, .reads = 4, .programs = 4,
                                      .erases = 2 });
    rig_free(rig);
}

/* A write needs a merge; power fails when so many copies of it have ended. */
static void cut_merge(Rig *rig, unsigned page, unsigned copies)
{
    ScarpCmd cmd = write_tag(page, 1, 'z');
    uint64_t before = rig_stats(rig)->gc_page_programs;

    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
    while (rig_stats(rig)->gc_page_programs < before + copies) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
}

/*
 * A full merge whose copies are not all there: the old blocks stay what they
 * were, and the new one is erased.
 */
static void test_merge_begun(void)
{
    Rig *rig = filled("block,ftl.log_blocks=1", "0:10");
    uint32_t log = block_of(rig, 0, 0), data = block_of(rig, 0, 2);

    cut_merge(rig, BLOCK_PAGES, 3);
    /* The new block has three pages: four are read. */
    expect_recovery(rig, 8 * BLOCK_PAGES + 3 + 4 + 6, 1);
    g_assert_cmpuint(block_of(rig, 0, 0), ==, log);
    g_assert_cmpuint(block_of(rig, 0, 2), ==, data);
    write_after(rig, 1, 0, (Merges) { .fulls = 1, .reads = 4, .programs = 4,
                                      .erases = 2 });
    rig_free(rig);
}

/* They are: the new block is the data block, and both others are erased. */
static void test_merge_copied(void)
{
    Rig *rig = filled("block,ftl.log_blocks=1", "0:10");
    uint32_t log = block_of(rig, 0, 0);

    cut_merge(rig, BLOCK_PAGES, 4);
    expect_recovery(rig, 9 * BLOCK_PAGES + 3 + 6, 2);
    g_assert_cmpuint(block_of(rig, 0, 0), !=, log);
    g_assert_cmpuint(block_of(rig, 0, 2), ==, block_of(rig, 0, 0));
    write_after(rig, 1, 0, (Merges) { 0 });
    rig_free(rig);
}

/* FAST: what comes in order goes on, and so does the newest other log block. */
static void test_fast(void)
{
    Rig *rig = filled("fast,ftl.log_blocks=2", "4:01 0:1 1:2");
    uint32_t random = block_of(rig, 0, 1), sequential = block_of(rig, 4, 0);

    expect_recovery(rig, 8 * BLOCK_PAGES + 3 + 3 + 6, 0);
    write_after(rig, 4, 2, (Merges) { 0 });
    g_assert_cmpuint(block_of(rig, 4, 2), ==, sequential);
    write_after(rig, 2, 3, (Merges) { 0 });
    g_assert_cmpuint(block_of(rig, 2, 3), ==, random);
    /* Another sequence: one page of block 4 is copied. */
    write_after(rig, 5, 0, (Merges) { .partials = 1, .reads = 1,
                                      .programs = 1, .erases = 1 });
    rig_free(rig);
}

/*
 * FAST: what came in order ends with a torn page, and all may share its block
 * from there on.  Each page of others happens to lie at its own offset: the
 * block is still no data block, of none of them.
 */
static void test_fast_shared_in_place(void)
{
    Rig *rig = filled("fast,ftl.log_blocks=2", "4:0");
    unsigned offset = 1;
    uint32_t log = block_of(rig, 4, 0), data = block_of(rig, 1, 3);

    while (cut_write(rig, 4 * BLOCK_PAGES + offset, log, offset) == 'p') {
        offset++;
    }
    g_assert_cmpint(power_cell(rig, log, offset), ==, 't');
    g_assert_cmpuint(++offset, <, BLOCK_PAGES);
    for (unsigned i = offset; i < BLOCK_PAGES; i++) {
        power_write(rig, i % 2 * BLOCK_PAGES + i, 'b' + i);
        g_assert_cmpuint(block_of(rig, i % 2, i), ==, log);
        g_assert_cmpuint(page_of(rig, i % 2, i), ==, i);
    }
    power_cycle(rig);
    for (unsigned i = offset; i < BLOCK_PAGES; i++) {
        g_assert_cmpuint(block_of(rig, i % 2, i), ==, log);
        g_assert_cmpint(power_tag(rig, i % 2 * BLOCK_PAGES + i), ==, 'b' + i);
    }
    g_assert_cmpuint(block_of(rig, 1, 0), ==, data);
    rig_free(rig);
}

/* Superblocks: the block that is not full is written on. */
static void test_superblock(void)
{
    Rig *rig = filled("superblock,ftl.superblock_blocks=2,ftl.log_blocks=1",
                      "0:01");
    uint32_t update = block_of(rig, 0, 0);

    expect_recovery(rig, 8 * BLOCK_PAGES + 3 + 7, 0);
    write_after(rig, 1, 3, (Merges) { 0 });
    g_assert_cmpuint(block_of(rig, 1, 3), ==, update);
    rig_free(rig);
}

/*
 * The log block of block 0 is full, and is merged for one page more of it.
 * That goes to another log block while the merge copies, and then power fails.
 * A logical block has one log block at most.  So all of its pages are copied to
 * a new data block, each read before it is programmed, and the three blocks
 * that it had are erased.
 */
static void test_twins(void)
{
    Rig *rig = rig_new("pgc", NULL, POWER MAPS "block,ftl.log_blocks=1");
    /* 9 full blocks, 1 page and the next one, and 6 free blocks. */
    enum { SCANS = 9 * BLOCK_PAGES + 2 + 6 };

    prepared = "0:1032";
    prepare(rig);
    rig_drain(rig);
    power_write(rig, 1, 'z');
    g_assert_cmpuint(power_under_way(rig).merges[SCARP_MERGE_FULL], ==, 1);
    merges_of(rig);
    g_assert_cmpint(power_cycle(rig), ==,
                    (int64_t)SCANS * SCAN_NS +
                    (int64_t)BLOCK_PAGES * (READ_NS + PROGRAM_NS) +
                    (int64_t)3 * ERASE_NS);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads, ==,
                     SCANS + BLOCK_PAGES);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_programs, ==, BLOCK_PAGES);
    g_assert_cmpint(power_tag(rig, 1), ==, 'z');
    for (unsigned i = 0; i < BLOCK_PAGES; i++) {
        g_assert_cmpuint(page_of(rig, 0, i), ==, i);
        g_assert_cmpuint(block_of(rig, 0, i), ==, block_of(rig, 0, 0));
    }
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strconcat("/power/mappings/",
                                            cases[i].name, NULL);
        g_autofree char *records = g_strconcat(name, "/records", NULL);
        g_autofree char *paired = g_strconcat(name, "/paired", NULL);

        g_test_add_data_func(name, &cases[i], test_merge);
        g_test_add_data_func(records, &cases[i], test_merge_with_records);
        g_test_add_data_func(paired, &cases[i], test_paired);
    }
    g_test_add_func("/power/mappings/log-in-order", test_log_in_order);
    g_test_add_func("/power/mappings/log-with-torn-page",
                    test_log_with_torn_page);
    g_test_add_func("/power/mappings/merge-begun", test_merge_begun);
    g_test_add_func("/power/mappings/merge-copied", test_merge_copied);
    g_test_add_func("/power/mappings/fast", test_fast);
    g_test_add_func("/power/mappings/fast-shared-in-place",
                    test_fast_shared_in_place);
    g_test_add_func("/power/mappings/superblock", test_superblock);
    g_test_add_func("/power/mappings/twins", test_twins);
    return g_test_run();
}
