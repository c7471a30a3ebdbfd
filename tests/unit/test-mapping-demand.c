/*
 * ftl.mapping=demand: the cache of entries, translation units on flash, and
 * what commands wait for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"
#include "workload.h"

#include <unistd.h>

/* A read of a translation unit, alone on its die: a page here, 1024 entries. */
#define FETCH (CMD + TR + BUS)
#define READ (FW + CMD + TR + BUS + LINK)
#define WRITE (FW + LINK + CMD + BUS + TPROG)
/* As many entries as 16; the least that a drive without a buffer may have. */
#define SIXTEEN "ftl.mapping=demand,ftl.map_cache_bytes=128"

/* Written once, in order; no entry is in RAM. */
static Rig *aged(const char *overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    ScarpAge age = { .utilisation_permille = 1000, .pattern = "sequential" };
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    g_assert_true(scarp_check(rig->drive, &error));
    return rig;
}

static void counts(const Rig *rig, uint64_t hits, uint64_t misses,
                   uint64_t evictions, uint64_t reads, uint64_t programs)
{
    g_assert_cmpuint(rig_stats(rig)->map_hits, ==, hits);
    g_assert_cmpuint(rig_stats(rig)->map_misses, ==, misses);
    g_assert_cmpuint(rig_stats(rig)->map_evictions, ==, evictions);
    g_assert_cmpuint(rig_stats(rig)->map_page_reads, ==, reads);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, programs);
}

/* The command alone: how long it takes, and how much of that is the mapping's. */
static void takes(Rig *rig, ScarpCmd cmd, int64_t ns, int64_t mapping_ns)
{
    g_assert_cmpint(rig_do(rig, &cmd), ==, ns);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_MAPPING], ==, mapping_ns);
}

/* ---- Reads --------------------------------------------------------------- */

static void test_miss_and_hit(void)
{
    Rig *rig = aged(SIXTEEN);

    takes(rig, read_page(0), READ + FETCH, FETCH);
    counts(rig, 0, 1, 0, 1, 0);
    takes(rig, read_page(0), READ, 0);
    counts(rig, 1, 1, 0, 1, 0);
    takes(rig, read_page(1), READ + FETCH, FETCH);
    /* Its translation unit is another. */
    takes(rig, read_page(1025), READ + FETCH, FETCH);
    counts(rig, 1, 3, 0, 3, 0);
    rig_free(rig);
}

/* On a new drive nothing is mapped, and no translation unit says so. */
static void test_never_written(void)
{
    Rig *rig = rig_new("baseline", NULL, SIXTEEN);

    takes(rig, read_page(7), FW + LINK, 0);
    takes(rig, write_page(7), WRITE, 0);
    takes(rig, read_page(7), READ, 0);
    counts(rig, 2, 1, 0, 0, 0);
    rig_free(rig);
}

/*
 * Segmented: what was used twice outlives what was used once, and half of the
 * entries are for it.
 */
static void test_eviction(void)
{
    Rig *rig = aged(SIXTEEN);

    for (uint64_t page = 0; page < 16; page++) {
        takes(rig, read_page(page), READ + FETCH, FETCH);
    }
    counts(rig, 0, 16, 0, 16, 0);
    takes(rig, read_page(0), READ, 0);
    takes(rig, read_page(16), READ + FETCH, FETCH); /* 1 goes, not 0 */
    counts(rig, 1, 17, 1, 17, 0);
    takes(rig, read_page(0), READ, 0);
    takes(rig, read_page(2), READ, 0);
    takes(rig, read_page(1), READ + FETCH, FETCH); /* 3 goes */
    counts(rig, 3, 18, 2, 18, 0);
    takes(rig, read_page(3), READ + FETCH, FETCH); /* 4 goes */
    /* 0, 2, 5 to 10 and 11 are the nine used last twice: 0 is so no longer. */
    for (uint64_t page = 5; page <= 11; page++) {
        takes(rig, read_page(page), READ, 0);
    }
    counts(rig, 10, 19, 3, 19, 0);
    /* Used once, oldest first: 12, 13, 14, 15, 16, 1, 3, then 0. */
    for (uint64_t page = 20; page < 27; page++) {
        takes(rig, read_page(page), READ + FETCH, FETCH);
    }
    takes(rig, read_page(0), READ, 0); /* 2 has changed places with it */
    takes(rig, read_page(12), READ + FETCH, FETCH); /* 20 goes */
    takes(rig, read_page(2), READ, 0);
    counts(rig, 12, 27, 11, 27, 0);
    rig_free(rig);
}

