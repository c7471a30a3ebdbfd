/*
 * ParaGC: how many pages of a victim go to each channel, and which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <time.h>

enum { CHANNELS = 4, PLANES = 8, PER_CHANNEL = 2 };

#define OVERRIDES "geometry.channels=4,geometry.blocks_per_plane=32," \
                  "geometry.pages_per_block=32,gc.trigger_free_blocks=5," \
                  "ftl.over_provisioning_permille=500"

typedef struct {
    uint32_t pages[CHANNELS];
    uint32_t plane[CHANNELS]; /* that they went to; the last */
    uint32_t planes[CHANNELS]; /* how many different ones */
    uint32_t total, victim;
} Spread;

static Rig *rig_of(const char *scheme, const char *params)
{
    Rig *rig = rig_new(scheme, params, OVERRIDES);

    rig_age(rig, 900);
    return rig;
}

/* Two units of a page are read together: nothing has been overwritten. */
static Rig *rig_of_pairs(const char *scheme, const char *params)
{
    Rig *rig = rig_new(scheme, params, OVERRIDES ",ftl.unit_bytes=2048");
    ScarpAge age = { .utilisation_permille = 900, .pattern = "sequential" };

    g_assert_true(scarp_age(rig->drive, &age, NULL));
    return rig;
}

/* Pages of a plane, by number, in the order cwdp. */
static uint64_t page_of(uint32_t channel, uint64_t n)
{
    return n * PLANES + channel;
}

static uint64_t n_pages(const Rig *rig)
{
    return scarp_drive_logical_bytes(rig->drive) / PAGE * 9 / 10 / PLANES - 1;
}

/* The i-th write's page of the first plane, scattered. */
static uint64_t scattered(const Rig *rig, uint64_t i)
{
    return page_of(0, (i + 1) * 0x9e3779b97f4a7c15ull / 65536 % n_pages(rig));
}

static void spread_of(const Rig *rig, Spread *spread)
{
    memset(spread, 0, sizeof(*spread));
    spread->victim = rig->run[0].plane / PER_CHANNEL;
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (op->phase == SCARP_PHASE_ARRAY &&
            op->origin == SCARP_ORIGIN_GC && op->kind == SCARP_FLASH_PROGRAM) {
            uint32_t c = op->channel;

            if (!spread->pages[c] || spread->plane[c] != op->plane) {
                spread->planes[c]++;
            }
            spread->plane[c] = op->plane;
            spread->pages[c]++;
            spread->total++;
        }
    }
}

/*
 * Reads reads[c] pages of each channel before every write to the first plane
 * of channel 0, until the write brings one collection of that plane.
 */
static void collect(Rig *rig, const unsigned *reads, Spread *spread)
{
    for (unsigned i = 0; i < 4000; i++) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            for (unsigned n = 0; reads && n < reads[c]; n++) {
                /* The second plane's: nothing of the victim gets hot. */
                ScarpCmd cmd = read_page(page_of(c, (i * 7 + n) % n_pages(rig))
                                         + CHANNELS);

                rig_do(rig, &cmd);
            }
        }
        rig_drain(rig);
        rig->n_ops = rig->n_runs = 0;
        rig_write(rig, scattered(rig, i));
        if (rig->n_runs == 1 && rig->run[0].plane == 0) {
            spread_of(rig, spread);
            if (spread->total >= 2 * CHANNELS) {
                return;
            }
        }
    }
    g_assert_not_reached();
}

/* Nobody reads: an even spread, in one plane of each channel, by turns. */
static void test_even(void)
{
    Rig *rig = rig_of("paragc", NULL);
    uint32_t seen[CHANNELS] = { 0 };

    for (int n = 0; n < 12; n++) {
        Spread spread;
        uint32_t least = UINT32_MAX, most = 0;

        collect(rig, NULL, &spread);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            least = MIN(least, spread.pages[c]);
            most = MAX(most, spread.pages[c]);
            g_assert_cmpuint(spread.planes[c], ==, 1);
            seen[c] |= 1u << spread.plane[c] % PER_CHANNEL;
        }
        g_assert_cmpuint(most - least, <=, 1);
    }
    for (uint32_t c = 0; c < CHANNELS; c++) {
        g_assert_cmpuint(seen[c], ==, 3);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_fallback_units, ==, 0);
    rig_free(rig);
}

