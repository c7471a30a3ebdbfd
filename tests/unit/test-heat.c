/*
 * The drive's temperature, against closed forms that are computed here by
 * themselves, in floating point.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#include <glib/gstdio.h>
#include <math.h>

/*
 * A case that 50 mJ warm by 1 °C, and that loses a thousandth of what it has in
 * each millisecond.
 */
#define CASE "geometry.channels=1,geometry.dies_per_chip=1," \
    "heat.capacity_mj=50,heat.loss_ms=1000"
/* One read after the other: 1.04 W, so 20.8 °C above the ambient 25 °C. */
#define READS CASE ",timing.read_ns=300000,heat.read_nj=330000"
/* Such reads take ten times as long from 35 °C on, until 30 °C. */
#define LIGHT READS ",heat.light_celsius=35,heat.light_permille=9000"

enum {
    LOSS_MS = 1000, READ_NJ = 330000, MS = 1000000,
    SENSE = 300000, /* timing.read_ns */
    FAST_NS = FW + CMD + SENSE + BUS + LINK,
    SLOW_NS = FAST_NS + 9 * SENSE,
};

static const double MJ = 50, AMBIENT = 25;

/* The time of a read, without throttling and with it, and the pause of 1 ns. */
static const double FAST_S = (FAST_NS + 1) / 1e9;
static const double SLOW_S = (SLOW_NS + 1) / 1e9;

static ScarpHeat heat_at(const Rig *rig, int64_t at_ns)
{
    ScarpHeat heat;

    g_assert_true(scarp_heat(rig->drive, at_ns, &heat));
    return heat;
}

static ScarpHeat heat_now(const Rig *rig)
{
    return heat_at(rig, scarp_now_ns(rig->drive));
}

static double above_ambient(ScarpHeat heat)
{
    return heat.millicelsius / 1000.0 - AMBIENT;
}

static void within_percent(double found, double expected)
{
    if (fabs(found - expected) > fabs(expected) / 100) {
        g_error("%f is not within 1%% of %f", found, expected);
    }
}

static int64_t read_once(Rig *rig)
{
    ScarpCmd cmd = read_page(0);

    return rig_do(rig, &cmd);
}

/* Reads one page again and again, for at least so long. */
static void read_for(Rig *rig, int64_t ns)
{
    int64_t end_ns = scarp_now_ns(rig->drive) + ns;

    while (scarp_now_ns(rig->drive) < end_ns) {
        read_once(rig);
    }
}

/* A page to read, which has warmed nothing. */
static Rig *rig_of(const char *overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);

    rig_write(rig, 0);
    return rig;
}

/* ---- Without throttling ------------------------------------------------- */

/* The drive comes to power × loss time / heat capacity, and cools from there */
static void test_settles(void)
{
    Rig *rig = rig_of(READS);
    double settled = READ_NJ / 1e9 / FAST_S * LOSS_MS / MJ;

    g_assert_cmpuint(heat_now(rig).millicelsius, ==, AMBIENT * 1000);
    read_for(rig, 1000ll * MS);
    within_percent(above_ambient(heat_now(rig)), settled * (1 - exp(-1)));
    read_for(rig, 5000ll * MS);
    within_percent(above_ambient(heat_now(rig)), settled);
    g_assert_cmpint(read_once(rig), ==, FAST_NS);
    within_percent(above_ambient(heat_at(rig, scarp_now_ns(rig->drive) +
                                                  2000ll * MS)),
                   settled * exp(-2));
    rig_free(rig);
}

/* Each kind of flash command has its energy; planes count each. */
static void test_energies(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       CASE ",heat.read_nj=50000000,heat.program_nj=100000000,"
                       "heat.erase_nj=1000000000");

    rig_write(rig, 0);
    g_assert_cmpuint(heat_now(rig).millicelsius, ==, 27000);
    read_once(rig);
    g_assert_cmpuint(heat_now(rig).millicelsius, ==, 28000);
    rig_free(rig);
}

/* ---- Throttled ---------------------------------------------------------- */

/*
 * Between the threshold and 5 °C less, the drive goes to and fro, each way for
 * as long as the exponentials say.
 */
static void test_throttled(void)
{
    Rig *rig = rig_of(LIGHT);
    double low = 5, high = 10;
    double fast = READ_NJ / 1e9 / FAST_S * LOSS_MS / MJ;
    double slow = READ_NJ / 1e9 / SLOW_S * LOSS_MS / MJ;
    double up_s = log((fast - low) / (fast - high));
    double down_s = log((high - slow) / (low - slow));
    double rate = (up_s / FAST_S + down_s / SLOW_S) / (up_s + down_s);
    /* a command's energy, and what a millisecond takes */
    uint64_t most = 35000 + READ_NJ / 50000, least = 30000 - 30000 / LOSS_MS;
    uint64_t reads = 0;
    int64_t begin_ns;

    while (!heat_now(rig).light_transitions) {
        read_once(rig);
    }
    begin_ns = scarp_now_ns(rig->drive);
    for (; heat_now(rig).light_transitions < 5; reads++) {
        ScarpHeat heat;

        read_once(rig);
        heat = heat_now(rig);
        g_assert_cmpuint(heat.millicelsius, <=, most);
        g_assert_cmpuint(heat.millicelsius, >=, least);
    }
    within_percent(reads / ((scarp_now_ns(rig->drive) - begin_ns) / 1e9),
                   rate);
    g_assert_cmpuint(heat_now(rig).heavy_transitions, ==, 0);
    within_percent(heat_now(rig).light_ms / 4e3, down_s);
    rig_free(rig);
}

