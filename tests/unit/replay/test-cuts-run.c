/*
 * Power cuts in a recorded run: runs are recorded here as the device does, told
 * again, and cut; what the lines say is compared with what the drive promised.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts-one.h"
#include "cuts-pool.h"
#include "cuts-text.h"
#include "../helpers.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <unistd.h>

#define SMALL "geometry.blocks_per_plane=24,gc.trigger_free_blocks=1," \
    "ftl.over_provisioning_permille=1000"
#define CUTS SMALL ",nand.power_cuts=1,ftl.recovery=2"
#define BUFFERED CUTS ",controller.buffer_bytes=65536"
#define SECTOR SCARP_SECTOR_BYTES

enum { COMMANDS = 300, IN_FLIGHT = 6, MOST_SECTORS = 40 };

/* ---- A run, as the device records it ------------------------------------ */

typedef struct {
    char *folder, *image, *log, *data;
} Recorded;

typedef struct {
    ScarpCmd cmd;
    uint32_t order;
    bool flying;
    char bytes[MOST_SECTORS * SECTOR];
} Slot;

static char *in(const Recorded *r, const char *name)
{
    return g_build_filename(r->folder, name, NULL);
}

static Recorded *recorded_new(void)
{
    Recorded *r = g_new0(Recorded, 1);
    g_autoptr(GError) error = NULL;

    r->folder = g_dir_make_tmp("scarp-cuts-XXXXXX", &error);
    g_assert_no_error(error);
    r->image = in(r, "image");
    r->log = in(r, "log");
    r->data = in(r, "data");
    return r;
}

static void recorded_free(Recorded *r)
{
    GDir *folder = g_dir_open(r->folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(folder))) {
        g_autofree char *path = in(r, name);

        g_unlink(path);
    }
    g_dir_close(folder);
    g_assert_cmpint(g_rmdir(r->folder), ==, 0);
    g_free(r->folder);
    g_free(r->image);
    g_free(r->log);
    g_free(r->data);
    g_free(r);
}

/* With contents of its own in the first pages, if so many are written. */
static void make_image(const Recorded *r, const char *overrides, uint64_t pages)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    g_autoptr(GError) error = NULL;
    char bytes[PAGE];

    rig_age(rig, 900);
    for (uint64_t i = 0; i < pages; i++) {
        ScarpCmd cmd = write_page(i);

        /* Half of a page is zeroes. */
        memset(bytes, 0, sizeof(bytes));
        memset(bytes, 'a' + (int)i % 26, sizeof(bytes) / 2);
        cmd.data = bytes;
        rig_do(rig, &cmd);
    }
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_true(scarp_save(rig->drive, r->image, &error));
    g_assert_no_error(error);
    rig_free(rig);
}

static void draw(GRand *rand, Slot *slot, uint64_t sectors)
{
    static const char ops[] = "WWWWWWRRZDF";
    bool whole = g_rand_int_range(rand, 0, 2); /* a unit; else any sectors */
    uint32_t n = whole ? PAGE / SECTOR
                       : (uint32_t)g_rand_int_range(rand, 1, MOST_SECTORS + 1);
    uint64_t first = g_rand_int_range(rand, 0, (sectors - n) / 8) * 8 +
                     (whole ? 0 : g_rand_int_range(rand, 0, 8));
    ScarpOp op = SCARP_OP_FLUSH;

    switch (ops[g_rand_int_range(rand, 0, strlen(ops))]) {
    case 'W':
        op = SCARP_OP_WRITE;
        break;
    case 'R':
        op = SCARP_OP_READ;
        break;
    case 'Z':
        op = SCARP_OP_WRITE_ZEROES;
        break;
    case 'D':
        op = SCARP_OP_DEALLOCATE;
        break;
    }
    slot->cmd = op == SCARP_OP_FLUSH ? cmd_of(op, 0, 0)
                                     : cmd_of(op, first * SECTOR, n * SECTOR);
    slot->cmd.opaque = slot;
    slot->cmd.fua = op == SCARP_OP_WRITE && !g_rand_int_range(rand, 0, 5);
    if (op == SCARP_OP_WRITE) {
        for (uint32_t i = 0; i < n * SECTOR; i++) {
            slot->bytes[i] = g_rand_int(rand);
        }
        slot->cmd.data = slot->bytes;
    }
}

