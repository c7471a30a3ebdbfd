/*
 * When a read is worth making from the rest of its stripe: to the nanosecond.
 *
 * Four dies of one plane, a stripe of three logical pages and their parity:
 * logical pages 0 to 2 are the first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#define SMALL "ftl.parity_width=4,geometry.blocks_per_plane=16," \
              "geometry.pages_per_block=8,ftl.over_provisioning_permille=600"
#define ONE_READ (CMD + TR + BUS)
#define COPYBACK (CMD + TR + CMD + TPROG)
#define MOVE (COPYBACK + 2 * BUS)

enum { READS = 90 };

typedef struct {
    uint64_t moved; /* by the collection: pages */
    uint64_t reconstructed, refused;
} Seen;

static uint32_t collecting_die(const ScarpDrive *drive)
{
    for (uint32_t die = 0; die < inside_dies(drive); die++) {
        if (inside_collections(drive, die)) {
            return die;
        }
    }
    return INSIDE_NONE;
}

/* A page of the die, of another stripe than the given page's. */
static uint32_t page_on(const ScarpDrive *drive, uint32_t die, uint32_t page)
{
    for (uint32_t lpn = 0; lpn < inside_logical_units(drive); lpn++) {
        if (lpn / 3 != page / 3 &&
            inside_ppn_plane(drive, inside_l2p(drive, lpn)) == die) {
            return lpn;
        }
    }
    g_assert_not_reached();
}

/*
 * Single pages are written again, each followed by its stripe's parity, until
 * the program of one brings a collection: all other dies are at rest then.
 */
static uint32_t write_until_collection(ScarpDrive *drive)
{
    for (uint32_t i = 0;; i++) {
        uint32_t page = i * 2654435761u / 65536 % inside_logical_units(drive);
        ScarpCmd write = write_page(page);

        scarp_submit(drive, &write, scarp_now_ns(drive) + 1);
        while (!scarp_reap(drive)) {
            scarp_run(drive, scarp_next_event_ns(drive));
        }
        if (collecting_die(drive) != INSIDE_NONE) {
            return page;
        }
        g_assert_true(scarp_drain(drive, NULL));
    }
}

/*
 * As soon as a die collects, READS reads come for a page of a stripe, and one
 * for another page of it, which the collection is in the way of.
 */
static Seen read_beside_collection(const char *scheme, int64_t erase_ns)
{
    g_autofree char *overrides =
        g_strdup_printf(SMALL ",timing.erase_ns=%" G_GINT64_FORMAT, erase_ns);
    Rig *rig = rig_new(scheme, NULL, overrides);
    ScarpDrive *drive = rig->drive;
    uint32_t die, lpn, page;
    ScarpCmd read[READS], held;
    unsigned run;
    Seen seen;

    rig_fill(rig, 0, inside_logical_units(drive));
    g_assert_true(scarp_drain(drive, NULL));
    page = write_until_collection(drive);
    run = rig->n_runs;
    die = collecting_die(drive);
    lpn = page_on(drive, die, page);
    for (unsigned i = 0; i < READS; i++) {
        read[i] = read_page(lpn % 3 ? lpn - 1 : lpn + 1);
        scarp_submit(drive, &read[i], scarp_now_ns(drive));
    }
    held = read_page(lpn);
    scarp_submit(drive, &held, scarp_now_ns(drive) + 1);
    rig_drain(rig);
    latency(&held);
    g_assert_cmpuint(rig->run[run].die, ==, die);
    seen = (Seen) { rig->run[run].moved_units,
                    rig_stats(rig)->reconstructed_reads,
                    rig_stats(rig)->reconstruction_refusals };
    g_assert_true(scarp_drain(drive, NULL));
    rig_free(rig);
    return seen;
}

/*
 * The collection takes a move for each valid page and the erase.  The reads
 * begin at once: a nanosecond later the first is in its array, all others wait,
 * and so would one more.  They must end sooner than the collection, not at the
 * same time.
 */
/*
 * A page made from the rest of its stripe is not what is on flash: the read
 * says so.  All pages are zeroes, but for a bit of one of the rest, and only
 * while a command is under way: at rest, checked builds would find it.
 */
