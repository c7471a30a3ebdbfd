/*
 * A description that is accepted works, full and for ever: drives with as
 * little to spare as is accepted, under what makes most of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "workload.h"

#define DEPTH 64

static ScarpDrive *try_drive(const char *scheme, const char *overrides,
                             GError **error)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .overrides = overrides, .seed = 1,
    };

    return scarp_drive_new(&config, error);
}

/*
 * The drive is filled, aged, and written at random, many commands at once; with
 * gap_ns between them it has time of its own.
 */
static void write_on(ScarpDrive *drive, const char *pattern, guint32 seed,
                     unsigned commands, int64_t gap_ns)
{
    uint64_t sectors = scarp_drive_logical_bytes(drive) / 512;
    g_autofree ScarpCmd *slots = g_new0(ScarpCmd, DEPTH);
    g_autofree ScarpCmd **idle = g_new(ScarpCmd *, DEPTH);
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    g_autoptr(GError) error = NULL;
    ScarpAge age = { .utilisation_permille = 1000,
                     .overwrite_permille = UINT32_MAX, .pattern = pattern,
                     .seed = seed };
    unsigned sent = 0, n_idle = DEPTH;
    int64_t now = 0;

    for (unsigned i = 0; i < DEPTH; i++) {
        idle[i] = &slots[i];
    }
    g_assert_true(scarp_age(drive, &age, &error));
    g_assert_true(scarp_check(drive, &error));
    while (sent < commands || n_idle < DEPTH) {
        ScarpCmd *done;

        if (n_idle && sent < commands) {
            ScarpCmd *cmd = idle[--n_idle];
            uint64_t at = g_rand_int_range(rand, 0, sectors);
            uint64_t n = g_rand_int_range(rand, 1, 33);

            *cmd = (ScarpCmd) {
                .op = SCARP_OP_WRITE, .offset_bytes = at * 512,
                .length_bytes = MIN(sectors - at, n) * 512,
                .deadline_ns = SCARP_TIME_NEVER,
                .stream = g_rand_int_range(rand, 0, 4),
            };
            scarp_submit(drive, cmd, now);
            sent++;
            now += gap_ns;
        } else {
            g_assert_cmpint(scarp_next_event_ns(drive), !=, SCARP_TIME_NEVER);
            now = MAX(now, scarp_next_event_ns(drive));
        }
        scarp_run(drive, now);
        while ((done = scarp_reap(drive))) {
            idle[n_idle++] = done;
        }
    }
    scarp_drain(drive, &error);
    g_assert_no_error(error);
    g_assert_true(scarp_check(drive, &error));
    g_assert_no_error(error);
    for (uint32_t p = 0; p < inside_planes(drive); p++) {
        g_assert_false(inside_is_promised(drive, p));
    }
}

static void full(const char *scheme, const char *overrides, guint32 seed,
                 int64_t gap_ns)
{
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = try_drive(scheme, overrides, &error);

    g_assert_no_error(error);
    write_on(drive, seed % 2 ? "random" : "sequential", seed, 300, gap_ns);
    scarp_drive_free(drive);
}

/* ---- As little as is accepted ------------------------------------------- */

static const char *one_of(GRand *rand, const char *const *from, unsigned n)
{
    return from[g_rand_int_range(rand, 0, n)];
}

#define ONE_OF(rand, ...) \
    one_of(rand, (const char *const[]) { __VA_ARGS__ }, \
           G_N_ELEMENTS(((const char *const[]) { __VA_ARGS__ })))