/* Both wait for one read of their translation unit. */
static void test_shared_fetch(void)
{
    Rig *rig = aged(SIXTEEN);
    ScarpCmd cmd[3] = { read_page(1), read_page(2), read_page(1) };

    for (int i = 0; i < 3; i++) {
        scarp_submit(rig->drive, &cmd[i], 1);
    }
    rig_drain(rig);
    counts(rig, 0, 3, 0, 1, 0);
    g_assert_cmpint(latency(&cmd[0]), ==, READ + FETCH);
    g_assert_cmpint(latency(&cmd[1]), ==, READ + FETCH + LINK);
    g_assert_cmpint(cmd[0].cause_ns[SCARP_CAUSE_MAPPING], ==, FETCH);
    g_assert_cmpint(cmd[1].cause_ns[SCARP_CAUSE_MAPPING], ==, FETCH);
    g_assert_cmpint(cmd[2].cause_ns[SCARP_CAUSE_MAPPING], ==, FETCH);
    /* The same page, behind the first on its die. */
    g_assert_cmpint(cmd[2].cause_ns[SCARP_CAUSE_DIE_HOST_READ], ==,
                    CMD + TR + BUS);
    rig_free(rig);
}

/* Units that waited for one translation unit are read together. */
static void test_units_together(void)
{
    Rig *rig = aged(SIXTEEN ",ftl.unit_bytes=1024");
    ScarpCmd cmd = cmd_of(SCARP_OP_READ, 0, PAGE);
    uint64_t reads = rig_stats(rig)->host_page_reads;

    rig_do(rig, &cmd);
    g_assert_cmpuint(rig_stats(rig)->host_page_reads - reads, ==, 1);
    counts(rig, 0, 4, 0, 1, 0);
    rig_free(rig);
}

/* ---- Writes -------------------------------------------------------------- */

static void test_write(void)
{
    Rig *rig = aged(SIXTEEN);

    takes(rig, write_page(1), WRITE + FETCH, FETCH);
    takes(rig, write_page(1), WRITE, 0);
    counts(rig, 1, 1, 0, 1, 0);
    /* A part: its entry, then the rest of its bytes. */
    takes(rig, cmd_of(SCARP_OP_WRITE, 3 * PAGE, 512),
          FW + 160 + FETCH + FETCH + CMD + BUS + TPROG, FETCH);
    counts(rig, 1, 2, 0, 2, 0);
    rig_free(rig);
}

/*
 * A changed entry goes when its translation unit has been read, and is in RAM
 * again; who needs the room waits for that.
 */
static void test_dirty_eviction(void)
{
    Rig *rig = aged(SIXTEEN);

    takes(rig, write_page(0), WRITE + FETCH, FETCH);
    takes(rig, write_page(4), WRITE + FETCH, FETCH);
    for (uint64_t page = 5; page < 19; page++) {
        takes(rig, read_page(page), READ + FETCH, FETCH);
    }
    counts(rig, 0, 16, 0, 16, 0);
    /* Its own translation unit comes after the one that goes. */
    takes(rig, read_page(1025), READ + 2 * FETCH, 2 * FETCH);
    counts(rig, 0, 17, 1, 18, 1);
    /* The second entry was written with the first: it is clean. */
    takes(rig, read_page(1029), READ + FETCH, FETCH);
    counts(rig, 0, 18, 2, 19, 1);
    g_assert_cmpuint(rig_stats(rig)->map_written_units, ==, 1);
    /* On flash is the new one. */
    takes(rig, read_page(0), READ + FETCH, FETCH);
    rig_free(rig);
}

