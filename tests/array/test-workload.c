/*
 * The simulated application's random numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim/sim.h"

/* Drawn often enough that a wrong weight of any rank is far outside. */
static void test_zipf(gconstpointer data)
{
    uint32_t n = GPOINTER_TO_UINT(data);
    const double draws = 2000000;
    SimRandom random = { 7 };
    uint64_t *seen = g_new0(uint64_t, n);
    double harmonic = 0, chi = 0;

    for (uint32_t i = 1; i <= n; i++) {
        harmonic += 1.0 / i;
    }
    for (uint32_t i = 0; i < draws; i++) {
        uint64_t rank = sim_zipf(&random, n);

        g_assert_cmpuint(rank, <, n);
        seen[rank]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        double expected = draws / harmonic / (i + 1);

        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    /* Mean n - 1, variance 2 (n - 1): five deviations. */
    g_assert_cmpfloat((chi - (n - 1)) * (chi - (n - 1)), <,
                      25 * 2.0 * (n - 1) + 1);
    g_free(seen);
}

static void test_scatter(void)
{
    static const uint64_t sizes[] = { 1, 2, 12, 4096, 99991 };

    for (size_t k = 0; k < G_N_ELEMENTS(sizes); k++) {
        bool *seen = g_new0(bool, sizes[k]);

        for (uint64_t i = 0; i < sizes[k]; i++) {
            uint64_t at = sim_scatter(i, sizes[k]);

            g_assert_cmpuint(at, <, sizes[k]);
            g_assert_false(seen[at]);
            seen[at] = true;
        }
        g_free(seen);
    }
}

static void test_uniform(void)
{
    SimRandom random = { 1 };
    uint64_t seen[10] = { 0 };

    for (int i = 0; i < 1000000; i++) {
        seen[sim_below(&random, 10)]++;
    }
    for (int i = 0; i < 10; i++) {
        g_assert_cmpuint(seen[i], >, 98500);
        g_assert_cmpuint(seen[i], <, 101500);
    }
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 1, 2, 3, 7, 8, 1000, 1024 };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *name = g_strdup_printf("/array/workload/zipf/%u",
                                                sizes[i]);

        g_test_add_data_func(name, GUINT_TO_POINTER(sizes[i]), test_zipf);
    }
    g_test_add_func("/array/workload/scatter", test_scatter);
    g_test_add_func("/array/workload/uniform", test_uniform);
    return g_test_run();
}
