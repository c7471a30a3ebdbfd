/*
 * Power cuts in a recorded run (recorded.h), which is told again and cut; what
 * the lines say is compared with what the drive promised.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/one.h"
#include "rerun/pool.h"
#include "rerun/text.h"
#include "recorded.h"

/* ---- Told again, and cut ------------------------------------------------ */

typedef struct {
    RerunRecord *record;
    CutsWalk walk;
} Told;

static bool told_begin(Told *told, const Recorded *r, uint32_t n,
                       const char *overrides, bool made_up, GError **error)
{
    ScarpConfig config = { .scheme = "baseline", .image_path = r->image,
                           .overrides = overrides, .seed = 1,
                           .store_data = true };

    told->record = rerun_record_open(r->log, made_up ? NULL : r->data, NULL,
                                      error);
    g_assert_nonnull(told->record);
    told->walk = (CutsWalk) { .drives = g_new0(CutsDrive, n) };
    for (uint32_t i = 0; i < n; i++) {
        if (!cuts_drive_begin(&told->walk.drives[i], told->record, &config,
                              true, error)) {
            return false;
        }
        told->walk.n_drives++;
    }
    return true;
}

static void told_end(Told *told)
{
    for (uint32_t i = 0; i < told->walk.n_drives; i++) {
        cuts_drive_end(&told->walk.drives[i]);
    }
    g_free(told->walk.drives);
    rerun_record_free(told->record);
}

/* Cuts at moments first, first + every, ...: a line of each, in their order. */
static char **cut_all(Told *told, uint64_t first, uint64_t every,
                      const CutsHow *how)
{
    FILE *out = tmpfile();
    RerunPool *pool = rerun_pool_new(2, out, "cut");
    g_autoptr(GError) error = NULL;

    while (cuts_walk_next_ns(&told->walk) != SCARP_TIME_NEVER) {
        FILE *to;

        g_assert_true(cuts_walk_step(&told->walk, &error));
        if (told->walk.moment < first ||
            (told->walk.moment - first) % every) {
            continue;
        }
        g_assert_true(rerun_pool_fork(pool, told->walk.moment, &to, &error));
        if (to) {
            cuts_one(&told->walk, how, to);
            rerun_pool_child_end(to);
        }
    }
    rerun_pool_wait(pool);
    rerun_pool_free(pool);
    return lines_of(out);
}

static uint64_t number(const char *line, const char *name)
{
    g_autofree char *key = g_strdup_printf("\"%s\": ", name);
    const char *at = strstr(line, key);

    g_assert_nonnull(at);
    return g_ascii_strtoull(at + strlen(key), NULL, 10);
}

static char *word(const char *line, const char *name)
{
    g_autofree char *key = g_strdup_printf("\"%s\": [\"", name);
    const char *at = strstr(line, key);

    g_assert_nonnull(at);
    at += strlen(key);
    return g_strndup(at, strchr(at, '"') - at);
}

static bool has(const char *line, const char *text)
{
    return strstr(line, text);
}

/* Nothing went wrong in any of them; what the contract says is the caller's. */
static uint64_t sound(char **lines)
{
    uint64_t lost = 0;

    for (char **line = lines; *line; line++) {
        g_test_message("%s", *line);
        g_assert_true(has(*line, "\"fault\": null, \"error\": null}"));
        lost += number(*line, "lost_sectors");
    }
    return lost;
}

static void kept(char **lines)
{
    for (char **line = lines; *line; line++) {
        g_assert_true(has(*line, "\"stories\": [null]"));
    }
}

/* What has completed is durable: of a run in which much is under way. */
static void test_durable(void)
{
    Recorded *r = record(CUTS, 0, true);
    uint64_t torn = 0, met = 0;
    g_auto(GStrv) lines = NULL;
    g_autoptr(GError) error = NULL;
    Told told;

    g_assert_true(told_begin(&told, r, 1, NULL, false, &error));
    lines = cut_all(&told, 1, 41, &(CutsHow) { .seed = 1 });
    g_assert_cmpuint(g_strv_length(lines), >, 30);
    g_assert_cmpuint(sound(lines), ==, 0);
    kept(lines);
    for (guint i = 0; lines[i]; i++) {
        g_assert_cmpuint(number(lines[i], "cut"), ==, 1 + 41 * i);
        g_assert_true(has(lines[i], "\"again\": null"));
        torn += number(lines[i], "torn_pages");
        met += number(lines[i], "cut_commands");
    }
    g_assert_cmpuint(torn, >, 0);
    g_assert_cmpuint(met, >, 0);
    told_end(&told);
    recorded_free(r);
}

