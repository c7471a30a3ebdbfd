/*
 * Parity over dies: its layout and laws, reads that the rest of a stripe
 * serves, rotating collections, and what all of it costs.
 *
 * The drive: four dies in one group, a stripe of three logical pages and their
 * parity, so that logical pages 0 to 2 are the first stripe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define PARITY "ftl.parity_width=4"
#define SMALL PARITY ",geometry.blocks_per_plane=24," \
              "geometry.pages_per_block=8,ftl.over_provisioning_permille=800"

/* ---- Layout -------------------------------------------------------------- */

static void test_layout(void)
{
    Rig *rig = rig_new("baseline", NULL, PARITY);
    const ScarpDrive *drive = rig->drive;
    uint64_t raw = (uint64_t)inside_units_per_plane(drive) *
                   inside_planes(drive);
    g_autofree char *json = scarp_stats_json(drive);
    g_autofree char *sizes = g_strdup_printf(
        "\"logical_bytes\": %" G_GUINT64_FORMAT ", \"raw_bytes\": %"
        G_GUINT64_FORMAT, scarp_drive_logical_bytes(drive), raw * PAGE);
    uint32_t pages[4] = { 0 }, parities[4] = { 0 };

    g_assert_cmpuint(inside_mapped_units(drive), ==, raw / 4 * 1000 / 1300 * 4);
    g_assert_cmpuint(inside_logical_units(drive), ==,
                     inside_mapped_units(drive) / 4 * 3);
    g_assert_nonnull(strstr(json, sizes));
    for (uint32_t lpn = 0; lpn < inside_logical_units(drive); lpn += 3) {
        uint32_t seen = 0;

        for (uint32_t i = 0; i < 4; i++) {
            uint32_t unit = i < 3 ? lpn + i
                                  : inside_parity_lpn(drive, lpn);
            uint32_t plane = inside_parity_plane(drive, unit);

            seen |= 1u << inside_plane_die(drive, plane);
            pages[plane]++;
            parities[plane] += i == 3;
        }
        g_assert_cmpuint(seen, ==, 15);
    }
    /* Every plane has as much to hold, and as much parity. */
    for (uint32_t p = 0; p < 4; p++) {
        g_assert_cmpuint(pages[p], ==, inside_mapped_units(drive) / 4);
        g_assert_cmpuint(parities[p], >=, inside_mapped_units(drive) / 16);
        g_assert_cmpuint(parities[p], <=, inside_mapped_units(drive) / 16 + 1);
    }
    rig_free(rig);
}

static void test_refused(void)
{
    static const char *const bad[][3] = {
        { "baseline", "ftl.parity_width=1", "ftl.parity_width=1: must be 0, or" },
        { "baseline", "ftl.parity_width=3", "must divide the 4 planes" },
        { "baseline", "ftl.parity_width=4,geometry.planes_per_die=2,"
                      "geometry.dies_per_chip=1", "of different dies" },
        { "baseline", PARITY ",ftl.allocation=pdwc,geometry.planes_per_die=2",
          "of different dies" },
        { "baseline", PARITY ",ftl.unit_bytes=1024", "ftl.unit_bytes=1024" },
        { "baseline", PARITY ",ftl.allocation=dynamic", "ftl.allocation" },
        { "baseline", PARITY ",ftl.parity_stripes=1", "from 2 to 65536" },
        { "ttflash", "", "'rotating' needs a drive with parity" },
        { "rotating", "", "'rotating' needs a drive with parity" },
        { "reconstruct", "", "'reconstruct' needs a drive with parity" },
        { "striped", "", "'striped' needs a drive with parity" },
        { "ttflash+pgc", PARITY, "one axis, pacing" },
        { "ttflash+global", PARITY, "one axis, relocation placement" },
        { "ttflash+direct", PARITY, "one axis, redundancy" },
        { "reconstruct+ideal", PARITY, "collections that take time" },
        { "reconstruct+paragc", PARITY, "'paragc' needs a drive without par" },
        { "gc-z", PARITY, "'gc-z' needs a drive without parity" },
        { "global", PARITY, "'global' needs a drive without parity" },
        { "static", PARITY, "'static' needs a drive without parity" },
        { "dynamic", PARITY, "'dynamic' needs a drive without parity" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                      NULL);
        ScarpConfig config = { .description_path = path, .scheme = bad[i][0],
                               .overrides = bad[i][1] };
        g_autoptr(GError) error = NULL;

        g_test_message("%s %s", bad[i][0], bad[i][1]);
        g_assert_null(scarp_drive_new(&config, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i][2]));
        g_assert_null(strchr(error->message, '\n'));
    }
}

