/*
 * What may be asked of a drive whose power can fail: what it says of itself,
 * what a cut would meet now, and what a read would return.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#define BUFFER ",controller.buffer_bytes=65536"

static Rig *buffered(const char *more)
{
    g_autofree char *keys = g_strconcat(CUTS "," ONE BUFFER, more, NULL);

    return rig_new("baseline", NULL, keys);
}

static bool told(const char *overrides, bool (*ask)(const ScarpDrive *))
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    bool is = ask(rig->drive);

    rig_free(rig);
    return is;
}

/* What Identify says of it. */
static void test_told(void)
{
    static const char plp[] = CUTS BUFFER ",controller.plp_bytes=65536";

    g_assert_false(told("controller.buffer_bytes=65536",
                        scarp_drive_loses_power));
    g_assert_false(told("controller.buffer_bytes=65536",
                        scarp_drive_is_volatile));
    g_assert_true(told("ftl.recovery=1", scarp_drive_deallocates));
    g_assert_true(told(CUTS, scarp_drive_loses_power));
    g_assert_false(told(CUTS, scarp_drive_is_volatile));
    g_assert_true(told(CUTS BUFFER, scarp_drive_is_volatile));
    g_assert_false(told(plp, scarp_drive_is_volatile));
    g_assert_true(told(CUTS, scarp_drive_deallocates));
    g_assert_false(told("nand.power_cuts=1,ftl.recovery=1",
                        scarp_drive_deallocates));
}

/* ---- What is under way ------------------------------------------------- */

static void test_under_way(void)
{
    Rig *rig = buffered(",nand.suspend_program=1,nand.suspend_min_ns=0");
    ScarpCmd fua = write_tag(1, 1, 'b'), read = read_page(0);
    ScarpCmd flushes = cmd_of(SCARP_OP_FLUSH, 0, 0);
    int64_t from_ns;

    g_assert_cmpmem(&(ScarpUnderWay) { 0 }, sizeof(ScarpUnderWay),
                    (ScarpUnderWay[]) { power_under_way(rig) },
                    sizeof(ScarpUnderWay));
    power_write(rig, 0, 'a');
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 1);
    power_flush(rig);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 0);
    fua.fua = true;
    from_ns = scarp_now_ns(rig->drive);
    scarp_submit(rig->drive, &fua, from_ns);
    scarp_submit(rig->drive, &flushes, from_ns + FW);
    scarp_run(rig->drive, from_ns + TO_ARRAY_NS);
    g_assert_cmpuint(power_under_way(rig).programs[SCARP_ORIGIN_HOST], ==, 0);
    scarp_run(rig->drive, from_ns + TO_ARRAY_NS + 1);
    g_assert_cmpuint(power_under_way(rig).programs[SCARP_ORIGIN_HOST], ==, 1);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 1);
    g_assert_cmpuint(power_under_way(rig).flushes, ==, 1);
    g_assert_cmpuint(power_under_way(rig).suspended, ==, 0);
    scarp_submit(rig->drive, &read, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + 1);
    g_assert_cmpuint(power_under_way(rig).suspended, ==, 1);
    g_assert_cmpuint(power_under_way(rig).programs[SCARP_ORIGIN_HOST], ==, 1);
    rig_drain(rig);
    power_trim(rig, 0, 1);
    g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==, 1);
    g_assert_false(power_under_way(rig).recovers);
    power_off(rig);
    g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==, 0);
    g_assert_true(power_under_way(rig).recovers);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + CMD + 1);
    g_assert_cmpuint(power_under_way(rig).reads, ==, 1);
    power_cycle(rig);
    g_assert_false(power_under_way(rig).recovers);
    rig_free(rig);
}

/* Collections: copies, erases, and by their kind the merges of a mapping. */
static void test_under_way_collections(void)
{
    static const struct {
        const char *mapping;
        ScarpMergeKind kinds;
    } drives[] = {
        { "page", 1 << SCARP_MERGE_NONE },
        { "block", 1 << SCARP_MERGE_SWITCH | 1 << SCARP_MERGE_PARTIAL |
                   1 << SCARP_MERGE_FULL },
    };

    for (size_t d = 0; d < G_N_ELEMENTS(drives); d++) {
        g_autofree char *keys = g_strconcat(
            CUTS "," ONE ",geometry.blocks_per_plane=16,"
            "geometry.pages_per_block=4,gc.trigger_free_blocks=1,"
            "ftl.over_provisioning_permille=1000,ftl.mapping=",
            drives[d].mapping, NULL);
        Rig *rig = rig_new("baseline", NULL, keys);
        uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
        uint32_t copies = 0, erases = 0, kinds = 0;
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);
        ScarpCmd cmd[400];

        for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
            uint64_t page = i % pages; /* all in order, twice */

            if (i >= 300) {
                page = i % 2; /* the first ones of a block */
            } else if (i >= 2 * pages) {
                page = g_rand_int_range(rand, 0, pages);
            }
            cmd[i] = write_tag(page, 1, 'a');
            scarp_submit(rig->drive, &cmd[i], 0);
        }
        while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
            int64_t now_ns = scarp_next_event_ns(rig->drive);
            ScarpUnderWay what;
            uint32_t merges = 0;

            scarp_run(rig->drive, now_ns);
            if (scarp_next_event_ns(rig->drive) == SCARP_TIME_NEVER) {
                break;
            }
            scarp_run(rig->drive, now_ns + (scarp_next_event_ns(rig->drive) -
                                            now_ns) / 2);
            what = power_under_way(rig);
            for (unsigned i = 0; i < SCARP_MERGE__COUNT; i++) {
                merges += what.merges[i];
                kinds |= what.merges[i] ? 1u << i : 0;
            }
            g_assert_cmpuint(merges, ==, what.collections);
            g_assert_cmpuint(what.collections, ==,
                             inside_collects(rig->drive, 0));
            copies += what.programs[SCARP_ORIGIN_GC];
            erases += what.erases;
            g_assert_true(what.collections || !what.erases);
        }
        g_assert_cmpuint(copies, >, 0);
        g_assert_cmpuint(erases, >, 0);
        g_assert_cmphex(kinds & drives[d].kinds, ==, drives[d].kinds);
        while (scarp_reap(rig->drive)) {
            continue;
        }
        rig_free(rig);
    }
}