/* Contents of n commands: each is of its own letter. */
static void fill_in(ScarpCmd *cmd, char data[][PAGE], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        memset(data[i], 'a' + i, PAGE);
        cmd[i].data = data[i];
    }
}

/*
 * Two writes and a part of a third on one unit whose entry is missing, then a
 * flush: the newest is read, and the flush waits for them.
 */
static void test_order(void)
{
    static const char *const more[] = {
        ",controller.buffer_bytes=32768,ftl.map_cache_bytes=192", "",
    };

    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *all = g_strconcat(SIXTEEN, more[i % 2], NULL);
        Rig *rig = aged(all);
        ScarpCmd cmd[5] = { write_page(5), write_page(5),
                            cmd_of(SCARP_OP_WRITE, 5 * PAGE, 512),
                            cmd_of(SCARP_OP_FLUSH, 0, 0), read_page(5) };
        char data[5][PAGE];

        fill_in(cmd, data, 5);
        cmd[1].fua = i / 2;
        for (unsigned k = 0; k < 4; k++) {
            /* The flush is there when the last write's data is. */
            scarp_submit(rig->drive, &cmd[k], k < 3 ? 1 : 1 + 3 * LINK);
        }
        rig_drain(rig);
        for (unsigned k = 0; k < 4; k++) {
            latency(&cmd[k]);
        }
        counts(rig, 0, 3, 0, 1, 0);
        /* With a buffer nobody but FUA waits for the entry. */
        g_assert_cmpint(cmd[0].cause_ns[SCARP_CAUSE_MAPPING] > 0, ==, i % 2);
        g_assert_cmpint(cmd[1].cause_ns[SCARP_CAUSE_MAPPING] > 0, ==,
                        i % 2 || cmd[1].fua);
        g_assert_cmpint(cmd[3].complete_ns, >=, 1 + FW + FETCH + TPROG);
        rig_do(rig, &cmd[4]);
        for (unsigned k = 0; k < PAGE; k++) {
            g_assert_cmpint(data[4][k], ==, k < 512 ? 'c' : 'b');
        }
        g_assert_cmpint(latency(&cmd[4]), ==, READ);
        rig_free(rig);
    }
}

/* Where the cache holds all, nothing but the start differs from page. */
static void run(ScarpDrive *drive, GRand *rand, unsigned n, GArray *latencies)
{
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE;
    ScarpCmd cmd[8];
    bool busy[8] = { false };
    unsigned sent = 0, back = 0;

    while (back < n) {
        ScarpCmd *done;

        for (int i = 0; i < 8 && sent < n; i++) {
            if (!busy[i]) {
                uint64_t page = g_rand_int_range(rand, 0, pages - 2);
                uint64_t bytes = g_rand_int_range(rand, 1, 17) * 512;
                ScarpOp op = g_rand_int_range(rand, 0, 5) < 3
                                 ? SCARP_OP_WRITE
                                 : g_rand_int_range(rand, 0, 8)
                                       ? SCARP_OP_READ : SCARP_OP_DEALLOCATE;

                cmd[i] = cmd_of(op, page * PAGE, bytes);
                cmd[i].fua = !g_rand_int_range(rand, 0, 5);
                cmd[i].opaque = &busy[i];
                busy[i] = true;
                sent++;
                scarp_submit(drive, &cmd[i], scarp_now_ns(drive));
            }
        }
        scarp_run(drive, scarp_next_event_ns(drive));
        while ((done = scarp_reap(drive))) {
            int64_t ns = latency(done);

            g_array_append_val(latencies, ns);
            *(bool *)done->opaque = false;
            back++;
        }
    }
}

/* At rest: reads on their way would not be freed with it. */
static void done_with(ScarpDrive *drive)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_drain(drive, &error));
    g_assert_true(scarp_check(drive, &error));
    scarp_drive_free(drive);
}

static void same(GArray *a, GArray *b)
{
    g_assert_cmpuint(a->len, ==, b->len);
    for (guint i = 0; i < a->len; i++) {
        if (g_array_index(a, int64_t, i) != g_array_index(b, int64_t, i)) {
            g_test_message("command %u", i);
        }
        g_assert_cmpint(g_array_index(a, int64_t, i), ==,
                        g_array_index(b, int64_t, i));
    }
}

