/*
 * Schemes that change in the middle of everything: every one after every other,
 * at random moments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"
#include "workload.h"

#define SMALL "geometry.blocks_per_plane=20,geometry.pages_per_block=8," \
              "ftl.over_provisioning_permille=800,geometry.dies_per_chip=1," \
              "geometry.planes_per_die=2"
#define PART 128 /* switches of a drive */

/* Drives; each has the schemes that it does not refuse. */
static const struct {
    const char *name, *overrides;
} drives[] = {
    { "page", "" },
    { "packed", ",ftl.unit_bytes=1024,controller.buffer_bytes=32768,"
      "ftl.recovery=2" },
    { "streams", ",ftl.unit_bytes=2048,ftl.streams=2,nand.suspend_program=1,"
      "nand.suspend_erase=1,gc.wear_spread_erases=3" },
    { "one-active-block", ",ftl.unit_bytes=1024,gc.separate_active_block=0,"
      "gc.trigger_free_blocks=1" },
    { "dynamic", ",ftl.allocation=dynamic,ftl.unit_bytes=2048" },
    { "demand", ",ftl.mapping=demand,ftl.map_cache_bytes=512,"
      "ftl.unit_bytes=2048" },
    { "demand-dynamic", ",ftl.mapping=demand,ftl.unit_bytes=2048,"
      "ftl.allocation=dynamic" },
    { "block", ",ftl.mapping=block" },
    { "superblock", ",ftl.mapping=superblock,ftl.superblock_blocks=3,"
      "controller.buffer_bytes=32768" },
    { "fast", ",ftl.mapping=fast,nand.cache=1" },
    { "parity", ",geometry.dies_per_chip=2,ftl.parity_width=4,"
      "ftl.parity_stripes=8" },
};

/* Beside every preset and every single choice. */
static const char *const compositions[] = {
    "gc-par+read-match", "gc-par+global", "pregc+gftl", "paragc+pgc",
    "gc-z+gftl", "hios-2+paragc", "hios-1+pregc", "hios-2+gc-par",
};

/* Of a drive that runs: it keeps its kind of write allocation, too. */
static bool accepts(const char *scheme, const char *overrides)
{
    ScarpDrive *drive = drive_new("baseline", overrides);
    bool ok = scarp_drive_set_scheme(drive, scheme, NULL, NULL);

    scarp_drive_free(drive);
    return ok;
}

static GPtrArray *schemes_of(const char *overrides)
{
    GPtrArray *schemes = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = scarp_schemes_text();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        char *colon = strchr(*line, ':');

        if (colon && **line != ' ') {
            *colon = '\0';
            if (accepts(*line, overrides)) {
                g_ptr_array_add(schemes, g_strdup(*line));
            }
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(compositions); i++) {
        if (accepts(compositions[i], overrides)) {
            g_ptr_array_add(schemes, g_strdup(compositions[i]));
        }
    }
    return schemes;
}

/* Every one after every other: 0 0 1 0 2 0 3 ... 1 1 2 1 3 ... */
static const char **in_pairs(const GPtrArray *schemes)
{
    const char **all = g_new0(const char *, schemes->len * (schemes->len + 2));
    unsigned n = 0;

    for (unsigned i = 0; i < schemes->len; i++) {
        all[n++] = schemes->pdata[i];
        for (unsigned j = i + 1; j < schemes->len; j++) {
            all[n++] = schemes->pdata[i];
            all[n++] = schemes->pdata[j];
        }
    }
    return all;
}

/* The pairs, some to a drive, which ends with all data as it was written. */
static void test_pairs(gconstpointer data)
{
    g_autofree char *overrides = g_strconcat(SMALL, data, NULL);
    g_autoptr(GPtrArray) schemes = schemes_of(overrides);
    g_autofree const char **all = in_pairs(schemes);
    ScarpStats seen = { 0 };
    unsigned i = 0;

    g_test_message("%u schemes", schemes->len);
    g_assert_cmpuint(schemes->len, >, 8);
    for (unsigned n = 0; all[n + 1]; i++) {
        const char *some[PART + 1] = { NULL };
        unsigned k = 0;

        for (; k < PART && all[n + k]; k++) {
            some[k] = all[n + k];
        }
        random_workload(&(Workload) {
            .scheme = "baseline", .overrides = overrides, .seed = i + 1,
            .commands = 9 * PART, .age_permille = i % 2 ? 900 : 1000,
            .ops = i % 3 ? "RRWWWWWWZDF" : "RWWWWW", .switches = some },
            &seen);
        n += k - 1; /* a pair with the next one */
    }
    g_assert_cmpuint(seen.gc_runs, >, 0);
}

/* ---- To what runs already ----------------------------------------------- */

enum { EQUAL_COMMANDS = 1500, EQUAL_DEPTH = 8 };

/*
 * Returns the statistics of a closed loop of reads and writes. again: every few
 * commands the drive is switched to the scheme that it has, by another text.
 */
static char *loop_json(const char *scheme, const char *again)
{
    Rig *rig = rig_new(scheme, NULL, SMALL);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    ScarpCmd cmd[EQUAL_DEPTH];
    unsigned sent = 0, busy = 0;
    char *json;

    rig_age(rig, 900);
    while (sent < EQUAL_COMMANDS || busy) {
        while (busy < EQUAL_DEPTH && sent < EQUAL_COMMANDS) {
            uint64_t page = g_rand_int_range(rand, 0, pages);
            ScarpCmd *next = &cmd[sent++ % EQUAL_DEPTH];

            *next = sent % 3 ? write_page(page) : read_page(page);
            scarp_submit(rig->drive, next, scarp_now_ns(rig->drive));
            busy++;
            if (again && sent % 7 == 0) {
                g_assert_true(scarp_drive_set_scheme(rig->drive, again, NULL,
                                                     NULL));
                g_assert_cmpstr(scarp_drive_scheme(rig->drive), ==, again);
            }
        }
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
        /* All of a group end before the next one: no slot is used twice. */
        while (scarp_reap(rig->drive)) {
            busy--;
        }
        while (busy && scarp_run_until_done(rig->drive, SCARP_TIME_LAST)) {
            while (scarp_reap(rig->drive)) {
                busy--;
            }
        }
    }
    scarp_drive_set_scheme(rig->drive, scheme, NULL, NULL); /* its name */
    rig_drain(rig);
    json = scarp_stats_json(rig->drive);
    rig_free(rig);
    return json;
}

/*
 * Policies with a state of their own would have begun anew: what was read
 * lately, whose turn it is, which channel had what.
 */
static void test_equal(void)
{
    static const char *const schemes[][2] = {
        { "paragc", "paragc" }, { "hios-2", "hios-2" },
        { "anticipatory", "anticipatory" }, { "pregc+gftl", "gftl+pregc" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *once = loop_json(schemes[i][0], NULL);
        g_autofree char *again = loop_json(schemes[i][0], schemes[i][1]);

        g_test_message("%s", schemes[i][0]);
        g_assert_cmpstr(once, ==, again);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/equal", test_equal);
    for (size_t i = 0; i < G_N_ELEMENTS(drives); i++) {
        g_autofree char *path = g_strconcat("/switch/", drives[i].name, NULL);

        g_test_add_data_func(path, drives[i].overrides, test_pairs);
    }
    return g_test_run();
}