/* ---- Writes ---------------------------------------------------------------- */

static void check_contents(const Rig *rig)
{
    g_autoptr(GError) error = NULL;

    inside_parity_check(rig->drive, &error);
    g_assert_no_error(error);
}

static int64_t write_bytes(Rig *rig, uint64_t page, uint64_t n, uint8_t byte)
{
    g_autofree uint8_t *data = g_malloc(n * PAGE);
    ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, page * PAGE, n * PAGE);
    int64_t ns;

    for (uint64_t i = 0; i < n * PAGE; i++) {
        data[i] = byte + i / PAGE + i * 7;
    }
    cmd.data = data;
    ns = rig_do(rig, &cmd);
    return ns;
}

/* A whole stripe costs a page more; a write does not wait for it. */
static void test_full_stripe(void)
{
    Rig *rig = rig_new("baseline", NULL, PARITY);
    g_autoptr(GError) error = NULL;

    /* On four dies and two channels: the second on a channel waits for it. */
    g_assert_cmpint(write_bytes(rig, 0, 3, 1), ==,
                    FW + 3 * LINK + 2 * (CMD + BUS) + TPROG);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 3);
    g_assert_cmpuint(rig_stats(rig)->parity_page_programs, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->parity_page_reads, ==, 0);
    g_assert_true(inside_at_rest(rig->drive, &error));
    check_contents(rig);
    rig_free(rig);
}

/*
 * One page of it: the parity stays in RAM, the write takes no longer; then the
 * others are read for it.
 */
static void test_part_of_stripe(void)
{
    Rig *rig = rig_new("baseline", NULL, PARITY);
    g_autoptr(GError) error = NULL;

    write_bytes(rig, 0, 3, 1);
    g_assert_cmpint(write_bytes(rig, 1, 1, 9), ==,
                    FW + LINK + CMD + BUS + TPROG);
    g_assert_cmpuint(rig_stats(rig)->parity_page_programs, ==, 1);
    g_assert_false(inside_at_rest(rig->drive, &error));
    g_assert_nonnull(strstr(error->message, "parity is not written"));
    g_clear_error(&error);
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(rig_stats(rig)->parity_page_reads, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->parity_page_programs, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 4);
    check_contents(rig);
    rig_free(rig);
}

/* Twice the same page, then the rest: the older contents must not count. */
static void test_overwritten(void)
{
    Rig *rig = rig_new("baseline", NULL, PARITY);
    g_autoptr(GError) error = NULL;

    write_bytes(rig, 0, 1, 1);
    write_bytes(rig, 0, 1, 77);
    write_bytes(rig, 1, 2, 3);
    g_assert_true(inside_at_rest(rig->drive, &error));
    g_assert_cmpuint(rig_stats(rig)->parity_page_reads, ==, 0);
    check_contents(rig);
    rig_free(rig);
}