static GArray *times_of(ScarpDrive *drive, guint32 seed, unsigned n)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    GArray *latencies = g_array_new(false, false, sizeof(int64_t));

    run(drive, rand, n, latencies);
    return latencies;
}

/*
 * The drive of page has as many blocks less as translation units have.  Of
 * victims with as many valid units the least worn one would be another, with
 * more blocks to share the wear: one candidate, no choice.
 */
static void test_like_page(gconstpointer scheme)
{
    static const char *const more[] = {
        "", ",controller.buffer_bytes=65536", ",ftl.unit_bytes=1024",
        ",ftl.unit_bytes=1024,controller.buffer_bytes=65536,"
        "geometry.planes_per_die=2,geometry.dies_per_chip=1",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(more); i++) {
        g_autofree char *all = g_strconcat(
            "gc.victim_candidates=1,ftl.over_provisioning_permille=700,"
            "ftl.mapping=demand,"
            "geometry.blocks_per_plane=30,ftl.map_cache_bytes=1000000",
            more[i], NULL);
        uint32_t blocks;
        ScarpDrive *demand = drive_new(scheme, all), *page;
        g_autofree char *less = NULL;
        g_autoptr(GArray) a = NULL, b = NULL;
        const uint64_t *x, *y;

        blocks = inside_translation_blocks(demand);
        less = g_strdup_printf("gc.victim_candidates=1,"
                               "ftl.over_provisioning_permille=700,"
                               "geometry.blocks_per_plane=%u%s", 30 - blocks,
                               more[i]);
        page = drive_new(scheme, less);
        g_assert_cmpuint(scarp_drive_logical_bytes(demand), ==,
                         scarp_drive_logical_bytes(page));
        a = times_of(demand, i, 2600);
        b = times_of(page, i, 2600);
        same(a, b);
        x = (const uint64_t *)scarp_stats(demand);
        y = (const uint64_t *)scarp_stats(page);
        for (size_t k = 0; k < offsetof(ScarpStats, map_hits) / 8; k++) {
            g_assert_cmpuint(x[k], ==, y[k]);
        }
        g_assert_cmpuint(scarp_stats(demand)->gc_runs, >, 20);
        g_assert_cmpuint(scarp_stats(demand)->map_page_reads, ==, 0);
        done_with(demand);
        done_with(page);
    }
}

/* ---- Rest, images, the mapping from flash -------------------------------- */

static void test_drain(void)
{
    Rig *rig = rig_new("baseline", NULL, SIXTEEN);
    g_autoptr(GError) error = NULL;

    rig_write(rig, 0);
    rig_write(rig, 1);
    rig_write(rig, 1024);
    counts(rig, 0, 3, 0, 0, 0);
    g_assert_true(scarp_drain(rig->drive, &error));
    counts(rig, 0, 3, 0, 0, 2);
    g_assert_true(scarp_drain(rig->drive, &error));
    counts(rig, 0, 3, 0, 0, 2);
    rig_free(rig);
}

/* An image has the cache: who starts from it goes on as who was saved. */
static void test_image(void)
{
    g_autofree char *path = g_strdup_printf("%s/scarp-demand-%d.img",
                                            g_get_tmp_dir(), (int)getpid());
    const char *overrides = "ftl.mapping=demand,ftl.map_cache_bytes=1600,"
                            "ftl.unit_bytes=512,controller.buffer_bytes=65536";
    ScarpDrive *drive = drive_new("baseline", overrides), *other;
    ScarpConfig config = { .scheme = "baseline", .image_path = path, .seed = 1,
                           .store_data = true };
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = UINT32_MAX, .seed = 3 };
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) first = NULL, a = NULL, b = NULL;
    uint64_t hits;

    g_assert_true(scarp_age(drive, &age, &error));
    first = times_of(drive, 1, 300);
    g_assert_true(scarp_drain(drive, &error));
    g_assert_true(scarp_save(drive, path, &error));
    other = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    g_assert_true(scarp_check(other, &error));
    scarp_stats_reset(drive);
    a = times_of(drive, 2, 300);
    hits = scarp_stats(drive)->map_hits;
    b = times_of(other, 2, 300);
    same(a, b);
    g_assert_cmpuint(hits, >, 0);
    g_assert_cmpuint(scarp_stats(other)->map_hits, ==, hits);
    done_with(other);
    /* Another cache is the same class; data need not be there. */
    for (int i = 0; i < 2; i++) {
        config.overrides = i ? "ftl.map_cache_bytes=1152"
                             : "ftl.map_cache_bytes=100000";
        config.store_data = i;
        other = scarp_drive_new(&config, &error);
        g_assert_no_error(error);
        g_array_unref(times_of(other, 2, 300));
        done_with(other);
    }
    config.overrides = "ftl.mapping=page,ftl.map_cache_bytes=0";
    g_assert_null(scarp_drive_new(&config, &error));
    g_assert_nonnull(strstr(error->message, "layout class"));
    done_with(drive);
    unlink(path);
}