/* Algorithm 1: a channel that reads is spared, a page for each round. */
static void test_busy_channel(void)
{
    static const unsigned reads[CHANNELS] = { 0, 0, 5, 0 };

    for (unsigned limit = 0; limit <= 64; limit += limit ? 62 : 2) {
        g_autofree char *params = g_strdup_printf("iterations=%u", limit);
        Rig *rig = rig_of("paragc", params);
        Spread spread;
        uint32_t share;

        collect(rig, reads, &spread);
        g_assert_cmpuint(spread.victim, ==, 0);
        /* The even share: a remainder begins at the victim's channel. */
        share = spread.total / CHANNELS + (2 < spread.total % CHANNELS);
        g_assert_cmpuint(spread.pages[2], ==, share - MIN(share, limit));
        rig_free(rig);
    }
}

/* Where Algorithm 1 starts: on the victim's channel, or at random. */
static void test_start(void)
{
    static const unsigned reads[CHANNELS] = { 3, 0, 0, 0 };
    Rig *rig = rig_of("paragc", "iterations=0,start=1");
    bool uneven = false;
    Spread spread;

    collect(rig, NULL, &spread);
    g_assert_cmpuint(spread.pages[0], ==, spread.total);
    rig_free(rig);
    /* Each round takes a page from there: it is the one that reads. */
    rig = rig_of("paragc", "iterations=2,start=1");
    collect(rig, reads, &spread);
    g_assert_cmpuint(spread.victim, ==, 0);
    g_assert_cmpuint(spread.pages[0], ==, spread.total - 2);
    rig_free(rig);
    rig = rig_of("paragc", "iterations=0,start=2");
    for (int n = 0; n < 3; n++) {
        uint32_t most = 0;

        collect(rig, NULL, &spread);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            most = MAX(most, spread.pages[c]);
        }
        uneven |= most > spread.total / CHANNELS + 1;
        g_assert_cmpuint(most, <, spread.total);
    }
    g_assert_true(uneven);
    rig_free(rig);
}

/*
 * Reads of translation units are not the host's: what is read through the one
 * of channel 1 is on no flash.
 */
static void test_translation_reads(void)
{
    Rig *rig = rig_new("paragc", "iterations=64",
                       OVERRIDES ",ftl.mapping=demand");
    ScarpCmd trim = cmd_of(SCARP_OP_DEALLOCATE, 1024 * PAGE, 1024 * PAGE);
    Spread spread;

    rig_age(rig, 900);
    rig_do(rig, &trim);
    for (unsigned i = 0; i < 4000; i++) {
        for (unsigned n = 0; n < 4; n++) {
            ScarpCmd cmd = read_page(1024 + (i * 4 + n) % 1024);

            rig_do(rig, &cmd);
        }
        rig->n_ops = rig->n_runs = 0;
        rig_write(rig, page_of(0, i * 5 % 100));
        spread_of(rig, &spread);
        if (rig->n_runs && spread.total >= 2 * CHANNELS) {
            break;
        }
    }
    g_assert_cmpuint(spread.total, >=, 2 * CHANNELS);
    g_assert_cmpuint(rig_stats(rig)->map_page_reads, >, 0);
    g_assert_cmpuint(rig_stats(rig)->host_page_reads, ==, 0);
    for (uint32_t c = 1; c < CHANNELS; c++) {
        g_assert_cmpuint(spread.pages[c], >=, spread.total / CHANNELS);
    }
    rig_free(rig);
}

/* With the least reads on the victim's channel, all of D's optimum stays. */
static void test_own_channel_reads_least(void)
{
    static const unsigned reads[CHANNELS] = { 0, 3, 3, 3 };
    Rig *rig = rig_of("paragc", "iterations=1000");
    Spread spread;

    collect(rig, reads, &spread);
    g_assert_cmpuint(spread.pages[0], ==, spread.total);
    rig_free(rig);
    rig = rig_of("paragc", "iterations=0");
    collect(rig, reads, &spread);
    g_assert_cmpuint(spread.pages[0], <=, spread.total / CHANNELS + 1);
    rig_free(rig);
}