static void draw(GRand *rand, const char *scheme, GString *text)
{
    bool parity = strstr(scheme, "ttflash");

    g_string_printf(text, "geometry.blocks_per_plane=%d,"
                    "geometry.pages_per_block=%d,gc.trigger_free_blocks=%d",
                    g_rand_int_range(rand, 9, 32),
                    g_rand_int_range(rand, 2, 9), g_rand_int_range(rand, 1, 4));
    g_string_append(text, strstr(scheme, "gc-par") || strstr(scheme, "pagc")
                              ? ",geometry.planes_per_die=2"
                              : ONE_OF(rand, "", ",geometry.planes_per_die=2"));
    g_string_append(text, parity ? ",ftl.parity_width=2,"
                                   "ftl.parity_stripes=2"
                                 : ONE_OF(rand, "", ",ftl.unit_bytes=512",
                                          ",ftl.unit_bytes=2048"));
    g_string_append(text, ONE_OF(rand, "", ",gc.separate_active_block=0"));
    g_string_append(text, ONE_OF(rand, "", "", ",ftl.streams=3"));
    g_string_append(text, ONE_OF(rand, "", ",nand.bad_blocks_permille=120",
                                 ",nand.bad_blocks_permille=300"));
    g_string_append(text, ONE_OF(rand, "", "", ",nand.endurance_erases=2"));
    g_string_append(text, ONE_OF(rand, "", "", ",gc.wear_spread_erases=1"));
    g_string_append(text, ONE_OF(rand, "", ",controller.slots=64"));
    g_string_append(text, ONE_OF(rand, "", ",controller.buffer_bytes=16384"));
}

/* An SLC cache besides, of any kind. */
static void draw_slc(GRand *rand, GString *text)
{
    int bits = g_rand_int_range(rand, 2, 5);
    int fixed = g_rand_int_range(rand, 0, 4);

    g_string_append_printf(text, ",nand.endurance_erases=0,nand.cell_bits=%d,"
                           "geometry.pages_per_block=%d,"
                           "timing.slc_read_ns=30000,"
                           "timing.slc_program_ns=200000,"
                           "timing.slc_erase_ns=2000000,slc.static_blocks=%d",
                           bits, bits * g_rand_int_range(rand, 1, 4), fixed);
    if (!fixed || g_rand_int_range(rand, 0, 2)) {
        g_string_append(text, ",slc.dynamic=1");
        g_string_append(text, ONE_OF(rand, "", "", ",slc.most_blocks=3"));
    }
    g_string_append(text, ONE_OF(rand, ",slc.fold_idle_us=100",
                                 ",slc.fold_idle_us=5000,slc.keep_blocks=1",
                                 ",slc.full=fold"));
    if (strstr(text->str, "planes_per_die=2")) {
        g_string_append(text, ONE_OF(rand, "", ",slc.fold_planes=2",
                                     ",nand.multiplane=1"));
    }
    g_string_append(text, ONE_OF(rand, "", "", ",ftl.mapping=demand"));
}

/* Reclaim units of several planes besides. */
static void draw_ru(GRand *rand, GString *text)
{
    bool two = strstr(text->str, "planes_per_die=2");

    g_string_append(text, ",gc.separate_active_block=1");
    g_string_append(text, ONE_OF(rand, ",controller.buffer_bytes=16384",
                                 ",controller.buffer_bytes=65536"));
    g_string_append(text, two ? ONE_OF(rand, ",ftl.reclaim_planes=2",
                                       ",ftl.reclaim_planes=4",
                                       ",ftl.reclaim_planes=8")
                              : ONE_OF(rand, ",ftl.reclaim_planes=2",
                                       ",ftl.reclaim_planes=4"));
    g_string_append(text, ONE_OF(rand, "", ",ftl.isolated_streams=1",
                                 ",ftl.streams=3,ftl.isolated_streams=1",
                                 ",ftl.streams=3,ftl.isolated_streams=3"));
    if (two) {
        g_string_append(text, ONE_OF(rand, "", ",nand.multiplane=1"));
    }
    g_string_append(text, ONE_OF(rand, "", "", ",nand.cache=1"));
    g_string_append(text, ONE_OF(rand, "", "", ",gc.background_free_blocks=5"));
}