static void reap(ScarpDrive *drive, FILE *log, FILE *data)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(drive))) {
        Slot *slot = cmd->opaque;

        cmdlog_write(log, cmd, slot->order);
        if (cmd->op == SCARP_OP_WRITE) {
            fwrite(slot->bytes, 1, cmd->length_bytes, data);
        }
        slot->flying = false;
    }
}

static Slot *free_slot(Slot *slots, ScarpDrive *drive, FILE *log, FILE *data)
{
    for (;;) {
        for (int i = 0; i < IN_FLIGHT; i++) {
            if (!slots[i].flying) {
                return &slots[i];
            }
        }
        scarp_run_until_done(drive, SCARP_TIME_LAST);
        reap(drive, log, data);
    }
}

static bool overlaps(const Slot *slots, const ScarpCmd *cmd)
{
    for (int i = 0; i < IN_FLIGHT; i++) {
        const ScarpCmd *other = &slots[i].cmd;

        if (slots[i].flying &&
            cmd->offset_bytes < other->offset_bytes + other->length_bytes &&
            other->offset_bytes < cmd->offset_bytes + cmd->length_bytes) {
            return true;
        }
    }
    return false;
}

/*
 * Commands of all kinds, as many at once, and some pauses.  apart: none in
 * flight overlap, so that the last one to complete is what a sector has.
 */
static Recorded *record(const char *overrides, uint64_t pages, bool apart)
{
    static const char header[16] = "SCARPDT1";
    Recorded *r = recorded_new();
    ScarpConfig config = { .scheme = "baseline", .image_path = r->image,
                           .seed = 1, .store_data = true };
    g_autofree Slot *slots = g_new0(Slot, IN_FLIGHT);
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autoptr(GError) error = NULL;
    FILE *log = fopen(r->log, "wb"), *data = fopen(r->data, "wb");
    ScarpDrive *drive;

    make_image(r, overrides, pages);
    drive = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    cmdlog_write_header(log);
    fwrite(header, sizeof(header), 1, data);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        Slot *slot = free_slot(slots, drive, log, data);

        do {
            draw(rand, slot, scarp_drive_logical_bytes(drive) / SECTOR);
        } while (apart && overlaps(slots, &slot->cmd));
        slot->order = i;
        slot->flying = true;
        if (!g_rand_int_range(rand, 0, 10)) {
            scarp_run(drive, scarp_now_ns(drive) + 1000000);
            reap(drive, log, data);
        }
        scarp_submit(drive, &slot->cmd, scarp_now_ns(drive));
    }
    g_assert_true(scarp_drain(drive, &error));
    reap(drive, log, data);
    scarp_drive_free(drive);
    fclose(log);
    fclose(data);
    return r;
}

/* ---- Told again, and cut ------------------------------------------------ */

typedef struct {
    CutsRecord *record;
    CutsWalk walk;
} Told;

static bool told_begin(Told *told, const Recorded *r, uint32_t n,
                       const char *overrides, bool made_up, GError **error)
{
    ScarpConfig config = { .scheme = "baseline", .image_path = r->image,
                           .overrides = overrides, .seed = 1,
                           .store_data = true };

    told->record = cuts_record_open(r->log, made_up ? NULL : r->data, error);
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
    cuts_record_free(told->record);
}

static char **lines_of(FILE *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char bytes[4096];
    size_t n;

    rewind(out);
    while ((n = fread(bytes, 1, sizeof(bytes), out))) {
        g_string_append_len(text, bytes, n);
    }
    fclose(out);
    g_assert_true(g_str_has_suffix(text->str, "\n"));
    g_string_truncate(text, text->len - 1);
    return g_strsplit(text->str, "\n", -1);
}