/* To the nanosecond: the array time is longer, and so is the cause's share. */
static void test_latency(void)
{
    Rig *rig = rig_of(LIGHT);
    ScarpCmd cmd = read_page(0);
    uint64_t fast = 0, slow = 0;

    while (slow < 100) {
        cmd = read_page(0);
        if (rig_do(rig, &cmd) == FAST_NS) {
            fast++;
            g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_ARRAY), ==, SENSE);
            g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_THROTTLED), ==, 0);
        } else {
            slow++;
            g_assert_cmpint(latency(&cmd), ==, SLOW_NS);
            g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_ARRAY], ==, 10 * SENSE);
            g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_ARRAY), ==, SENSE);
            g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_THROTTLED), ==,
                            9 * SENSE);
        }
        g_assert_cmpuint(heat_now(rig).throttled_ns, ==, slow * 9 * SENSE);
    }
    g_assert_cmpuint(fast, >, 100);
    rig_free(rig);
}

/*
 * One program warms the drive by 20 °C, and then nothing does: each level lasts
 * until the exponential has come to 5 °C less than its threshold.
 */
static void test_levels(void)
{
    Rig *rig = rig_of(CASE ",heat.program_nj=1000000000,"
                      "heat.light_celsius=34,heat.heavy_celsius=42");
    int64_t begin_ns = scarp_now_ns(rig->drive);
    const struct {
        double share; /* of the first energy: 20 °C */
        int64_t found;
    } cooled[] = {
        { 12 / 20.0, heat_at(rig, begin_ns + 5000ll * MS).heavy_ms },
        { 17 / 20.0, heat_at(rig, begin_ns + 5000ll * MS).above_heavy_ms },
        { 4 / 20.0, heat_at(rig, begin_ns + 5000ll * MS).light_ms +
                    heat_at(rig, begin_ns + 5000ll * MS).heavy_ms },
        { 9 / 20.0, heat_at(rig, begin_ns + 5000ll * MS).above_light_ms },
    };

    g_assert_cmpuint(heat_now(rig).light_transitions, ==, 1);
    g_assert_cmpuint(heat_now(rig).heavy_transitions, ==, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(cooled); i++) {
        double ms = log(cooled[i].share) / log(1 - 1.0 / LOSS_MS);

        g_assert_cmpint(llabs(cooled[i].found - (int64_t)ms), <=, 2);
    }
    /* what was still to come is not counted yet */
    g_assert_cmpint(heat_at(rig, begin_ns + 50 * MS).light_ms, ==, 0);
    g_assert_cmpint(llabs((int64_t)heat_at(rig, begin_ns + 50 * MS).heavy_ms -
                          50), <=, 1);
    rig_free(rig);
}

/* ---- Who asks ----------------------------------------------------------- */

/* Asking for the temperature changes nothing of what follows. */
static void test_asked(void)
{
    g_autofree char *first = NULL;

    for (int asked = 0; asked < 2; asked++) {
        Rig *rig = rig_of(LIGHT);
        g_autofree char *json = NULL;

        for (int i = 0; i < 4000; i++) {
            read_once(rig);
            if (asked) {
                heat_at(rig, scarp_now_ns(rig->drive) + i % 7 * MS);
            }
        }
        json = scarp_stats_json(rig->drive);
        g_assert_nonnull(strstr(json, "\"heat_light_transitions\": "));
        if (asked) {
            g_assert_cmpstr(json, ==, first);
        } else {
            first = g_steal_pointer(&json);
        }
        rig_free(rig);
    }
}

static void test_off(void)
{
    Rig *rig = rig_of("nand.cell_bits=2");
    g_autofree char *json = scarp_stats_json(rig->drive);
    ScarpHeat heat;

    g_assert_false(scarp_heat(rig->drive, 0, &heat));
    g_assert_null(strstr(json, "heat"));
    rig_free(rig);
}