/* ---- What a read would return ------------------------------------------ */

static void test_peek(void)
{
    Rig *rig = buffered("");
    uint8_t data[3 * PAGE];

    power_write(rig, 0, 'a');
    power_flush(rig);
    power_write(rig, 1, 'b'); /* buffered */
    memset(data, 'x', sizeof(data));
    scarp_peek(rig->drive, PAGE - 512, PAGE + 1024, data);
    g_assert_cmpint(data[511], ==, 'a');
    g_assert_cmpint(data[512], ==, 'b');
    g_assert_cmpint(data[511 + PAGE], ==, 'b');
    g_assert_cmpint(data[512 + PAGE], ==, 0); /* never written */
    g_assert_cmpint(data[1023 + PAGE], ==, 0);
    g_assert_cmpint(data[1024 + PAGE], ==, 'x');
    rig_drain(rig);
    rig_free(rig);
}

/* Of a unit of which parts were written, and the rest is being read. */
static void test_peek_part(void)
{
    Rig *rig = buffered("");
    ScarpCmd part = cmd_of(SCARP_OP_WRITE, 512, 1024);
    ScarpCmd more = cmd_of(SCARP_OP_WRITE, 1024, 1024);
    uint8_t data[PAGE];

    part.data = bytes_of('b');
    more.data = bytes_of('c');
    power_write(rig, 0, 'a');
    power_flush(rig);
    scarp_submit(rig->drive, &part, scarp_now_ns(rig->drive));
    scarp_submit(rig->drive, &more, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + LINK + 1);
    g_assert_cmpuint(rig_stats(rig)->rmw_reads, ==, 1);
    for (int done = 0; done < 2; done++) {
        scarp_peek(rig->drive, 0, PAGE, data);
        g_assert_cmpint(data[511], ==, 'a');
        g_assert_cmpint(data[512], ==, 'b');
        g_assert_cmpint(data[1023], ==, 'b');
        g_assert_cmpint(data[1024], ==, 'c');
        g_assert_cmpint(data[2047], ==, 'c');
        g_assert_cmpint(data[2048], ==, 'a');
        rig_drain(rig);
    }
    rig_free(rig);
}

/* ---- How long a recovery may take --------------------------------------- */

static int64_t bound_of(const char *keys)
{
    Rig *rig = rig_new("baseline", NULL, keys);
    int64_t bound_ns = scarp_recovery_bound_ns(rig->drive);

    rig_free(rig);
    return bound_ns;
}

/*
 * 64 blocks of 16 pages.  Each page is read once.  To make a block free of
 * blocks that have a page each to spare, 16 of them are copied, and 8 more may
 * be: a page is read, crosses the channel twice, and is programmed.  All blocks
 * are erased, and 16 once more; each erase waits for a page on the channel.
 */
static void test_bound(void)
{
    g_assert_cmpint(bound_of(CUTS "," ONE), ==,
                    64 * BLOCK * (int64_t)READ_NS +
                    (16 + 8) * BLOCK * (int64_t)(READ_NS + PROGRAM_NS) +
                    (64 + 16) * (int64_t)(ERASE_NS + BUS));
}

#define PAIRS CUTS "," ONE ",geometry.pages_per_block=2,nand.cell_bits=2," \
              "ftl.paired_pages=backup,timing.read_ns="

/*
 * Any page may be the one that is read: the slowest counts, the first as much
 * as the last.  64 blocks of 2 pages, and copies of 2 + 8 blocks.
 */
static void test_bound_of_slowest(void)
{
    int64_t even_ns = bound_of(PAIRS "75000");

    g_assert_cmpint(bound_of(PAIRS "75000;85000") - even_ns, ==,
                    (64 + 2 + 8) * 2 * 10000);
    g_assert_cmpint(bound_of(PAIRS "85000;75000") - even_ns, ==,
                    (64 + 2 + 8) * 2 * 10000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/asked/told", test_told);
    g_test_add_func("/power/asked/under-way", test_under_way);
    g_test_add_func("/power/asked/under-way-collections",
                    test_under_way_collections);
    g_test_add_func("/power/asked/peek", test_peek);
    g_test_add_func("/power/asked/peek-part", test_peek_part);
    g_test_add_func("/power/asked/bound", test_bound);
    g_test_add_func("/power/asked/bound-of-slowest", test_bound_of_slowest);
    return g_test_run();
}