/* Algorithm 2: the hottest pages go to the channel that reads least. */
static void test_hot_pages(gconstpointer make)
{
    /* From the least read channel to the most. */
    static const unsigned rank[CHANNELS] = { [3] = 0, [0] = 1, [1] = 2,
                                             [2] = 3 };
    Rig *rig = ((Rig *(*)(const char *, const char *))make)(
        "paragc", "iterations=0,slot=1000000000,width=65536");
    const ScarpDrive *drive = rig->drive;
    uint64_t n = n_pages(rig);
    uint32_t units = inside_logical_units(drive);
    uint32_t k = PAGE / scarp_drive_unit_bytes(drive);
    g_autofree uint32_t *before = g_new(uint32_t, units);
    unsigned hottest_cold = CHANNELS, coldest_hot = 0, hot = 0, cold = 0;
    unsigned victims = 0, spread = 0;

    for (uint64_t i = 0; i < n; i++) {
        for (int again = 0; again < 8; again++) {
            ScarpCmd one = read_page(page_of(1, i));
            ScarpCmd two = read_page(page_of(2, i));

            rig_do(rig, &one);
            if (again < 2 && i % 3 == 0) {
                ScarpCmd own = read_page(page_of(0, i));

                rig_do(rig, &own);
            }
            for (int more = 0; more < 2; more++) {
                rig_do(rig, &two);
            }
        }
    }
    for (unsigned i = 0; victims < 8; i++) {
        g_assert_cmpuint(i, <, 4000);
        rig->n_runs = 0;
        for (uint32_t lpn = 0; lpn < units; lpn++) {
            before[lpn] = inside_l2p(drive, lpn);
        }
        rig_write(rig, scattered(rig, i));
        hottest_cold = CHANNELS;
        coldest_hot = hot = cold = 0;
        for (uint64_t p = 0; rig->n_runs == 1 && rig->run[0].plane == 0 &&
             p < n * k; p++) {
            uint32_t lpn = page_of(0, p / k) * k + p % k, from = before[lpn];
            uint32_t to = inside_l2p(drive, lpn) /
                          inside_units_per_plane(drive);

            if (lpn / k == scattered(rig, i) || from == inside_l2p(drive, lpn)) {
                continue;
            }
            if (p / k % 3 == 0) {
                hot++;
                coldest_hot = MAX(coldest_hot, rank[to / PER_CHANNEL]);
            } else {
                cold++;
                hottest_cold = MIN(hottest_cold, rank[to / PER_CHANNEL]);
            }
        }
        if (hot && cold && hot + cold >= 8) {
            victims++;
            g_assert_cmpuint(coldest_hot, <=, hottest_cold);
            spread += hottest_cold > 0;
        }
    }
    g_assert_cmpuint(spread, >, 0);
    rig_free(rig);
}

/*
 * All counters are halved by each read: whose time does not grow with them.
 * To walk through these 80 million took some 30 ms a read in a release build.
 */
static void test_large_sketch(void)
{
    Rig *rig = rig_of("paragc", "width=16777216,decay=1");
    clock_t began = clock();

    for (int i = 0; i < 100; i++) {
        ScarpCmd read = read_page(page_of(0, i % 4));

        rig_do(rig, &read);
    }
    g_assert_cmpint((clock() - began) / CLOCKS_PER_SEC, <, 8);
    rig_free(rig);
}

/* GC-Z: a third and more of all pages to the first channel. */
static void test_gc_z(void)
{
    Rig *rig = rig_of("gc-z", NULL);
    uint32_t pages[CHANNELS] = { 0 }, total = 0;

    for (int n = 0; n < 10; n++) {
        Spread spread;

        collect(rig, NULL, &spread);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            pages[c] += spread.pages[c];
            total += spread.pages[c];
            g_assert_cmpuint(spread.planes[c], <=, 1);
        }
    }
    /* 1 / (1 + 0.518 + 0.352 + 0.268) = 47 % */
    g_assert_cmpuint(pages[0] * 100, >, total * 36);
    g_assert_cmpuint(pages[0] * 100, <, total * 58);
    g_assert_cmpuint(pages[1], >, pages[3]);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/paragc/even", test_even);
    g_test_add_func("/paragc/start", test_start);
    g_test_add_func("/paragc/busy-channel", test_busy_channel);
    g_test_add_func("/paragc/translation-reads", test_translation_reads);
    g_test_add_func("/paragc/own-channel-reads-least",
                    test_own_channel_reads_least);
    g_test_add_data_func("/paragc/hot-pages", rig_of, test_hot_pages);
    g_test_add_data_func("/paragc/hot-units", rig_of_pairs,
                         test_hot_pages);
    g_test_add_func("/paragc/large-sketch", test_large_sketch);
    g_test_add_func("/paragc/gc-z", test_gc_z);
    return g_test_run();
}
