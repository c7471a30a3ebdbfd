/*
 * ftl.mapping=demand: the cache of entries, translation units on flash, and
 * what commands wait for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "workload.h"

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

    for (guint32 seed = 1; seed <= (g_test_slow() ? 400 : 12); seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        g_autofree char *overrides = random_overrides(rand, scheme);

        g_test_message("seed %u: %s", seed, overrides);
        random_workload(&(Workload) {
            .scheme = scheme, .overrides = overrides, .seed = seed,
            .commands = 1000, .age_permille = 900,
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *path = g_strdup_printf("/mapping/demand/random/%s",
                                                schemes[i]);

        g_test_add_data_func(path, schemes[i], test_random);
    }
    return g_test_run();
}
