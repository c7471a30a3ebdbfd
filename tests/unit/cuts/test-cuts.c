/*
 * Which power cuts are chosen of a run's moments, and how kinds are named.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/sample.h"

/* Moments from 100 on: a kind that is everywhere, and two that are rare. */
static CutsSample *sample_new(uint64_t seed)
{
    CutsSample *sample = cuts_sample_new(seed);

    for (uint64_t i = 0; i < 1000; i++) {
        cuts_sample_add(sample, 100 + i, i == 777 ? 4 : i / 10 == 30 ? 2 : 1);
    }
    return sample;
}

static bool has(const GArray *cuts, uint64_t first, uint64_t last)
{
    for (guint i = 0; i < cuts->len; i++) {
        uint64_t cut = g_array_index(cuts, uint64_t, i);

        if (cut >= first && cut <= last) {
            return true;
        }
    }
    return false;
}

static void in_order(const GArray *cuts)
{
    for (guint i = 1; i < cuts->len; i++) {
        g_assert_cmpuint(g_array_index(cuts, uint64_t, i - 1), <,
                         g_array_index(cuts, uint64_t, i));
    }
}

static void test_kinds_first(void)
{
    CutsSample *sample = sample_new(1);
    g_autoptr(GArray) three = cuts_sample_choose(sample, 3);
    g_autoptr(GArray) one = cuts_sample_choose(sample, 1);

    g_assert_cmpuint(three->len, ==, 3);
    g_assert_true(has(three, 877, 877));
    g_assert_true(has(three, 400, 409));
    in_order(three);
    /* The rarest one, if there is no room for more. */
    g_assert_cmpuint(one->len, ==, 1);
    g_assert_true(has(one, 877, 877));
    cuts_sample_free(sample);
}

static void test_then_evenly(void)
{
    CutsSample *sample = sample_new(5);
    g_autoptr(GArray) cuts = cuts_sample_choose(sample, 53);

    g_assert_cmpuint(cuts->len, ==, 53);
    in_order(cuts);
    for (uint64_t i = 0; i < 50; i++) {
        g_assert_true(has(cuts, 100 + i * 20, 119 + i * 20));
    }
    cuts_sample_free(sample);
}

static void test_all(void)
{
    CutsSample *sample = sample_new(3);
    g_autoptr(GArray) cuts = cuts_sample_choose(sample, 5000);
    g_autoptr(GArray) none = cuts_sample_choose(sample, 0);

    g_assert_cmpuint(cuts->len, ==, 1000);
    g_assert_cmpuint(g_array_index(cuts, uint64_t, 0), ==, 100);
    in_order(cuts);
    g_assert_cmpuint(none->len, ==, 0);
    cuts_sample_free(sample);
}

static void test_names(void)
{
    g_autofree char *none = cuts_class_text(0);
    g_autofree char *some = cuts_class_text(1 | 1 << 5 | 1 << 8 | 1 << 14);
    g_autofree char *last = cuts_class_text(1 << (CUTS_CLASS_BITS - 1));

    g_assert_cmpstr(none, ==, "nothing");
    g_assert_cmpstr(some, ==, "program of the host, erase; collection; flush");
    g_assert_cmpstr(last, ==, "recovery");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cuts/kinds-first", test_kinds_first);
    g_test_add_func("/cuts/then-evenly", test_then_evenly);
    g_test_add_func("/cuts/all", test_all);
    g_test_add_func("/cuts/names", test_names);
    return g_test_run();
}