static void test_rebuild(void)
{
    ScarpDrive *drive = drive_new("baseline",
                                  SIXTEEN ",ftl.unit_bytes=512,"
                                  "ftl.recovery=1");
    uint32_t n = inside_mapped_units(drive);
    g_autofree uint32_t *l2p = g_new(uint32_t, n);
    g_autoptr(GError) error = NULL;
    ScarpCmd cmd[4];

    for (unsigned i = 0; i < 3000; i++) {
        cmd[i % 4] = cmd_of(SCARP_OP_WRITE,
                            i * 7919ull % inside_logical_units(drive) * 512,
                            512);
        scarp_submit(drive, &cmd[i % 4], scarp_now_ns(drive));
        while (i % 4 == 3 && scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
            scarp_run(drive, scarp_next_event_ns(drive));
        }
        while (scarp_reap(drive)) {
            continue;
        }
    }
    g_assert_true(scarp_drain(drive, &error));
    g_assert_cmpuint(scarp_stats(drive)->gc_runs, >, 0);
    inside_rebuild(drive, l2p);
    for (uint32_t lpn = 0; lpn < n; lpn++) {
        g_assert_true(l2p[lpn] == inside_l2p(drive, lpn) ||
                      inside_same_version(drive, l2p[lpn],
                                          inside_l2p(drive, lpn)));
    }
    scarp_drive_free(drive);
}

static void test_laws(void)
{
    const char *says = "";
    unsigned law;

    for (law = 0; says; law++) {
        Rig *rig = aged(SIXTEEN);
        g_autoptr(GError) error = NULL;

        rig_write(rig, 0);
        rig_write(rig, 2);
        g_assert_true(scarp_check(rig->drive, &error));
        says = inside_break_demand(rig->drive, law);
        g_assert_true(scarp_check(rig->drive, &error) == !says);
        if (says) {
            g_test_message("%s: %s", says, error->message);
            g_assert_true(g_str_has_prefix(error->message, says));
        }
        scarp_drive_free(rig->drive);
        g_free(rig);
    }
    /* All of them, and the drive of which none is broken. */
    g_assert_cmpuint(law, ==, 15 + 1);
}

/* ---- Keys ---------------------------------------------------------------- */

static void test_refused(void)
{
    static const char *const bad[][2] = {
        { "ftl.mapping=demand,ftl.map_cache_bytes=120", "at least 128" },
        { "ftl.mapping=demand,ftl.map_cache_bytes=264,"
          "controller.buffer_bytes=131072", "at least 384" },
        { "ftl.mapping=demand,ftl.parity_width=2", "ftl.parity_width=2" },
        { "ftl.mapping=demand,ftl.streams=8,"
          "ftl.over_provisioning_permille=600", "ftl.streams=8" },
        { "ftl.mapping=demand,ftl.over_provisioning_permille=100",
          "spare blocks" },
        { "ftl.mapping=demand,ftl.recovery=2,geometry.channels=1,"
          "geometry.dies_per_chip=1,geometry.blocks_per_plane=9,"
          "geometry.pages_per_block=2,gc.trigger_free_blocks=1,"
          "ftl.over_provisioning_permille=5100", "leaves 1 mapping units" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        ScarpConfig config = {
            .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini",
                                                    NULL),
            .scheme = "baseline", .overrides = bad[i][0],
        };
        g_autoptr(GError) error = NULL;

        g_assert_null(scarp_drive_new(&config, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i][1]));
    }
}