/* A page that is deallocated counts as zeroes, an empty stripe has no parity. */
static void test_deallocated(void)
{
    Rig *rig = rig_new("baseline", NULL, PARITY);
    ScarpCmd trim = cmd_of(SCARP_OP_DEALLOCATE, PAGE, PAGE);
    ScarpCmd rest = cmd_of(SCARP_OP_WRITE_ZEROES, 0, 3 * PAGE);
    uint32_t parity = inside_parity_lpn(rig->drive, 0);
    g_autoptr(GError) error = NULL;

    write_bytes(rig, 0, 3, 1);
    rig_do(rig, &trim);
    g_assert_true(scarp_drain(rig->drive, &error));
    check_contents(rig);
    g_assert_cmpuint(inside_l2p(rig->drive, parity), !=, INSIDE_NONE);
    rig_do(rig, &rest);
    g_assert_true(inside_at_rest(rig->drive, &error));
    g_assert_cmpuint(inside_l2p(rig->drive, parity), ==, INSIDE_NONE);
    check_contents(rig);
    rig_free(rig);
}

/* Half of the RAM waits for more of a stripe; without any, writes wait. */
static void test_ram(void)
{
    Rig *rig = rig_new("baseline", NULL, PARITY ",ftl.parity_stripes=4");
    ScarpCmd cmd[40];
    bool waited = false;

    for (unsigned i = 0; i < 4; i++) {
        write_bytes(rig, 3 * i, 1, i);
    }
    /* Of the first two stripes: nothing else of them is mapped. */
    g_assert_cmpuint(rig_stats(rig)->parity_page_programs, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->parity_page_reads, ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
        cmd[i] = write_page(30 + 3 * i);
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive) + 1);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
        latency(&cmd[i]);
        waited |= cmd[i].cause_ns[SCARP_CAUSE_BUFFER_FULL] > 0;
    }
    g_assert_true(waited);
    rig_free(rig);
}

/* ---- Parts of pages --------------------------------------------------------- */

static Rig *rig_of_stripes(uint32_t stripes, const char *more)
{
    g_autofree char *keys = g_strdup_printf(PARITY ",ftl.parity_stripes=2,"
                                            "controller.slots=300%s", more);
    Rig *rig = rig_new("baseline", NULL, keys);
    g_autoptr(GError) error = NULL;

    for (uint32_t s = 0; s < stripes; s++) {
        write_bytes(rig, 3 * s, 3, s);
    }
    g_assert_true(scarp_drain(rig->drive, &error));
    return rig;
}

/* Until nothing happens any more; the most stripes that were open at once. */
static uint32_t most_open(Rig *rig)
{
    uint32_t most = 0;

    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        g_autoptr(GError) error = NULL;

        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        most = MAX(most, inside_open_stripes(rig->drive));
        scarp_check(rig->drive, &error);
        g_assert_no_error(error);
    }
    rig_drain(rig);
    return most;
}

/* All come at once: each is read first, and its stripe opens only then. */
static void test_parts(void)
{
    Rig *rig = rig_of_stripes(200, "");
    g_autofree char *data = g_malloc0(512);
    g_autofree ScarpCmd *cmd = g_new(ScarpCmd, 200);
    g_autoptr(GError) error = NULL;
    uint32_t most, waited = 0;

    for (uint32_t i = 0; i < 200; i++) {
        cmd[i] = cmd_of(SCARP_OP_WRITE, (uint64_t)3 * i * PAGE + 512, 512);
        cmd[i].data = data;
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive) + 1);
    }
    most = most_open(rig);
    g_test_message("%u of 200 stripes were open at once", most);
    g_assert_cmpuint(most, ==, 2);
    for (uint32_t i = 0; i < 200; i++) {
        latency(&cmd[i]);
        waited += cmd[i].cause_ns[SCARP_CAUSE_BUFFER_FULL] > 0;
    }
    g_assert_cmpuint(waited, >=, 190);
    g_assert_cmpuint(rig_stats(rig)->rmw_reads, ==, 200);
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(inside_placed_stripes(rig->drive), ==, 0);
    check_contents(rig);
    rig_free(rig);
}