static void test_rest_is_corrupt(void)
{
    static const uint32_t bytes[] = { 0, 5, PAGE - 1 };

    for (size_t i = 0; i <= G_N_ELEMENTS(bytes); i++) {
        bool corrupt = i < G_N_ELEMENTS(bytes);
        Rig *rig = rig_new("ttflash", NULL, SMALL);
        ScarpDrive *drive = rig->drive;
        uint32_t page, lpn, other;
        ScarpCmd waits, cmd;

        rig_fill(rig, 0, inside_logical_units(drive));
        g_assert_true(scarp_drain(drive, NULL));
        page = write_until_collection(drive);
        lpn = page_on(drive, collecting_die(drive), page);
        other = lpn % 3 ? lpn - 1 : lpn + 1;
        waits = read_page(page); /* its stripe has no parity on flash yet */
        scarp_submit(drive, &waits, scarp_now_ns(drive));
        scarp_run(drive, scarp_now_ns(drive) + FW);
        if (corrupt) {
            inside_corrupt(drive, other, bytes[i]);
        }
        cmd = read_page(lpn);
        scarp_submit(drive, &cmd, scarp_now_ns(drive));
        while (scarp_reap(drive) != &cmd) {
            scarp_run(drive, scarp_next_event_ns(drive));
        }
        g_assert_cmpuint(rig_stats(rig)->reconstructed_reads, ==, 1);
        g_assert_true((cmd.status == SCARP_STATUS_INTERNAL) == corrupt);
        scarp_drive_free(drive);
        g_free(rig);
    }
}

static void check_sooner(const char *scheme, int64_t move_ns)
{
    Seen seen = read_beside_collection(scheme, TBERS);
    int64_t reads_ns = CMD + TR - 1 + READS * (int64_t)ONE_READ;
    int64_t equal_ns = reads_ns - (int64_t)seen.moved * move_ns;

    g_assert_cmpuint(seen.moved, >, 0);
    g_assert_cmpint(equal_ns, >, 0);
    seen = read_beside_collection(scheme, equal_ns);
    g_assert_cmpuint(seen.reconstructed, ==, 0);
    g_assert_cmpuint(seen.refused, ==, 1);
    seen = read_beside_collection(scheme, equal_ns + 1);
    g_assert_cmpuint(seen.reconstructed, ==, 1);
    g_assert_cmpuint(seen.refused, ==, 0);
}

static void test_sooner(void)
{
    check_sooner("ttflash", COPYBACK);
    check_sooner("rotating+reconstruct", MOVE);
}

/* Planes of a group that share a die, be it the first two or the last. */
static void test_dies_of_group(void)
{
    static const struct {
        const char *overrides;
        bool good;
    } rows[] = {
        { "ftl.parity_width=2,ftl.allocation=pcwd,geometry.planes_per_die=2",
          false },
        { "ftl.parity_width=4,ftl.allocation=pcwd,geometry.planes_per_die=2",
          false },
        { "ftl.parity_width=2,ftl.allocation=cpwd,geometry.planes_per_die=2",
          true },
        { "ftl.parity_width=4,ftl.allocation=cwdp,geometry.planes_per_die=2",
          true },
        { "ftl.parity_width=4,ftl.allocation=cpwd,geometry.planes_per_die=2",
          false },
        { "ftl.parity_width=8,ftl.allocation=cwdp,geometry.planes_per_die=2",
          false },
        { "ftl.parity_width=3", false }, /* does not divide four planes */
        { "ftl.parity_width=2", true },
    };
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        ScarpConfig config = { .description_path = path, .scheme = "baseline",
                               .overrides = rows[i].overrides };
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive = scarp_drive_new(&config, &error);

        g_test_message("%s", rows[i].overrides);
        g_assert_true(!!drive == rows[i].good);
        if (drive) {
            scarp_drive_free(drive);
        } else {
            g_assert_nonnull(strstr(error->message, "of different dies"));
        }
    }
}

/* What the check of contents is worth: a bit of a page, or of a parity. */
static void test_check_sees_a_bit(void)
{
    for (int parity = 0; parity < 2; parity++) {
        Rig *rig = rig_new("baseline", NULL, SMALL);
        g_autofree uint8_t *data = g_malloc(3 * PAGE);
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, 6 * PAGE, 3 * PAGE);
        g_autoptr(GError) error = NULL;

        for (unsigned i = 0; i < 3 * PAGE; i++) {
            data[i] = i * 7 + i / PAGE + 1;
        }
        cmd.data = data;
        rig_do(rig, &cmd);
        g_assert_true(scarp_drain(rig->drive, NULL));
        g_assert_true(inside_parity_check(rig->drive, &error));
        inside_corrupt(rig->drive, parity ? inside_parity_lpn(rig->drive, 7)
                                          : 8, 0);
        g_assert_false(inside_parity_check(rig->drive, &error));
        g_assert_nonnull(strstr(error->message,
                                "2 is not what its parity says"));
        scarp_drive_free(rig->drive);
        g_free(rig);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/reconstruct/sooner", test_sooner);
    g_test_add_func("/policy/reconstruct/corrupt", test_rest_is_corrupt);
    g_test_add_func("/policy/parity/dies-of-group", test_dies_of_group);
    g_test_add_func("/policy/parity/check", test_check_sees_a_bit);
    return g_test_run();
}