/* Cuts at moments first, first + every, ...: a line of each, in their order. */
static char **cut_all(Told *told, uint64_t first, uint64_t every,
                      const CutsHow *how)
{
    FILE *out = tmpfile();
    CutsPool *pool = cuts_pool_new(2, out);
    g_autoptr(GError) error = NULL;

    while (cuts_walk_next_ns(&told->walk) != SCARP_TIME_NEVER) {
        FILE *to;

        g_assert_true(cuts_walk_step(&told->walk, &error));
        if (told->walk.moment < first ||
            (told->walk.moment - first) % every) {
            continue;
        }
        g_assert_true(cuts_pool_fork(pool, told->walk.moment, &to, &error));
        if (to) {
            cuts_one(&told->walk, how, to);
            cuts_pool_child_end(to);
        }
    }
    cuts_pool_wait(pool);
    cuts_pool_free(pool);
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
            "the run was of another drive, image, scheme or seed");
    recorded_free(r);
    r = record(SMALL, 0, true);
    refused(r, NULL, "nand.power_cuts=0: must be 1");
    recorded_free(r);
}

/* One command of a log; the drive has 6 MiB at most, and a single stream. */
static void test_fits(void)
{
    static const struct {
        uint64_t offset, length;
        uint16_t stream;
        bool ok;
    } rows[] = {
        { 0, 512, 0, true },
        { 100, 512, 0, false },
        { 512, 100, 0, false },
        { 0, 1u << 30, 0, false },
        { 1ull << 40, 512, 0, false },
        { 0, 512, 1, false },
    };
    Recorded *r = recorded_new();

    make_image(r, CUTS, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, rows[i].offset, rows[i].length);
        ScarpConfig config = { .scheme = "baseline", .image_path = r->image,
                               .seed = 1, .store_data = true };
        g_autoptr(GError) error = NULL;
        FILE *log = fopen(r->log, "wb");
        CutsRecord *record;
        CutsDrive drive;
        bool ok;

        cmd.stream = rows[i].stream;
        cmdlog_write_header(log);
        cmdlog_write(log, &cmd, 0);
        fclose(log);
        record = cuts_record_open(r->log, NULL, &error);
        g_assert_no_error(error);
        ok = cuts_drive_begin(&drive, record, &config, false, &error);
        g_assert_true(ok == rows[i].ok);
        if (ok) {
            cuts_drive_end(&drive);
        } else {
            g_assert_nonnull(strstr(error->message, ": this drive has "));
        }
        cuts_record_free(record);
    }
    recorded_free(r);
}