/* Parts of one page that wait for each other need one place between them. */
static void test_parts_of_one(void)
{
    Rig *rig = rig_of_stripes(2, "");
    g_autofree char *data = g_malloc0(512);
    ScarpCmd cmd[16];
    g_autoptr(GError) error = NULL;

    for (uint32_t i = 0; i < 16; i++) {
        cmd[i] = cmd_of(SCARP_OP_WRITE, i % 2 * 3 * PAGE + i / 2 * 512, 512);
        cmd[i].data = data;
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive) + 1);
    }
    g_assert_cmpuint(most_open(rig), ==, 2);
    for (uint32_t i = 0; i < 16; i++) {
        g_assert_cmpint(cmd[i].cause_ns[SCARP_CAUSE_BUFFER_FULL], ==, 0);
    }
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(inside_placed_stripes(rig->drive), ==, 0);
    check_contents(rig);
    rig_free(rig);
}

/* Parts that become stale as they are read, and whole pages in between. */
static void test_parts_stale(gconstpointer buffer)
{
    Rig *rig = rig_of_stripes(40, buffer);
    g_autofree char *data = g_malloc0(PAGE);
    g_autofree ScarpCmd *cmd = g_new(ScarpCmd, 2000);
    GRand *rand = g_rand_new_with_seed(7);
    g_autoptr(GError) error = NULL;

    for (uint32_t i = 0; i < 2000; i++) {
        uint64_t at = (uint64_t)g_rand_int_range(rand, 0, 120) * PAGE;

        switch (g_rand_int_range(rand, 0, 8)) {
        case 0:
            cmd[i] = cmd_of(SCARP_OP_DEALLOCATE, at, PAGE);
            break;
        case 1:
            cmd[i] = cmd_of(SCARP_OP_WRITE, at, PAGE);
            break;
        default:
            cmd[i] = cmd_of(SCARP_OP_WRITE, at + 512, 1024);
            break;
        }
        cmd[i].data = data;
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive) + 1);
    }
    g_assert_cmpuint(most_open(rig), ==, 2);
    for (uint32_t i = 0; i < 2000; i++) {
        latency(&cmd[i]);
    }
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(inside_placed_stripes(rig->drive), ==, 0);
    check_contents(rig);
    g_rand_free(rand);
    rig_free(rig);
}

/* ---- Reads that parity serves ----------------------------------------------- */

/*
 * Brings one die into a collection: it alone is written until it must.  Other
 * pages of its stripes are there, and their parities on flash.
 */
static uint32_t collecting(Rig *rig, ScarpCmd *cmd, unsigned n)
{
    g_autoptr(GError) error = NULL;

    for (uint32_t page = 0; page < inside_logical_units(rig->drive);
         page += 3) {
        write_bytes(rig, page, 3, page);
    }
    g_assert_true(scarp_drain(rig->drive, &error));
    for (unsigned i = 0; i < n; i++) {
        for (uint32_t die = 0; die < inside_dies(rig->drive); die++) {
            if (inside_collections(rig->drive, die)) {
                return die;
            }
        }
        cmd[i] = write_page(0);
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive) + 1);
        while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
            bool begun = false;

            for (uint32_t die = 0; die < inside_dies(rig->drive); die++) {
                begun |= inside_collections(rig->drive, die);
            }
            if (begun) {
                break;
            }
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        }
    }
    g_assert_not_reached();
}

/* A page of the die whose stripe is not being written, and is on flash. */
static uint32_t page_on(const Rig *rig, uint32_t die)
{
    for (uint32_t lpn = 30; lpn < inside_logical_units(rig->drive); lpn++) {
        if (inside_ppn_plane(rig->drive, inside_l2p(rig->drive, lpn)) == die) {
            return lpn;
        }
    }
    g_assert_not_reached();
}

