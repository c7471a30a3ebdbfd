/*
 * The engine's smallest parts against the obvious way to do the same: division
 * by multiplication, and the queue of events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"

static void check_divisor(uint32_t divisor)
{
    ScarpDivisor by = scarp_divisor(divisor);
    uint64_t random = divisor * 2ull + 1;

    for (int i = 0; i < 200; i++) {
        uint32_t n = inside_random(&random) >> 32;
        uint32_t multiple = n / divisor * divisor;

        g_assert_cmpuint(scarp_divide(n, by), ==, n / divisor);
        /* Where the quotient changes is where an error would show. */
        g_assert_cmpuint(scarp_divide(multiple, by), ==, multiple / divisor);
        g_assert_cmpuint(scarp_divide(multiple - 1, by), ==,
                         (multiple - 1) / divisor);
        g_assert_cmpuint(n - scarp_divide(n, by) * divisor, ==, n % divisor);
    }
    for (uint32_t i = 0; i < 4; i++) {
        g_assert_cmpuint(scarp_divide(i, by), ==, i / divisor);
        g_assert_cmpuint(scarp_divide(UINT32_MAX - i, by), ==,
                         (UINT32_MAX - i) / divisor);
    }
}

static void test_divisor(void)
{
    uint64_t random = 5;

    for (uint32_t d = 1; d <= 4096; d++) {
        check_divisor(d);
    }
    for (int bit = 0; bit < 32; bit++) {
        for (int by = -1; by <= 1; by++) {
            check_divisor(MAX((1u << bit) + by, 1));
        }
    }
    for (int i = 0; i < 4096; i++) {
        check_divisor(MAX(inside_random(&random) >> 32, 1));
    }
    check_divisor(UINT32_MAX);
}

/* Those of every geometry that is described here, with pages' units of 4 KiB. */
static void test_divisors_of_devices(void)
{
    g_autofree char *path = g_build_filename(g_getenv("G_TEST_SRCDIR"), "..",
                                             "..", "devices", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) dir = g_dir_open(path, 0, &error);
    const char *name;
    int n = 0;

    g_assert_no_error(error);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        ScarpDescription d;
        uint32_t units;

        if (!g_str_has_suffix(name, ".ini")) {
            continue;
        }
        g_assert_true(scarp_description_load(&d, file, NULL, &error));
        units = d.pages_per_block * MAX(d.page_bytes / 4096, 1);
        check_divisor(d.pages_per_block);
        check_divisor(units);
        check_divisor(units * d.blocks_per_plane);
        check_divisor(d.blocks_per_plane);
        check_divisor(d.planes_per_die);
        check_divisor(d.chips_per_channel * d.dies_per_chip);
        check_divisor(d.channels * d.chips_per_channel * d.dies_per_chip *
                      d.planes_per_die);
        n++;
    }
    g_assert_cmpint(n, >=, 10);
}

/* ---- Events ------------------------------------------------------------ */

typedef struct {
    int64_t time_ns;
    uint64_t order;
} Pending;

/* The source whose event is first, of n_far + SCARP_EVENTS_NEAR, or -1. */
static int first_of(const Pending *pending, uint32_t n)
{
    int first = -1;

    for (uint32_t i = 0; i < n; i++) {
        if (pending[i].time_ns != SCARP_TIME_NEVER &&
            (first < 0 || pending[i].time_ns < pending[first].time_ns ||
             (pending[i].time_ns == pending[first].time_ns &&
              pending[i].order < pending[first].order))) {
            first = i;
        }
    }
    return first;
}

/* By draw: in one of the lanes, or without. */
static void set(ScarpEvents *events, Pending *pending, uint32_t source,
                int64_t time_ns, uint64_t order, uint64_t draw)
{
    uint32_t lane = draw % (SCARP_EVENTS_LANES + 1);

    pending[source] = (Pending) { time_ns, order };
    if (source >= inside_far_sources(events)) {
        scarp_events_set_near(events, source - inside_far_sources(events), time_ns);
    } else if (lane < SCARP_EVENTS_LANES && time_ns != SCARP_TIME_NEVER) {
        scarp_events_set_lane(events, lane, source, time_ns);
    } else {
        scarp_events_set(events, source, time_ns);
    }
}

/* Takes the next event; its source. */
static uint32_t take(ScarpEvents *events, uint32_t *head)
{
    *head = scarp_events_take(events);
    if (*head < SCARP_EVENTS_LANES) {
        return scarp_events_lane_taken(events, *head);
    }
    if (*head == SCARP_HEAD_TREE) {
        return scarp_events_tree_taken(events);
    }
    return inside_far_sources(events) + *head - SCARP_HEAD_NEAR;
}

/*
 * Set, set anew, removed, taken, at times of which many are equal (spread is
 * small) or far apart: always the first of them all is next.  At times that
 * mostly grow, lanes are used; at others the tree is.
 */
static void check_events(uint32_t n_far, uint64_t spread, int64_t grows_by_ns)
{
    uint32_t n = n_far + SCARP_EVENTS_NEAR;
    g_autofree Pending *pending = g_new(Pending, n);
    ScarpEvents events;
    uint64_t random = n_far * 2ull + spread * 2 + 1;
    uint64_t in_lanes = 0, in_tree = 0;
    int64_t now_ns = 0;

    scarp_events_init(&events, n_far);
    for (uint32_t i = 0; i < n; i++) {
        pending[i].time_ns = SCARP_TIME_NEVER;
    }
    for (uint64_t step = 1; step < 5000; step++) {
        uint64_t draw = inside_random(&random) >> 16;
        int first = first_of(pending, n);

        g_assert_cmpint(scarp_events_next_ns(&events), ==,
                        first < 0 ? SCARP_TIME_NEVER : pending[first].time_ns);
        if (first >= 0 && draw % 3 == 0) {
            uint32_t head;

            now_ns = pending[first].time_ns;
            g_assert_cmpint(take(&events, &head), ==, first);
            in_lanes += head < SCARP_EVENTS_LANES;
            in_tree += head == SCARP_HEAD_TREE;
            pending[first].time_ns = SCARP_TIME_NEVER;
        } else if (draw % 16 == 1) {
            set(&events, pending, draw / 16 % n, SCARP_TIME_NEVER, step, draw);
        } else {
            set(&events, pending, draw / 16 % n,
                now_ns + (int64_t)step * grows_by_ns +
                    (int64_t)(inside_random(&random) % spread), step, draw);
        }
    }
    g_assert_cmpuint(in_lanes, >, 100);
    g_assert_cmpuint(in_tree, >, 20);
    scarp_events_clear(&events);
}

static void test_events(void)
{
    static const uint32_t sources[] = { 1, 2, 3, 5, 41, 64, 65, 300 };
    static const uint64_t spreads[] = { 1, 4, 100, 1000000, 1ull << 50 };

    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(spreads); j++) {
            check_events(sources[i], spreads[j], 0);
            check_events(sources[i], spreads[j], 10);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/parts/divisor", test_divisor);
    g_test_add_func("/parts/divisors-of-devices", test_divisors_of_devices);
    g_test_add_func("/parts/events", test_events);
    return g_test_run();
}
