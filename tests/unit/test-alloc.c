/*
 * Where host data go: the 24 orders of ftl.allocation, and dynamic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

/* No two of them alike where it matters: 2 channels, 3 chips, 2 dies, 4 planes. */
#define WIDE "geometry.channels=2,geometry.chips_per_channel=3," \
             "geometry.dies_per_chip=2,geometry.planes_per_die=4," \
             "geometry.blocks_per_plane=8,geometry.pages_per_block=4," \
             "ftl.over_provisioning_permille=1500,gc.trigger_free_blocks=1"
#define PLANES 48

static const struct {
    char letter;
    unsigned n;
} resource[] = { { 'c', 2 }, { 'w', 3 }, { 'd', 2 }, { 'p', 4 } };

static unsigned which(char letter)
{
    unsigned i = 0;

    while (resource[i].letter != letter) {
        i++;
    }
    return i;
}

/* Logical pages are counted on an odometer whose first wheel turns fastest. */
static void test_order(gconstpointer data)
{
    const char *order = data;
    g_autofree char *overrides = g_strconcat(WIDE ",ftl.allocation=", order,
                                             NULL);
    Rig *rig = rig_new("baseline", NULL, overrides);
    unsigned wheel[4] = { 0 };

    for (unsigned i = 0; i < 2 * PLANES + 5; i++) {
        unsigned c = wheel[0], w = wheel[1], d = wheel[2], p = wheel[3];
        const ScarpFlashOp *op;

        rig->n_ops = 0;
        rig_write(rig, i);
        op = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST, 0);
        g_assert_cmpuint(op->channel, ==, c);
        g_assert_cmpuint(op->die, ==, c * 6 + w * 2 + d);
        g_assert_cmpuint(op->plane, ==, op->die * 4 + p);
        for (int at = 0; at < 4; at++) {
            unsigned r = which(order[at]);

            if (++wheel[r] < resource[r].n) {
                break;
            }
            wheel[r] = 0;
        }
    }
    rig_free(rig);
}

/* Units that fill one page are neighbours: the group decides, not the unit. */
static void test_groups(void)
{
    Rig *rig = rig_new("baseline", NULL, WIDE ",ftl.unit_bytes=1024,"
                       "ftl.over_provisioning_permille=3000,"
                       "ftl.allocation=pdwc");

    for (unsigned i = 0; i < 6; i++) {
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, i * PAGE + i % 4 * 1024, 1024);

        rig->n_ops = 0;
        rig_do(rig, &cmd);
        g_assert_cmpuint(rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST,
                                0)->plane, ==, i);
    }
    rig_free(rig);
}