/* The read's own time is of the others'; with baseline it waits. */
static void test_reconstructed(gconstpointer scheme)
{
    Rig *rig = rig_new(scheme, NULL, SMALL);
    g_autofree ScarpCmd *writes = g_new(ScarpCmd, 2000);
    uint32_t die = collecting(rig, writes, 2000);
    uint32_t lpn = page_on(rig, die), first = lpn / 3 * 3;
    uint8_t data[PAGE];
    ScarpCmd cmd = read_page(lpn);
    bool served = !strcmp(scheme, "ttflash");
    unsigned before = rig->n_ops, seen = 0;
    int64_t ns;

    cmd.data = data;
    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive) + 1);
    rig_drain(rig);
    ns = latency(&cmd);
    for (unsigned i = 0; i < PAGE; i++) {
        /* As collecting() has written it. */
        g_assert_cmpuint(data[i], ==,
                         (uint8_t)(first + (lpn - first) +
                                   ((lpn - first) * PAGE + i) * 7));
    }
    for (unsigned i = before; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (rig->op[i].cmd_seq == cmd.seq && op->phase == SCARP_PHASE_ARRAY) {
            g_assert_cmpint(op->kind, ==, SCARP_FLASH_READ);
            g_assert_true((op->die != die) == served);
            seen |= 1u << op->die;
        }
    }
    if (served) {
        /* The other three: two share a channel, one waits for the other. */
        g_assert_cmpuint(seen, ==, 15 & ~(1u << die));
        g_assert_cmpint(ns, <=, FW + 2 * CMD + TR + 2 * BUS + LINK);
        g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, ==, 1);
        g_assert_cmpuint(rig_stats(rig)->reconstruction_page_reads, ==, 3);
    } else {
        g_assert_cmpuint(seen, ==, 1u << die);
        g_assert_cmpint(ns, >, TBERS);
        g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, ==, 0);
    }
    rig_free(rig);
}

/* A write to the stripe meanwhile spoils it: the read waits for its die. */
static void test_spoiled(void)
{
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    g_autofree ScarpCmd *writes = g_new(ScarpCmd, 2000);
    uint32_t die = collecting(rig, writes, 2000);
    uint32_t lpn = page_on(rig, die), first = lpn / 3 * 3;
    uint32_t other = lpn == first ? first + 1 : first;
    uint8_t data[PAGE];
    ScarpCmd cmd = read_page(lpn), write = write_page(other);
    int64_t now = scarp_now_ns(rig->drive) + 1;

    cmd.data = data;
    scarp_submit(rig->drive, &cmd, now);
    scarp_submit(rig->drive, &write, now + TR / 2);
    rig_drain(rig);
    latency(&cmd);
    latency(&write);
    for (unsigned i = 0; i < PAGE; i++) {
        g_assert_cmpuint(data[i], ==,
                         (uint8_t)(lpn + ((lpn - first) * PAGE + i) * 7));
    }
    g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->reconstruction_page_reads, ==, 3);
    rig_free(rig);
}

/* Others of the die of page 0: a full block of them, no longer valid. */
static void spoil_blocks(Rig *rig)
{
    for (int i = 0; i < 2; i++) {
        for (uint32_t lpn = 12; lpn < 12 * 20; lpn += 12) {
            rig_write(rig, lpn);
        }
    }
    rig_drain(rig);
}

/*
 * It waited for its die, and its page, all that its stripe had, was deallocated;
 * then the die began to collect, as somebody asked for it between events.
 */
static void test_vanished(void)
{
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    ScarpCmd first = read_page(0), cmd = read_page(0);
    ScarpCmd gone = cmd_of(SCARP_OP_DEALLOCATE, 0, PAGE);
    uint8_t data[PAGE] = { 1 };
    int64_t now;

    write_bytes(rig, 0, 1, 5);
    spoil_blocks(rig);
    now = scarp_now_ns(rig->drive) + 1;
    cmd.data = data;
    scarp_submit(rig->drive, &first, now);
    scarp_submit(rig->drive, &cmd, now);
    scarp_submit(rig->drive, &gone, now + FW);
    scarp_run(rig->drive, now + 3 * FW + TR / 2);
    g_assert_cmpuint(scarp_collect_now(rig->drive, UINT32_MAX), >, 0);
    rig_drain(rig);
    latency(&cmd);
    g_assert_cmpuint(data[0], ==, 0);
    g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, ==, 0);
    rig_free(rig);
}