/* Cuts of a drive's run, one in so many moments. */
static char **cuts_of(const char *overrides, uint64_t pages, uint64_t every,
                      bool apart, bool twice)
{
    Recorded *r = record(overrides, pages, apart);
    g_autoptr(GError) error = NULL;
    char **lines;
    Told told;

    g_assert_true(told_begin(&told, r, 1, NULL, !pages, &error));
    lines = cut_all(&told, 20, every, &(CutsHow) { .twice = twice, .seed = 1 });
    told_end(&told);
    recorded_free(r);
    return lines;
}

typedef struct {
    const char *name, *overrides;
    bool keeps; /* what is buffered */
} Drive;

static const Drive drives[] = {
    { "page", BUFFERED, false },
    { "cache", BUFFERED ",nand.cache=1,nand.copyback=1", false },
    { "multiplane", BUFFERED ",nand.multiplane=1,geometry.planes_per_die=2,"
      "nand.cell_bits=2,ftl.paired_pages=backup", false },
    { "tight", BUFFERED ",ftl.over_provisioning_permille=300,nand.cell_bits=2,"
      "ftl.paired_pages=pad,geometry.blocks_per_plane=32", false },
    { "plp", BUFFERED ",controller.plp_bytes=131072", true },
    { "plp-fast", BUFFERED ",controller.plp_bytes=131072,ftl.mapping=fast,"
      "ftl.log_blocks=2", true },
    { "pad", BUFFERED ",nand.cell_bits=2,ftl.paired_pages=pad", false },
    { "backup", BUFFERED ",nand.cell_bits=3,ftl.paired_pages=backup", false },
    { "demand", BUFFERED ",ftl.mapping=demand,ftl.map_cache_bytes=65536,"
      "ftl.recovery=1,ftl.checkpoint_pages=32", false },
    { "superblock", BUFFERED ",ftl.mapping=superblock,"
      "ftl.superblock_blocks=2", false },
    { "fast", BUFFERED ",ftl.mapping=fast,ftl.log_blocks=4", false },
};

/* What was buffered may be lost, but for what a flush or FUA promised. */
static void test_volatile(gconstpointer data)
{
    const Drive *drive = data;
    g_auto(GStrv) lines = cuts_of(drive->overrides, 40, 149, true, true);

    g_assert_cmpuint(g_strv_length(lines), >, 20);
    g_assert_true((sound(lines) > 0) == !drive->keeps);
    kept(lines);
}

static const char *const lies[] = {
    "flush_ignored", "fua_ignored", "flush_queued_only", "shorn_writes",
    "unserialised", "deallocation_undone",
};

/* A drive that breaks its promise is found out. */
static void test_lie(gconstpointer lie)
{
    g_autofree char *overrides = g_strdup_printf(
        "%s,lie.%s=1", BUFFERED, (const char *)lie);
    g_auto(GStrv) lines = cuts_of(overrides, 0, 37, false, false);
    unsigned stories = 0;

    sound(lines);
    for (char **line = lines; *line; line++) {
        stories += !has(*line, "\"stories\": [null]");
    }
    g_assert_cmpuint(stories, >, 0);
}

/* Power fails once more while the drive recovers: at a moment that is drawn. */
static void test_twice(void)
{
    Recorded *r = record(CUTS, 0, true);
    unsigned again = 0, once = 0;
    g_auto(GStrv) lines = NULL;
    g_autoptr(GError) error = NULL;
    Told told;

    g_assert_true(told_begin(&told, r, 2, NULL, false, &error));
    lines = cut_all(&told, 50, 211, &(CutsHow) { .twice = true, .seed = 3 });
    g_assert_cmpuint(sound(lines), ==, 0);
    for (char **line = lines; *line; line++) {
        g_assert_true(has(*line, "\"stories\": [null, null]"));
        again += !has(*line, "\"again\": null");
        once += has(*line, "\"again\": null");
        if (has(*line, "\"again\": null")) {
            continue;
        }
        /* It is told behind the first one, and is a later failure. */
        g_assert_cmpuint(number(*line, "cut"), ==, number(line[-1], "cut"));
        g_assert_cmpuint(number(*line, "at_ns"), >,
                         number(*line, "failed_ns"));
        g_assert_cmpuint(number(*line, "failed_ns"), ==,
                         number(line[-1], "at_ns"));
        g_assert_cmpuint(number(*line, "again"), <,
                         number(line[-1], "recovery_moments"));
    }
    g_assert_cmpuint(again, >, 3);
    g_assert_cmpuint(again, <=, once);
    told_end(&told);
    recorded_free(r);
}