/* A data log is that of its command log, and rows come in their order. */
static void test_record(void)
{
    static const struct {
        const char *bytes;
        gssize n;
        const char *says;
    } data[] = {
        { "SCARPDT1", 8, ": no data log (SCARPDT1)" },
        { "SCARPDT2        ", 16, ": no data log (SCARPDT1)" },
        { "SCARPDT1        ", 16, ": has 0 bytes of writes" },
    };
    Recorded *r = recorded_new();
    ScarpCmd second = cmd_of(SCARP_OP_WRITE, 512, 512);
    ScarpCmd first = cmd_of(SCARP_OP_WRITE, 0, 1024);
    g_autofree char *all = g_strnfill(16 + 3 * 512, 'x');
    g_autoptr(GError) error = NULL;
    CutsRecord *record;
    char sector[SECTOR];
    FILE *log = fopen(r->log, "wb");

    cmdlog_write_header(log);
    fclose(log);
    g_assert_null(cuts_record_open(r->log, NULL, &error));
    g_assert_nonnull(strstr(error->message, ": no command was recorded"));
    g_clear_error(&error);
    g_assert_null(cuts_record_open(r->data, NULL, &error)); /* not there */
    g_assert_nonnull(strstr(error->message, r->data));

    /* Of one time: the one that was submitted later has ended first. */
    log = fopen(r->log, "wb");
    cmdlog_write_header(log);
    cmdlog_write(log, &second, 1);
    cmdlog_write(log, &first, 0);
    fclose(log);
    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        g_clear_error(&error);
        g_assert_true(g_file_set_contents(r->data, data[i].bytes, data[i].n,
                                          NULL));
        g_assert_null(cuts_record_open(r->log, r->data, &error));
        g_assert_nonnull(strstr(error->message, data[i].says));
    }
    g_unlink(r->data);
    g_clear_error(&error);
    g_assert_null(cuts_record_open(r->log, r->data, &error));
    g_assert_nonnull(strstr(error->message, "data"));
    g_clear_error(&error);

    memcpy(all, "SCARPDT1        ", 16);
    memset(all + 16, '2', 512);
    memset(all + 16 + 512, '0', 512);
    memset(all + 16 + 1024, '1', 512);
    g_assert_true(g_file_set_contents(r->data, all, 16 + 3 * 512, NULL));
    record = cuts_record_open(r->log, r->data, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(record->rows->len, ==, 2);
    g_assert_cmpuint(cuts_row(record, 0)->cmd.length_bytes, ==, 1024);
    for (uint64_t i = 0; i < 2; i++) {
        cuts_record_sector(record, 0, i, sector);
        g_assert_cmpint(sector[0], ==, i ? '1' : '0');
        g_assert_cmpint(sector[SECTOR - 1], ==, i ? '1' : '0');
    }
    cuts_record_sector(record, 1, 1, sector);
    g_assert_cmpint(sector[0], ==, '2');
    cuts_record_free(record);
    recorded_free(r);
}

/* ---- Processes and words ------------------------------------------------ */

/* Lines come in the order of the cuts, whoever is ready first, or dies. */
static void test_pool(void)
{
    FILE *out = tmpfile();
    CutsPool *pool = cuts_pool_new(3, out);
    g_auto(GStrv) lines = NULL;

    for (uint64_t cut = 1; cut <= 7; cut++) {
        g_autoptr(GError) error = NULL;
        FILE *to;

        g_assert_true(cuts_pool_fork(pool, cut, &to, &error));
        if (!to) {
            continue;
        }
        if (cut == 1) {
            g_usleep(100000);
        }
        fprintf(to, "line %d\n", (int)cut);
        fflush(to);
        if (cut == 3) {
            raise(SIGKILL);
        }
        if (cut == 5) {
            _exit(4);
        }
        cuts_pool_child_end(to);
    }
    cuts_pool_wait(pool);
    cuts_pool_free(pool);
    lines = lines_of(out);
    g_assert_cmpuint(g_strv_length(lines), ==, 9);
    for (int cut = 1, i = 0; cut <= 7; cut++) {
        g_autofree char *line = g_strdup_printf("line %d", cut);

        g_assert_cmpstr(lines[i++], ==, line);
        if (cut == 3) {
            g_assert_cmpstr(lines[i++], ==, "{\"cut\": 3, \"fault\": \"the "
                            "engine died: signal 9\", \"error\": null}");
        }
        if (cut == 5) {
            g_assert_cmpstr(lines[i++], ==, "{\"cut\": 5, \"fault\": \"the "
                            "engine died: status 4\", \"error\": null}");
        }
    }
}

static void test_text(void)
{
    static const char *const rows[][2] = {
        { NULL, "null" }, { "", "\"\"" }, { "a b", "\"a b\"" },
        { "a\"b\\", "\"a\\\"b\\\\\"" }, { "\n\x1f", "\"\\u000a\\u001f\"" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        cuts_text(out, rows[i][0]);
        fclose(out);
        g_assert_cmpstr(text, ==, rows[i][1]);
        free(text);
    }
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
    g_test_add_func("/cuts-run/fits", test_fits);
    g_test_add_func("/cuts-run/record", test_record);
    g_test_add_func("/cuts-run/pool", test_pool);
    g_test_add_func("/cuts-run/text", test_text);
    return g_test_run();
}