/*
 * It waited for its die, and its stripe was written as a whole.  The parity was
 * on flash before the page, as another die had less to do; then the die began
 * to collect.
 */
static void test_overtaken(void)
{
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    ScarpCmd before[100], cmd = read_page(0);
    ScarpCmd write = cmd_of(SCARP_OP_WRITE, 0, 3 * PAGE);
    g_autofree uint8_t *newer = g_malloc0(3 * PAGE);
    uint8_t data[PAGE] = { 1 };
    uint64_t programs;
    int64_t now;

    write_bytes(rig, 0, 3, 5);
    spoil_blocks(rig);
    now = scarp_now_ns(rig->drive) + 1;
    cmd.data = data;
    write.data = newer;
    for (unsigned i = 0; i < G_N_ELEMENTS(before); i++) {
        before[i] = read_page(12);
        scarp_submit(rig->drive, &before[i], now);
    }
    scarp_submit(rig->drive, &cmd, now);
    scarp_submit(rig->drive, &write, now);
    programs = rig_stats(rig)->parity_page_programs;
    while (rig_stats(rig)->parity_page_programs == programs) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    g_assert_cmpint(write.complete_ns, ==, 0);
    g_assert_cmpuint(scarp_collect_now(rig->drive, UINT32_MAX), >, 0);
    rig_drain(rig);
    latency(&cmd);
    latency(&write);
    g_assert_cmpuint(data[1], ==, 5 + 7); /* the write came after it */
    rig_free(rig);
}

/*
 * Not worth it: another die of the stripe has more to read than the collection
 * takes, or the stripe's parity is not on flash.
 */
static void test_waits(gconstpointer why)
{
    bool busy = !strcmp(why, "busy");
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    g_autofree ScarpCmd *writes = g_new(ScarpCmd, 2000);
    uint32_t die = collecting(rig, writes, 2000);
    uint32_t lpn = page_on(rig, die), first = lpn / 3 * 3;
    uint32_t other = lpn == first ? first + 1 : first;
    ScarpCmd cmd = read_page(lpn), before[200];
    int64_t now = scarp_now_ns(rig->drive) + 1;

    for (unsigned i = 0; i < (busy ? G_N_ELEMENTS(before) : 1); i++) {
        before[i] = busy ? read_page(other) : write_page(other);
        scarp_submit(rig->drive, &before[i], now);
    }
    /* Behind the write's data. */
    scarp_submit(rig->drive, &cmd, now + 2 * LINK);
    rig_drain(rig);
    g_assert_cmpint(latency(&cmd), >, TBERS);
    g_assert_cmpuint(rig_stats(rig)->reconstruction_page_reads, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->reconstruction_refusals, ==, 1);
    rig_free(rig);
}

/* ---- Under load ---------------------------------------------------------------- */

enum { COMMANDS = 3000 };

/* Random reads and writes, one every interval_ns; all of them end. */
static void load(Rig *rig, unsigned commands, unsigned write_percent,
                 int64_t interval_ns)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    g_autofree ScarpCmd *cmd = g_new(ScarpCmd, commands);

    for (unsigned i = 0; i < commands; i++) {
        uint64_t page = g_rand_int_range(rand, 0, pages);

        cmd[i] = g_rand_int_range(rand, 0, 100) < (int)write_percent
                     ? write_page(page) : read_page(page);
        scarp_submit(rig->drive, &cmd[i],
                     scarp_now_ns(rig->drive) + interval_ns);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < commands; i++) {
        latency(&cmd[i]);
    }
}