#define ONE_OF(rand, ...) \
    one_of(rand, (const char *const[]) { __VA_ARGS__ }, \
           G_N_ELEMENTS(((const char *const[]) { __VA_ARGS__ })))

static const char *one_of(GRand *rand, const char *const *choices, unsigned n)
{
    return choices[g_rand_int_range(rand, 0, n)];
}

/* ---- Random drives ------------------------------------------------------- */

static bool needs_planes(const char *scheme)
{
    return strstr(scheme, "gc-par") || strstr(scheme, "gc-vic") ||
           strstr(scheme, "pagc");
}

static char *random_overrides(GRand *rand, const char *scheme)
{
    GString *text = g_string_new("ftl.mapping=demand,"
                                 "geometry.pages_per_block=8,"
                                 "geometry.blocks_per_plane=44,"
                                 "ftl.over_provisioning_permille=900");

    g_string_append(text, ONE_OF(rand, ",geometry.channels=2",
                                 ",geometry.channels=3"));
    g_string_append(text, ONE_OF(rand, "", ",geometry.dies_per_chip=1"));
    g_string_append(text, needs_planes(scheme)
                              ? ",geometry.planes_per_die=2"
                              : ONE_OF(rand, "", ",geometry.planes_per_die=2"));
    g_string_append(text, ONE_OF(rand, "", ",ftl.allocation=pdwc",
                                 ",ftl.allocation=dynamic"));
    g_string_append(text, ONE_OF(rand, ",ftl.unit_bytes=512",
                                 ",ftl.unit_bytes=512", ",ftl.unit_bytes=1024",
                                 ""));
    /* Of the least size to one that holds all. */
    g_string_append(text, ONE_OF(rand,
        ",ftl.map_cache_bytes=128", ",ftl.map_cache_bytes=400",
        ",controller.buffer_bytes=8192,ftl.map_cache_bytes=256",
        ",controller.buffer_bytes=65536,ftl.map_cache_bytes=2048",
        ",controller.buffer_bytes=65536,ftl.map_cache_bytes=1152",
        "", ",ftl.map_cache_bytes=10000000"));
    g_string_append(text, ONE_OF(rand, "", "", ",controller.slots=3"));
    g_string_append(text, ONE_OF(rand, "", ",nand.cache=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.copyback=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.suspend_program=1",
                                 ",nand.suspend_program=1,"
                                 "nand.suspend_erase=1"));
    g_string_append(text, ONE_OF(rand, "", "", ",ftl.streams=3",
                                 ",ftl.streams=7"));
    g_string_append(text, ONE_OF(rand, "", ",gc.separate_active_block=0"));
    g_string_append(text, ONE_OF(rand, "", ",gc.background_free_blocks=5"));
    g_string_append(text, ONE_OF(rand, "", ",gc.wear_spread_erases=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.bad_blocks_permille=40"));
    g_string_append(text, ONE_OF(rand, "", ",nand.endurance_erases=3"));
    return g_string_free(text, false);
}

static void test_random(gconstpointer scheme)
{
    ScarpStats seen = { 0 };

    for (guint32 seed = 1; seed <= (g_test_slow() ? 400 : 4); seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        g_autofree char *overrides = random_overrides(rand, scheme);

        g_test_message("seed %u: %s", seed, overrides);
        random_workload(&(Workload) {
            .scheme = scheme, .overrides = overrides, .seed = seed,
            .commands = g_test_slow() ? 600 : 300, .age_permille = 900,
            .ops = seed % 4 ? "RRRWWWZDF" : "RRWWWWWDDF" }, &seen);
    }
    g_assert_cmpuint(seen.gc_runs, >, 0);
    g_assert_cmpuint(seen.map_hits, >, 0);
    g_assert_cmpuint(seen.map_misses, >, 0);
    g_assert_cmpuint(seen.map_evictions, >, 0);
    g_assert_cmpuint(seen.map_page_reads, >, 0);
    g_assert_cmpuint(seen.map_page_programs, >, 0);
    g_assert_cmpuint(seen.cause_ns[SCARP_CAUSE_MAPPING], >, 0);
    g_assert_cmpuint(seen.rmw_reads, >, 0);
}