/* The least over-provisioning that is accepted, or 0: none is. */
static unsigned least_accepted(const char *scheme, const char *text)
{
    unsigned low = 0, high = 10001;

    while (high - low > 1) {
        unsigned at = (low + high) / 2;
        g_autofree char *overrides =
            g_strdup_printf("%s,ftl.over_provisioning_permille=%u", text, at);
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive = try_drive(scheme, overrides, &error);

        if (drive) {
            scarp_drive_free(drive);
            high = at;
        } else {
            if (strstr(error->message, "slc.static_blocks=") ||
                strstr(error->message, "slc.most_blocks=")) {
                return 0; /* slc.full=fold needs more of them */
            }
            g_assert_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY);
            low = at;
        }
    }
    return high > 10000 ? 0 : high;
}

/*
 * Drives with the least over-provisioning that is accepted, of as many seeds,
 * work full and for ever; `more` draws keys besides. More than `least` of them
 * must have such an over-provisioning.
 */
static void near_limit(const char *scheme, guint32 seeds, unsigned least,
                       void (*more)(GRand *rand, GString *text))
{
    unsigned tried = 0;

    for (guint32 seed = 1; seed <= (g_test_slow() ? 300 : seeds); seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        g_autoptr(GString) text = g_string_new(NULL);
        unsigned permille;

        draw(rand, scheme, text);
        if (more) {
            more(rand, text);
        }
        permille = least_accepted(scheme, text->str);
        if (!permille) {
            continue;
        }
        g_string_append_printf(text, ",ftl.over_provisioning_permille=%u",
                               permille);
        g_test_message("seed %u: %s", seed, text->str);
        full(scheme, text->str, seed, seed % 3 ? 0 : 400000);
        tried++;
    }
    g_assert_cmpuint(tried, >, least);
}

static void test_near_limit(gconstpointer scheme)
{
    near_limit(scheme, 8, 3, NULL);
}

static void test_near_limit_slc(gconstpointer scheme)
{
    near_limit(scheme, 16, 6, draw_slc);
}

static void test_near_limit_ru(gconstpointer scheme)
{
    near_limit(scheme, 16, 3, draw_ru);
}

/* ---- What is refused ---------------------------------------------------- */

static void refused(const char *overrides, const char *says)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(try_drive("baseline", overrides, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY);
    if (!strstr(error->message, says) || strchr(error->message, '\n')) {
        g_error("'%s' does not say '%s'", error->message, says);
    }
}

/* 5 of 100 blocks are bad: data of 96 leaves less than nothing. */
static void test_more_bad_than_spare(void)
{
    refused("geometry.blocks_per_plane=100,nand.bad_blocks_permille=50,"
            "ftl.over_provisioning_permille=70",
            "nand.bad_blocks_permille=50: leaves 95 good blocks of a plane; "
            "100 are needed, for the data that "
            "ftl.over_provisioning_permille=70 promises");
}

/*
 * 64 blocks of two pages of eight units, and 64 pages of data: 32 blocks full
 * of it, and four that are reserved, seem to be enough.  But of a block with
 * nine units of 16 no page can be won, and there may be 57 of those (520 / 9),
 * beside one that is not, one that is free and one that is open.
 */
static void test_units_that_share(void)
{
    full("baseline",
         "geometry.pages_per_block=2,ftl.unit_bytes=512,"
         "gc.trigger_free_blocks=1,ftl.over_provisioning_permille=1000,"
         "nand.bad_blocks_permille=63", 1, 0);
    refused("geometry.pages_per_block=2,ftl.unit_bytes=512,"
            "gc.trigger_free_blocks=1,ftl.over_provisioning_permille=1000,"
            "nand.bad_blocks_permille=80",
            "leaves 59 good blocks of a plane; 60 are needed");
}

/* ---- Cases that did not end --------------------------------------------- */

/*
 * Others' copies took the last page that the plane's own collection needed, and
 * the host, which goes first, the last but one.
 */