/* Collections of different dies that overlap in time. */
static unsigned overlaps(const Rig *rig)
{
    unsigned n = 0;

    for (unsigned i = 0; i < rig->n_runs; i++) {
        for (unsigned j = 0; j < i; j++) {
            n += rig->run[i].die != rig->run[j].die &&
                 rig->run[i].begin_ns < rig->run[j].end_ns &&
                 rig->run[j].begin_ns < rig->run[i].end_ns;
        }
    }
    return n;
}

/* One die at a time, unless there is no room; blocking minds nobody. */
static void test_rotation(void)
{
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    uint64_t forced;

    rig_age(rig, 700);
    load(rig, COMMANDS, 10, 200000);
    g_assert_cmpuint(rig->n_runs, >, 20);
    g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 0);
    g_assert_cmpuint(overlaps(rig), ==, 0);
    g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, >, 20);
    rig_free(rig);

    /* With writes only there is more to collect than one at a time can. */
    rig = rig_new("ttflash", NULL, SMALL);
    rig_age(rig, 1000);
    load(rig, COMMANDS, 100, 200000);
    forced = rig_stats(rig)->gc_forced_runs;
    g_assert_cmpuint(forced, >, 0);
    g_assert_cmpuint(overlaps(rig), >, 0);
    rig_free(rig);

    rig = rig_new("baseline", NULL, SMALL);
    rig_age(rig, 700);
    load(rig, COMMANDS, 10, 200000);
    g_assert_cmpuint(overlaps(rig), >, 0);
    g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, ==, 0);
    rig_free(rig);
}

/* Every page that was programmed is counted once, and so is parity's share. */
static void test_overhead(void)
{
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    const ScarpStats *s = rig_stats(rig);
    uint64_t programs = 0, parities = 0, reads = 0, others = 0, wa;
    g_autoptr(GError) error = NULL;
    g_autofree char *json = NULL, *expected = NULL;

    rig_age(rig, 700);
    load(rig, 1000, 50, 500000);
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(rig->n_ops, <, MAX_OPS);
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;
        bool program = op->kind == SCARP_FLASH_PROGRAM ||
                       op->kind == SCARP_FLASH_COPYBACK;

        if (op->phase != SCARP_PHASE_ARRAY) {
            continue;
        }
        programs += program;
        parities += program && op->origin == SCARP_ORIGIN_PARITY;
        others += !program && op->origin == SCARP_ORIGIN_PARITY;
        reads += op->kind == SCARP_FLASH_READ;
    }
    g_assert_cmpuint(programs, ==, s->host_page_programs +
                     s->gc_page_programs + s->parity_page_programs);
    g_assert_cmpuint(parities, ==, s->parity_page_programs);
    g_assert_cmpuint(others, ==, s->parity_page_reads);
    g_assert_cmpuint(reads, ==, s->host_page_reads + s->gc_page_reads +
                     s->parity_page_reads + s->reconstruction_page_reads);
    g_assert_cmpuint(s->parity_page_programs, >, 0);
    wa = programs * 1000 / s->host_page_programs;
    json = scarp_stats_json(rig->drive);
    expected = g_strdup_printf("\"write_amplification_milli\": %"
                               G_GUINT64_FORMAT ",", wa);
    g_assert_nonnull(strstr(json, expected));
    rig_free(rig);
}

/* The point of it: reads meet no collection, as they do under baseline. */
static void test_tail(void)
{
    static const char *const schemes[] = { "baseline", "ttflash" };
    int64_t p99[2];

    for (int i = 0; i < 2; i++) {
        Rig *rig = rig_new(schemes[i], NULL, SMALL);

        rig_age(rig, 700);
        load(rig, COMMANDS, 10, 200000);
        p99[i] = scarp_latency_ns(rig->drive, SCARP_OP_READ, 990000);
        rig_free(rig);
    }
    g_test_message("99th percentile: %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT,
                   p99[0], p99[1]);
    g_assert_cmpint(p99[1] * 2, <, p99[0]);
}