/* The same, at a moment that is given: one that there is, and another one. */
static void test_again(void)
{
    Recorded *r = record(CUTS, 0, true);

    for (int beyond = 0; beyond < 2; beyond++) {
        CutsHow how = { .again = beyond ? 1000000 : 1, .seed = 1 };
        g_auto(GStrv) lines = NULL;
        g_autoptr(GError) error = NULL;
        Told told;

        g_assert_true(told_begin(&told, r, 1, NULL, false, &error));
        lines = cut_all(&told, 300, 1000000, &how);
        g_assert_cmpuint(g_strv_length(lines), ==, 1);
        g_test_message("%s", lines[0]);
        if (beyond) {
            g_assert_true(g_str_has_prefix(
                lines[0], "{\"cut\": 300, \"error\": \"+1000000: its recovery "
                "has "));
            g_assert_true(g_str_has_suffix(
                lines[0], " moments, and the drive is ready at the last "
                "one\"}"));
        } else {
            g_assert_cmpuint(number(lines[0], "again"), ==, 1);
            g_assert_cmpuint(sound(lines), ==, 0);
            kept(lines);
        }
        told_end(&told);
    }
    recorded_free(r);
}

/* ---- What is kept of a drive -------------------------------------------- */

static void same_as_file(const Recorded *r, const char *image,
                         const char *contents)
{
    ScarpConfig config = { .scheme = "baseline", .image_path = image,
                           .seed = 1, .store_data = true };
    g_autofree char *name = g_strconcat(contents, ".raw", NULL);
    g_autofree char *path = in(r, name);
    g_autofree char *found = NULL, *is = NULL;
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);
    uint64_t bytes;
    gsize n;

    g_assert_no_error(error);
    bytes = scarp_drive_logical_bytes(drive);
    g_assert_true(g_file_get_contents(path, &found, &n, &error));
    g_assert_cmpuint(n, ==, bytes);
    is = g_malloc(bytes);
    scarp_peek(drive, 0, bytes, is);
    g_assert_cmpint(memcmp(is, found, bytes), ==, 0);
    scarp_drive_free(drive);
}

static void test_kept(void)
{
    Recorded *r = record(BUFFERED, 70, false);
    g_autofree char *image = in(r, "after");
    CutsHow how[] = {
        { .contents = r->folder, .image = image, .seed = 1 },
        { .contents = r->folder, .seed = 2 }, /* the same: it is there */
        { .contents = "/nowhere", .seed = 1 },
        { .image = "/nowhere/image", .seed = 1 },
    };
    g_autofree char *first = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(how); i++) {
        g_auto(GStrv) lines = NULL;
        g_autofree char *contents = NULL;
        g_autoptr(GError) error = NULL;
        Told told;

        g_assert_true(told_begin(&told, r, 1, NULL, false, &error));
        lines = cut_all(&told, 500, 1000000, &how[i]);
        g_assert_cmpuint(g_strv_length(lines), ==, 1);
        g_test_message("%s", lines[0]);
        contents = word(lines[0], "contents");
        first = first ? first : g_strdup(contents);
        g_assert_cmpstr(contents, ==, first);
        g_assert_true(has(lines[0], "\"fault\": null"));
        g_assert_true(has(lines[0], i < 2 ? "\"error\": null}"
                                          : "\"error\": \"/nowhere/") ||
                      (i == 3 && has(lines[0], "/nowhere/image")));
        told_end(&told);
    }
    same_as_file(r, image, first);
    recorded_free(r);
}

/* ---- What is no run of this drive --------------------------------------- */

static void refused(const Recorded *r, const char *overrides, const char *says)
{
    g_autoptr(GError) error = NULL;
    Told told;
    bool ok = told_begin(&told, r, 1, overrides, false, &error);

    while (ok && cuts_walk_next_ns(&told.walk) != SCARP_TIME_NEVER) {
        ok = cuts_walk_step(&told.walk, &error);
    }
    g_assert_false(ok);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_null(strchr(error->message, '\n'));
    told_end(&told);
}

static void test_other_run(void)
{
    Recorded *r = record(CUTS, 0, true);

    refused(r, "timing.program_ns=750001",
            "the run was of another drive, image, scheme, seed or engine");
    recorded_free(r);
    r = record(SMALL, 0, true);
    refused(r, NULL, "nand.power_cuts=0: must be 1");
    recorded_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cuts-run/durable", test_durable);
    for (size_t i = 0; i < G_N_ELEMENTS(drives); i++) {
        g_autofree char *path = g_strconcat("/cuts-run/volatile/",
                                            drives[i].name, NULL);

        g_test_add_data_func(path, &drives[i], test_volatile);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
        g_autofree char *path = g_strconcat("/cuts-run/lie/", lies[i], NULL);

        g_test_add_data_func(path, lies[i], test_lie);
    }
    g_test_add_func("/cuts-run/twice", test_twice);
    g_test_add_func("/cuts-run/again", test_again);
    g_test_add_func("/cuts-run/kept", test_kept);
    g_test_add_func("/cuts-run/other-run", test_other_run);
    return g_test_run();
}