static void test_promised_pages(void)
{
    for (guint32 seed = 1; seed <= 6; seed++) {
        full(seed % 2 ? "pgc+gc-z" : "pgc+global",
             "geometry.channels=4,geometry.blocks_per_plane=16,"
             "geometry.pages_per_block=4,ftl.unit_bytes=1024,"
             "ftl.over_provisioning_permille=940,gc.trigger_free_blocks=2,"
             "controller.slots=64", seed, 0);
    }
}

/*
 * The last block but one was promised to a page of another plane's victim, which
 * waited in a packer.  The host could not have the block, and counted it as
 * free: so nothing was collected.
 */
static void test_promised_block(void)
{
    for (guint32 seed = 1; seed <= 12; seed++) {
        full("hios-1+gc-z",
             "geometry.channels=4,geometry.dies_per_chip=1,"
             "geometry.blocks_per_plane=32,geometry.pages_per_block=8,"
             "ftl.unit_bytes=2048,ftl.over_provisioning_permille=600,"
             "gc.trigger_free_blocks=3,gc.separate_active_block=0,"
             "controller.buffer_bytes=8192,controller.slots=32", seed, 0);
    }
}

/*
 * So much was on its way that a plane filled up with valid units, and what
 * waited for it was not let go.
 */
static void test_full_plane(void)
{
    for (guint32 seed = 1; seed <= 6; seed++) {
        full(seed % 2 ? "dynamic" : "dynamic+ideal",
             "geometry.dies_per_chip=1,geometry.planes_per_die=4,"
             "geometry.blocks_per_plane=31,geometry.pages_per_block=3,"
             "geometry.page_bytes=512,ftl.over_provisioning_permille=135,"
             "gc.trigger_free_blocks=1,gc.separate_active_block=0,"
             "controller.slots=64", seed, 0);
    }
}

/*
 * Every block is worn out by its first erase.  Those that the plane can spare
 * go; the others are used on, and the drive stays what it was.
 */
static void test_worn_out(void)
{
    static const char *const schemes[] = { "baseline", "dynamic", "global" };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive = try_drive(
            schemes[i], "nand.endurance_erases=1,ftl.unit_bytes=2048,"
            "geometry.pages_per_block=4,controller.slots=64", &error);

        g_assert_no_error(error);
        write_on(drive, "random", 1, 600, 0);
        g_assert_cmpuint(scarp_spare_percent(drive), ==, 0);
        g_assert_cmpuint(scarp_stats(drive)->bad_blocks, >, 0);
        scarp_drive_free(drive);
    }
}

int main(int argc, char **argv)
{
    static const char *const schemes[] = {
        "baseline", "ideal", "pgc", "gftl", "copyback", "gc-par", "pagc",
        "global", "gc-z", "paragc", "pregc", "pgc+global+pregc", "dynamic",
        "dynamic+pgc+gc-z", "ttflash",
    };

    static const char *const in_units[] = {
        "baseline", "pgc", "gftl", "pagc", "fifo", "pgc+random",
        "gftl+d-choices", "cost-benefit", "background", "pgc+background",
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(in_units); i++) {
        g_autofree char *path = g_strdup_printf("/spare/near-limit-ru/%s",
                                                in_units[i]);

        g_test_add_data_func(path, in_units[i], test_near_limit_ru);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *path = g_strdup_printf("/spare/near-limit/%s",
                                                schemes[i]);

        g_test_add_data_func(path, schemes[i], test_near_limit);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *path = g_strdup_printf("/spare/near-limit-slc/%s",
                                                schemes[i]);

        if (strcmp(schemes[i], "ttflash")) {
            g_test_add_data_func(path, schemes[i], test_near_limit_slc);
        }
    }
    g_test_add_func("/spare/more-bad-than-spare", test_more_bad_than_spare);
    g_test_add_func("/spare/units-that-share", test_units_that_share);
    g_test_add_func("/spare/promised-pages", test_promised_pages);
    g_test_add_func("/spare/promised-block", test_promised_block);
    g_test_add_func("/spare/full-plane", test_full_plane);
    g_test_add_func("/spare/worn-out", test_worn_out);
    return g_test_run();
}