/* ---- Images ---------------------------------------------------------------------- */

static ScarpDrive *from_image(const char *path, const char *overrides,
                              const char *scheme, GError **error)
{
    g_autofree char *description = g_test_build_filename(G_TEST_DIST,
                                                         "tiny.ini", NULL);
    ScarpConfig config = { .description_path = description, .scheme = scheme,
                           .overrides = overrides, .seed = 1,
                           .store_data = true, .image_path = path };

    return scarp_drive_new(&config, error);
}

/* Of another layout class either way; of its own, parity and all. */
static void test_images(void)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int fd = g_file_open_tmp("scarp-XXXXXX", &path, &error);
    Rig *rig = rig_new("ttflash", NULL, SMALL);
    ScarpDrive *drive;

    close(fd);
    for (uint64_t page = 0; page < 65; page++) {
        write_bytes(rig, page * 7 % 60, 1, page);
    }
    g_assert_false(scarp_save(rig->drive, path, &error));
    g_clear_error(&error);
    g_assert_true(scarp_drain(rig->drive, &error));
    scarp_save(rig->drive, path, &error);
    g_assert_no_error(error);
    rig_free(rig);

    drive = from_image(path, SMALL, "ttflash", &error);
    g_assert_no_error(error);
    inside_parity_check(drive, &error);
    g_assert_no_error(error);
    scarp_drive_free(drive);

    g_assert_null(from_image(path, SMALL ",ftl.parity_width=0", "baseline",
                             &error));
    g_assert_nonnull(strstr(error->message, "another layout class: it has "
                            "ftl.parity_width=4, the drive "
                            "ftl.parity_width=0"));
    g_clear_error(&error);
    g_assert_null(from_image(path, SMALL ",ftl.parity_width=2", "ttflash",
                             &error));
    g_clear_error(&error);

    rig = rig_new("baseline", NULL, SMALL ",ftl.parity_width=0");
    scarp_save(rig->drive, path, &error);
    g_assert_no_error(error);
    rig_free(rig);
    g_assert_null(from_image(path, SMALL, "ttflash", &error));
    g_assert_nonnull(strstr(error->message, "it has ftl.parity_width=0, the "
                            "drive ftl.parity_width=4"));
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ttflash/layout", test_layout);
    g_test_add_func("/ttflash/refused", test_refused);
    g_test_add_func("/ttflash/full-stripe", test_full_stripe);
    g_test_add_func("/ttflash/part-of-stripe", test_part_of_stripe);
    g_test_add_func("/ttflash/overwritten", test_overwritten);
    g_test_add_func("/ttflash/deallocated", test_deallocated);
    g_test_add_func("/ttflash/ram", test_ram);
    g_test_add_func("/ttflash/parts", test_parts);
    g_test_add_func("/ttflash/parts/one", test_parts_of_one);
    g_test_add_data_func("/ttflash/parts/stale", "", test_parts_stale);
    g_test_add_data_func("/ttflash/parts/stale/buffered",
                         ",controller.buffer_bytes=262144", test_parts_stale);
    g_test_add_data_func("/ttflash/read/ttflash", "ttflash",
                         test_reconstructed);
    g_test_add_data_func("/ttflash/read/baseline", "baseline",
                         test_reconstructed);
    g_test_add_func("/ttflash/spoiled", test_spoiled);
    g_test_add_func("/ttflash/vanished", test_vanished);
    g_test_add_func("/ttflash/overtaken", test_overtaken);
    g_test_add_data_func("/ttflash/waits/busy", "busy", test_waits);
    g_test_add_data_func("/ttflash/waits/open", "open", test_waits);
    g_test_add_func("/ttflash/rotation", test_rotation);
    g_test_add_func("/ttflash/overhead", test_overhead);
    g_test_add_func("/ttflash/tail", test_tail);
    g_test_add_func("/ttflash/images", test_images);
    return g_test_run();
}