/* The case does not notice that power fails. */
static void test_power_cut(void)
{
    Rig *rig = rig_of(LIGHT ",nand.power_cuts=1,ftl.recovery=1");
    g_autoptr(GError) error = NULL;
    int64_t cut_ns;
    ScarpHeat before, after;

    read_for(rig, 700ll * MS);
    cut_ns = scarp_now_ns(rig->drive);
    before = heat_at(rig, cut_ns);
    g_assert_cmpuint(before.light_transitions, ==, 1);
    rig->drive = scarp_power_cut(rig->drive, &error);
    g_assert_no_error(error);
    after = heat_at(rig, cut_ns);
    g_assert_cmpuint(after.light_transitions, ==, 1);
    g_assert_cmpuint(after.millicelsius, >=, before.millicelsius);
    rig_drain(rig);
    rig_free(rig);
}

/* Recovery on a warm drive takes longer, and keeps to its bound. */
static void test_recovery(void)
{
    Rig *rig = rig_of("geometry.channels=1,geometry.dies_per_chip=1,"
                      "geometry.blocks_per_plane=1024,"
                      "nand.power_cuts=1,ftl.recovery=1,"
                      "timing.read_ns=3000000,heat.capacity_mj=1,"
                      "heat.loss_ms=1000000000,heat.read_nj=1000000000,"
                      "heat.light_celsius=31,heat.light_permille=100000");

    rig_fill(rig, 0, scarp_drive_logical_bytes(rig->drive) / PAGE);
    read_for(rig, MS);
    g_assert_cmpuint(heat_now(rig).light_transitions, ==, 1);
    power_off(rig);
    g_assert_cmpint(power_on(rig), >,
                    scarp_recovery_bound_ns(rig->drive) / 101);
    rig_free(rig);
}

/* An image has no temperature: a drive that is loaded is as its ambient. */
static void test_image(void)
{
    g_autofree char *folder = g_dir_make_tmp("scarp-heat-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "heat.img", NULL);
    ScarpConfig config = { .image_path = path, .scheme = "baseline",
                           .seed = 1 };
    Rig *rig = rig_of(LIGHT);
    g_autoptr(GError) error = NULL;
    ScarpDrive *loaded;
    ScarpHeat heat;

    read_for(rig, 700ll * MS);
    g_assert_cmpuint(heat_now(rig).light_transitions, ==, 1);
    g_assert_true(scarp_save(rig->drive, path, &error));
    g_assert_no_error(error);
    loaded = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    g_assert_true(scarp_heat(loaded, scarp_now_ns(loaded), &heat));
    g_assert_cmpuint(heat.millicelsius, ==, AMBIENT * 1000);
    g_assert_cmpuint(heat.light_celsius, ==, 35);
    g_assert_cmpuint(heat.light_transitions, ==, 0);
    scarp_drive_free(loaded);
    rig_free(rig);
    g_remove(path);
    g_rmdir(folder);
}

/* ---- What is refused ---------------------------------------------------- */

static void refused(const char *overrides, const char *says)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "baseline", .overrides = overrides, .seed = 1,
    };
    g_autoptr(GError) error = NULL;

    g_assert_null(scarp_drive_new(&config, &error));
    if (!strstr(error->message, says) || strchr(error->message, '\n')) {
        g_error("'%s' does not say '%s'", error->message, says);
    }
}

static void test_refused(void)
{
    refused("heat.light_celsius=70", "heat.light_celsius=70: needs "
                                     "heat.capacity_mj above 0");
    refused("heat.ambient_celsius=30", "heat.ambient_celsius=30: needs");
    refused("heat.capacity_mj=50", "heat.loss_ms=0: with heat.capacity_mj");
    refused(CASE ",heat.light_celsius=70,heat.heavy_celsius=60",
            "heat.light_celsius=70: must be below heat.heavy_celsius");
    refused(CASE ",heat.light_celsius=60,heat.light_permille=2000,"
            "heat.heavy_celsius=70,heat.heavy_permille=1999",
            "heat.heavy_permille=1999: must be at least heat.light_permille");
    refused(CASE ",heat.heavy_celsius=60", "needs heat.light_celsius above 0");
    refused(CASE ",heat.light_celsius=30",
            "must be 0, or above heat.ambient_celsius + 5");
    refused(CASE ",heat.light_permille=30", "heat.light_permille=30: needs");
    refused(CASE ",heat.light_celsius=40,heat.heavy_permille=30",
            "heat.heavy_permille=30: needs heat.heavy_celsius");
    refused("heat.none=1", "unknown key heat.none; allowed are "
                           "heat.capacity_mj");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/heat/settles", test_settles);
    g_test_add_func("/heat/energies", test_energies);
    g_test_add_func("/heat/throttled", test_throttled);
    g_test_add_func("/heat/latency", test_latency);
    g_test_add_func("/heat/levels", test_levels);
    g_test_add_func("/heat/asked", test_asked);
    g_test_add_func("/heat/off", test_off);
    g_test_add_func("/heat/power-cut", test_power_cut);
    g_test_add_func("/heat/recovery", test_recovery);
    g_test_add_func("/heat/image", test_image);
    g_test_add_func("/heat/refused", test_refused);
    return g_test_run();
}