static const char *const schemes[] = {
    "baseline", "ideal", "pgc", "fifo", "random+pgc+deadline", "d-choices",
    "cost-benefit", "gc-par", "gc-vic+pgc", "global", "gc-par+global", "gftl",
    "pagc", "pregc", "pregc+gftl", "gc-z", "paragc", "paragc+pregc",
};

/*
 * The block with the fewest valid translation units is collected, and of equals
 * the one that was filled first.  Whether that one was not the oldest of all.
 */
static bool check_translation_victim(const ScarpDrive *drive, uint32_t plane)
{
    uint32_t blocks = inside_blocks_per_plane(drive);
    uint32_t first = plane * blocks;
    uint32_t best = INSIDE_NONE, oldest = INSIDE_NONE;

    for (uint32_t b = first; b < first + blocks; b++) {
        uint64_t seq;

        if (!inside_is_translation_block(drive, b)) {
            continue;
        }
        seq = inside_block_seq(drive, b);
        if (oldest == INSIDE_NONE || seq < inside_block_seq(drive, oldest)) {
            oldest = b;
        }
        if (best == INSIDE_NONE ||
            inside_valid(drive, b) < inside_valid(drive, best) ||
            (inside_valid(drive, b) == inside_valid(drive, best) &&
             seq < inside_block_seq(drive, best))) {
            best = b;
        }
    }
    g_assert_cmpuint(inside_translation_victim(drive, plane), ==, best);
    return best != oldest;
}

static void test_translation_victim(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       "ftl.mapping=demand,ftl.map_cache_bytes=1000,"
                       "ftl.unit_bytes=1024,geometry.channels=1,"
                       "geometry.dies_per_chip=1,geometry.blocks_per_plane=512,"
                       "geometry.pages_per_block=4");
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    unsigned younger = 0;

    rig_fill(rig, 0, pages);
    for (unsigned i = 0; i < 1000; i++) {
        rig_write(rig, (uint32_t)g_rand_int_range(rand, 0, pages));
        younger += check_translation_victim(rig->drive, 0);
    }
    g_assert_cmpuint(younger, >, 0);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    static const char *const like_page[] = { "baseline", "pgc", "gftl",
                                             "ideal" };

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mapping/demand/miss-and-hit", test_miss_and_hit);
    g_test_add_func("/mapping/demand/never-written", test_never_written);
    g_test_add_func("/mapping/demand/eviction", test_eviction);
    g_test_add_func("/mapping/demand/shared-fetch", test_shared_fetch);
    g_test_add_func("/mapping/demand/units-together", test_units_together);
    g_test_add_func("/mapping/demand/write", test_write);
    g_test_add_func("/mapping/demand/dirty-eviction", test_dirty_eviction);
    g_test_add_func("/mapping/demand/order", test_order);
    g_test_add_func("/mapping/demand/drain", test_drain);
    g_test_add_func("/mapping/demand/image", test_image);
    g_test_add_func("/mapping/demand/rebuild", test_rebuild);
    g_test_add_func("/mapping/demand/laws", test_laws);
    g_test_add_func("/mapping/demand/refused", test_refused);
    for (size_t i = 0; i < G_N_ELEMENTS(like_page); i++) {
        g_autofree char *path = g_strdup_printf("/mapping/demand/like-page/%s",
                                                like_page[i]);

        g_test_add_data_func(path, like_page[i], test_like_page);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *path = g_strdup_printf("/mapping/demand/random/%s",
                                                schemes[i]);

        g_test_add_data_func(path, schemes[i], test_random);
    }
    g_test_add_func("/mapping/demand/translation-victim",
                    test_translation_victim);
    return g_test_run();
}