static void test_refused(void)
{
    static const char *const bad[] = {
        "cwd", "cwdpp", "ccwd", "cwdx", "CWDP", "", "dynamics", "c;w;d;p",
    };
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *overrides = g_strconcat("ftl.allocation=", bad[i],
                                                 NULL);
        ScarpConfig config = { .description_path = path, .scheme = "baseline",
                               .overrides = overrides };
        g_autoptr(GError) error = NULL;

        g_assert_null(scarp_drive_new(&config, &error));
        g_assert_nonnull(strstr(error->message, "ftl.allocation"));
        g_assert_nonnull(strstr(error->message, "c, w, d, p"));
        g_assert_nonnull(strstr(error->message, "dynamic"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

/* Searches all costs, as the tree should find them. */
static uint32_t first_of_least(const uint32_t *cost, uint32_t n, uint32_t from)
{
    uint32_t best = from;

    for (uint32_t i = 1; i < n; i++) {
        uint32_t at = (from + i) % n;

        best = cost[at] < cost[best] ? at : best;
    }
    return best;
}

/* The tree beside a search of all: few costs, so that many are equal. */
static void test_least(void)
{
    static const uint32_t sizes[] = { 1, 2, 3, 48, 64, 65 };

    for (size_t s = 0; s < G_N_ELEMENTS(sizes); s++) {
        uint32_t n = sizes[s], cost[65];
        ScarpLeast least;

        scarp_least_init(&least, n);
        memset(cost, 0xff, sizeof(cost));
        for (int i = 0; i < 3000; i++) {
            uint32_t at = g_test_rand_int_range(0, n);

            g_assert_cmpuint(scarp_least_from(&least, at), ==,
                             first_of_least(cost, n, at));
            cost[at] = i % 7 ? (uint32_t)g_test_rand_int_range(0, 4)
                             : UINT32_MAX;
            scarp_least_set(&least, at, cost[at]);
            g_assert_cmpuint(scarp_least_cost(&least, at), ==, cost[at]);
        }
        scarp_least_clear(&least);
    }
}

/* On an idle drive pages go round the dies, whatever their addresses. */
static void test_dynamic_idle(void)
{
    Rig *rig = rig_new("baseline", NULL, "ftl.allocation=dynamic");
    ScarpCmd cmd[4];
    unsigned seen = 0;

    for (unsigned i = 0; i < 4; i++) {
        cmd[i] = write_page(i * 4); /* all of die 0 under cwdp */
        scarp_submit(rig->drive, &cmd[i], 0);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < 4; i++) {
        seen |= 1u << rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST,
                             i)->die;
        /* Two dies share a channel: its second page waits for the first's. */
        g_assert_cmpint(latency(&cmd[i]), <=,
                        FW + 4 * LINK + 2 * (CMD + BUS) + TPROG);
    }
    g_assert_cmphex(seen, ==, 0xf);
    rig_free(rig);
}

/* A die without GC goes first, then the least busy one; of equals, in turn. */
static void test_dynamic_order(void)
{
    Rig *rig = rig_new("baseline", NULL, "ftl.allocation=dynamic");
    ScarpDrive *drive = rig->drive;

    for (uint32_t quiet = 0; quiet < 4; quiet++) {
        for (uint32_t d = 0; d < 4; d++) {
            inside_set_load(drive, d, d != quiet, 0, d == quiet ? 7 : 0);
        }
        for (int i = 0; i < 5; i++) { /* however busy, and whoever's turn */
            g_assert_cmpuint(inside_allocate(drive, INSIDE_NONE, 0), ==, quiet);
        }
    }
    for (uint32_t least = 0; least < 4; least++) {
        for (uint32_t d = 0; d < 4; d++) {
            inside_set_load(drive, d, 1, d == least ? 2 : 3 + d, 0);
        }
        g_assert_cmpuint(inside_allocate(drive, INSIDE_NONE, 0), ==, least);
    }
    for (uint32_t d = 0; d < 4; d++) {
        inside_set_load(drive, d, 0, 0, 0);
    }
    inside_set_first_plane(drive, 0);
    for (uint32_t i = 0; i < 8; i++) {
        g_assert_cmpuint(inside_allocate(drive, INSIDE_NONE, 0), ==, i % 4);
    }
    rig_free(rig);
}

/* Four dies that collect more than they serve: pages wait far less for GC. */
static void test_dynamic_gc(void)
{
    int64_t waited[2];

    for (int dynamic = 0; dynamic < 2; dynamic++) {
        Rig *rig = rig_new(dynamic ? "dynamic" : "baseline", NULL, NULL);
        uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
        const ScarpStats *s = rig_stats(rig);

        rig_age(rig, 900);
        for (unsigned i = 0; i < 1500; i++) {
            ScarpCmd cmd = write_page(i * 7919u % pages);

            scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
            while (!scarp_reap(rig->drive)) {
                scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
            }
        }
        rig_drain(rig);
        g_assert_cmpuint(s->gc_runs, >, 20);
        waited[dynamic] = s->cause_ns[SCARP_CAUSE_DIE_GC_READ] +
                          s->cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM] +
                          s->cause_ns[SCARP_CAUSE_DIE_ERASE] +
                          s->cause_ns[SCARP_CAUSE_DIE_GC_HELD];
        rig_free(rig);
    }
    g_test_message("waited for GC: %" G_GINT64_FORMAT " ns by address, %"
                   G_GINT64_FORMAT " ns dynamic", waited[0], waited[1]);
    g_assert_cmpint(waited[0], >, 0);
    g_assert_cmpint(waited[1], <, waited[0] / 2);
}

static void add_orders(void)
{
    static const char letters[] = "cwdp";

    for (int i = 0; i < 256; i++) {
        char *order = g_strdup_printf("%c%c%c%c", letters[i & 3],
                                      letters[i >> 2 & 3], letters[i >> 4 & 3],
                                      letters[i >> 6]);
        g_autofree char *path = g_strconcat("/alloc/", order, NULL);

        if (strchr(order, 'c') && strchr(order, 'w') && strchr(order, 'd') &&
            strchr(order, 'p')) {
            g_test_add_data_func_full(path, order, test_order, g_free);
        } else {
            g_free(order);
        }
    }
}

/*
 * All free blocks of the planes are promised to copies.  A program goes to the
 * plane with an open block, or else stays: not to and fro between the planes.
 */
static void test_dynamic_stuck(void)
{
    Rig *rig = rig_new("baseline", NULL, "geometry.channels=1,"
                       "geometry.dies_per_chip=1,geometry.planes_per_die=4,"
                       "ftl.allocation=dynamic");
    ScarpDrive *drive = rig->drive;
    int pages = (int)scarp_plane_collection_pages(drive, 0);
    ScarpCmd cmd[2] = { write_page(0), write_page(1) };
    uint32_t from;

    /* The first program runs, in an open block; the second one waits. */
    scarp_submit(drive, &cmd[0], 0);
    scarp_submit(drive, &cmd[1], 0);
    scarp_run(drive, FW + 2 * LINK + BUS);
    from = inside_program_waits(drive, 0);
    g_assert_cmpuint(from, !=, INSIDE_NONE);
    g_assert_cmpuint(from, !=, 0);
    for (uint32_t p = 0; p < 4; p++) {
        scarp_plane_promise(drive, p, pages);
    }
    g_assert_true(scarp_flow_redirect(drive, 0));
    g_assert_cmpuint(inside_program_waits(drive, 0), ==, 0);
    g_assert_false(scarp_flow_redirect(drive, 0));
    for (uint32_t p = 0; p < 4; p++) {
        scarp_plane_promise(drive, p, -pages);
    }
    rig_drain(rig);
    latency(&cmd[0]);
    latency(&cmd[1]);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_orders();
    g_test_add_func("/alloc/groups", test_groups);
    g_test_add_func("/alloc/refused", test_refused);
    g_test_add_func("/alloc/least", test_least);
    g_test_add_func("/alloc/dynamic/idle", test_dynamic_idle);
    g_test_add_func("/alloc/dynamic/order", test_dynamic_order);
    g_test_add_func("/alloc/dynamic/gc", test_dynamic_gc);
    g_test_add_func("/alloc/dynamic/stuck", test_dynamic_stuck);
    return g_test_run();
}
