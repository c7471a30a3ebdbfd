/*
 * Images: a drive that starts from one goes on as the saved one does; a file
 * that is not whole is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT 4096u
#define DEPTH 16
/* Small, as checked builds look at all of it after every event. */
#define SMALL "geometry.blocks_per_plane=40,geometry.pages_per_block=8," \
              "ftl.over_provisioning_permille=500,"
#define TINY SMALL "controller.buffer_bytes=65536"
#define SLC TINY ",geometry.pages_per_block=9,nand.cell_bits=3," \
    "timing.slc_read_ns=30000,timing.slc_program_ns=200000," \
    "timing.slc_erase_ns=2000000,slc.dynamic=1"

static ScarpDrive *try_new(const char *scheme, const char *overrides,
                           const char *image, bool data, GError **error)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .overrides = overrides, .seed = 1,
        .store_data = data, .image_path = image,
    };

    return scarp_drive_new(&config, error);
}

static ScarpDrive *drive_new(const char *scheme, const char *overrides,
                             const char *image)
{
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = try_new(scheme, overrides, image, true, &error);

    g_assert_no_error(error);
    return drive;
}

static void refused(const char *overrides, const char *image,
                    const char *because)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(try_new("baseline", overrides, image, true, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_null(strchr(error->message, '\n'));
    g_assert_nonnull(strstr(error->message, because));
}

/* A path that nothing has. */
static char *new_path(void)
{
    char *path = NULL;
    g_autoptr(GError) error = NULL;
    int fd = g_file_open_tmp("scarp-XXXXXX", &path, &error);

    g_assert_no_error(error);
    close(fd);
    g_unlink(path);
    return path;
}

static void save(ScarpDrive *drive, const char *path)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_drain(drive, &error));
    g_assert_no_error(error);
    scarp_save(drive, path, &error);
    g_assert_no_error(error);
}

/* Without fsync(), of which a test needs none. */
static void put(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(bytes, 1, n, file), ==, n);
    g_assert_false(fclose(file));
}

/* ---- A workload, and what came of it ------------------------------------ */

typedef struct {
    ScarpCmd cmd;
    uint8_t data[4 * UNIT];
    bool busy;
} Slot;

/* One number for each command's times, causes and data, in order. */
static void digest(GChecksum *sum, const ScarpCmd *cmd, int64_t begin_ns)
{
    int64_t times[] = { cmd->submit_ns - begin_ns,
                        cmd->complete_ns - begin_ns };

    g_checksum_update(sum, (const guchar *)times, sizeof(times));
    g_checksum_update(sum, (const guchar *)cmd->cause_ns,
                      sizeof(cmd->cause_ns));
    if (cmd->op == SCARP_OP_READ) {
        g_checksum_update(sum, cmd->data, cmd->length_bytes);
    }
}

static void reap(ScarpDrive *drive, GChecksum *sum, int64_t begin_ns)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(drive))) {
        digest(sum, cmd, begin_ns);
        ((Slot *)cmd->opaque)->busy = false;
    }
}

static char *run(ScarpDrive *drive, uint32_t seed, int n)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree Slot *slot = g_new0(Slot, DEPTH);
    uint64_t sectors = scarp_drive_logical_bytes(drive) / SCARP_SECTOR_BYTES;
    int64_t begin_ns = scarp_now_ns(drive);
    GRand *rand = g_rand_new_with_seed(seed);
    g_autofree char *json = NULL;

    for (int i = 0; i < n; i++) {
        Slot *s = &slot[i % DEPTH];
        uint32_t kind = g_rand_int_range(rand, 0, 100);
        uint32_t align = kind % 2 ? 1 : UNIT / SCARP_SECTOR_BYTES;
        uint32_t length = g_rand_int_range(rand, 1, 4) * align;

        while (s->busy) {
            scarp_run(drive, scarp_next_event_ns(drive));
            reap(drive, sum, begin_ns);
        }
        memset(&s->cmd, 0, sizeof(s->cmd));
        s->cmd.op = kind < 30 ? SCARP_OP_READ : kind < 92 ? SCARP_OP_WRITE
                  : kind < 96 ? SCARP_OP_DEALLOCATE : SCARP_OP_FLUSH;
        s->cmd.fua = kind == 50;
        s->cmd.stream = kind % 3;
        s->cmd.deadline_ns = SCARP_TIME_NEVER;
        s->cmd.data = s->data;
        s->cmd.opaque = s;
        if (s->cmd.op != SCARP_OP_FLUSH) {
            s->cmd.length_bytes = length * SCARP_SECTOR_BYTES;
            s->cmd.offset_bytes = g_rand_int_range(rand, 0, sectors - 32) /
                                  align * align *
                                  (uint64_t)SCARP_SECTOR_BYTES;
        }
        if (s->cmd.op == SCARP_OP_WRITE) {
            memset(s->data, i, sizeof(s->data));
        }
        s->busy = true;
        scarp_submit(drive, &s->cmd,
                     scarp_now_ns(drive) + g_rand_int_range(rand, 0, 20000));
        reap(drive, sum, begin_ns);
    }
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    reap(drive, sum, begin_ns);
    g_rand_free(rand);
    json = scarp_stats_json(drive);
    g_checksum_update(sum, (const guchar *)json, -1);
    return g_strdup(g_checksum_get_string(sum));
}

static void age(ScarpDrive *drive)
{
    ScarpAge settings = { .utilisation_permille = 900, .pattern = "random",
                          .overwrite_permille = UINT32_MAX, .seed = 3 };
    g_autoptr(GError) error = NULL;

    scarp_age(drive, &settings, &error);
    g_assert_no_error(error);
}

/* ---- Tests ---------------------------------------------------------------- */

/* Saved in the middle of a life: both go on alike, to the nanosecond. */
/* What the drive must have for the scheme. */
static const char *needed(const char *scheme)
{
    if (strstr(scheme, "ttflash") || strstr(scheme, "rotating") ||
        strstr(scheme, "reconstruct") || strstr(scheme, "striped")) {
        return ",ftl.parity_width=4,ftl.unit_bytes=4096";
    }
    return strstr(scheme, "gc-par") || strstr(scheme, "gc-vic") ||
                   strstr(scheme, "multi-plane") || strstr(scheme, "pagc")
               ? ",geometry.planes_per_die=2" : "";
}

static void test_same_future(const void *scheme)
{
    static const char *const drives[] = {
        TINY ",controller.slots=1,gc.background_free_blocks=8",
        SMALL "gc.wear_spread_erases=3,"
        "nand.bad_blocks_permille=30,nand.endurance_erases=40",
        TINY ",ftl.unit_bytes=1024,gc.separate_active_block=0,ftl.streams=3,"
        "ftl.recovery=1",
    };

    int n = g_test_slow() ? 400 : 200; /* of the commands of each part */

    for (size_t i = 0; i < G_N_ELEMENTS(drives); i++) {
        g_autofree char *path = new_path();
        g_autofree char *overrides = g_strconcat(drives[i], needed(scheme),
                                                 NULL);
        ScarpDrive *a = drive_new(scheme, overrides, NULL), *b;

        age(a);
        g_free(run(a, 7, g_test_slow() ? 450 : 200));
        save(a, path);
        b = drive_new(scheme, overrides, path);
        g_unlink(path);
        g_assert_cmpint(scarp_now_ns(b), ==, 0);
        g_assert_true(scarp_check(b, NULL));
        scarp_stats_reset(a);
        for (int part = 0; part < 2; part++) {
            g_autofree char *of_a = run(a, part, n);
            g_autofree char *of_b = run(b, part, n);

            g_assert_cmpstr(of_a, ==, of_b);
        }
        g_assert_cmpuint(scarp_stats(a)->gc_runs, >, 0);
        scarp_drive_free(a);
        scarp_drive_free(b);
    }
}

/* An aged drive with data, saved. */
static char *saved(const char *overrides)
{
    char *path = new_path();
    ScarpDrive *drive = drive_new("baseline", overrides, NULL);

    age(drive);
    g_free(run(drive, 1, 500));
    save(drive, path);
    scarp_drive_free(drive);
    return path;
}

/* What else a drive has to keep. */
typedef struct {
    const char *name, *overrides;
} Kept;

static const Kept kept[] = {
    { "demand", TINY ",ftl.mapping=demand,ftl.map_cache_bytes=1024,"
      "geometry.page_bytes=1024,controller.buffer_bytes=8192,ftl.streams=2,"
      "gc.wear_spread_erases=3" },
    { "block", TINY ",ftl.mapping=block,geometry.planes_per_die=2" },
    { "superblock", SMALL "ftl.mapping=superblock,ftl.superblock_blocks=3,"
      "ftl.recovery=2,geometry.planes_per_die=2" },
    { "fast", SMALL "ftl.mapping=fast,ftl.recovery=1,nand.endurance_erases=60,"
      "nand.bad_blocks_permille=30,geometry.planes_per_die=2" },
    { "records", TINY ",ftl.recovery=2,ftl.unit_bytes=2048,ftl.streams=3,"
      "geometry.planes_per_die=2" },
    { "slc", SLC ",slc.static_blocks=2,slc.fold_idle_us=300,ftl.streams=3,"
      "ftl.recovery=1" },
    { "slc-fold", SLC ",slc.static_blocks=2,slc.full=fold,slc.keep_blocks=1,"
      "slc.fold_idle_us=5000" },
    { "slc-demand", SLC ",slc.static_blocks=2,slc.full=fold,"
      "ftl.mapping=demand,ftl.map_cache_bytes=1024" },
    { "parity", SMALL "ftl.parity_width=4,ftl.recovery=1,"
      "gc.wear_spread_erases=3,nand.endurance_erases=60" },
    { "units", TINY ",ftl.reclaim_planes=2,ftl.unit_bytes=2048,ftl.streams=3,"
      "ftl.recovery=2,nand.bad_blocks_permille=30" },
    { "units-isolated", TINY ",ftl.reclaim_planes=4,ftl.streams=3,"
      "ftl.isolated_streams=2,gc.wear_spread_erases=3,"
      "nand.endurance_erases=60" },
};

/*
 * Presets and single choices that the drive takes: every step-th of all, from
 * the first one on.  With `-m slow` step is less.
 */
static GPtrArray *taken(const char *overrides, const char *image,
                        unsigned first, unsigned step)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = scarp_schemes_text();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    unsigned seen = 0;

    for (char **line = lines; *line; line++) {
        char *colon = strchr(*line, ':');
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive;

        if (!colon || **line == ' ' || seen++ % step != first % step) {
            continue;
        }
        *colon = '\0';
        drive = try_new(*line, overrides, image, true, &error);
        if (drive) {
            g_ptr_array_add(names, g_strdup(*line));
            scarp_drive_free(drive);
        } else {
            g_assert_null(strchr(error->message, '\n'));
        }
    }
    return names;
}

static void test_kept_future(gconstpointer data)
{
    unsigned number = (const Kept *)data - kept;
    unsigned step = g_test_slow() ? 1 : 3;
    const char *overrides = kept[number].overrides;
    g_autoptr(GPtrArray) schemes = taken(overrides, NULL, number, step);

    g_assert_cmpuint(schemes->len, >, 8 / step);
    for (unsigned i = 0; i < schemes->len; i++) {
        g_autofree char *path = new_path(), *of_a = NULL, *of_b = NULL;
        ScarpDrive *a = drive_new(schemes->pdata[i], overrides, NULL), *b;

        g_test_message("%s", (char *)schemes->pdata[i]);
        age(a);
        g_free(run(a, 7, 120));
        save(a, path);
        b = drive_new(schemes->pdata[i], overrides, path);
        g_unlink(path);
        scarp_stats_reset(a);
        of_a = run(a, 1, 160);
        of_b = run(b, 1, 160);
        g_assert_cmpstr(of_a, ==, of_b);
        scarp_drive_free(a);
        scarp_drive_free(b);
    }
}

/* From one image: other times, another GC, another buffer, any scheme. */
static void test_other_keys(gconstpointer data)
{
    static const char *const others[] = {
        "", ",timing.program_ns=1000,timing.read_ns=1,timing.erase_ns=100",
        ",gc.trigger_free_blocks=1,gc.separate_active_block=0",
        ",gc.trigger_free_blocks=6,nand.copyback=1,gc.after_reads=1",
        ",controller.buffer_bytes=16384,nand.multiplane=1,ftl.streams=1",
        ",controller.slots=1,controller.queue=4,gc.background_free_blocks=9,"
        "nand.endurance_erases=20,gc.wear_spread_erases=0",
    };
    const char *overrides = data;
    g_autofree char *path = saved(overrides);
    unsigned step = g_test_slow() ? 3 : G_N_ELEMENTS(others), none = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        /* A drive with an SLC cache has both endurances, or none. */
        bool of_both = strstr(overrides, "slc.") &&
                       strstr(others[i], "nand.endurance_erases");
        g_autofree char *keys = g_strconcat(
            overrides, others[i], of_both ? ",slc.endurance_erases=200" : NULL,
            NULL);
        g_autoptr(GPtrArray) schemes = taken(keys, path, i, step);

        none += !schemes->len;
        for (unsigned k = 0; k < schemes->len; k++) {
            ScarpDrive *drive = drive_new(schemes->pdata[k], keys, path);

            g_test_message("%s, %s", (char *)schemes->pdata[k], keys);
            g_free(run(drive, k, 100));
            g_assert_true(scarp_drain(drive, NULL));
            g_assert_true(scarp_check(drive, NULL));
            g_assert_cmpuint(scarp_stats(drive)->oob_mismatches, ==, 0);
            scarp_drive_free(drive);
        }
    }
    /* With three streams there are too few spare blocks for a trigger of 6. */
    g_assert_cmpuint(none, <=, 1);
    g_unlink(path);
}

/* The same, and the image says another order than the drive had. */
static char *saved_as(const char *overrides, const char *order)
{
    char *path = new_path();
    ScarpDrive *drive = drive_new("baseline", overrides, NULL);

    age(drive);
    inside_set_order(drive, order);
    save(drive, path);
    scarp_drive_free(drive);
    return path;
}

static void test_other_class(void)
{
    g_autofree char *path = saved(NULL);

    refused("geometry.channels=1", path,
            "it has geometry.channels=2, the drive geometry.channels=1");
    refused("geometry.pages_per_block=32", path, "geometry.pages_per_block=16");
    refused("ftl.unit_bytes=2048", path, "ftl.unit_bytes=4096");
    refused("ftl.over_provisioning_permille=400", path,
            "ftl.over_provisioning_permille=300");
    refused("ftl.recovery=1", path, "ftl.recovery=0");
    refused("ftl.reclaim_planes=4", path, "the drive ftl.reclaim_planes=4");
    refused("nand.bad_blocks_permille=1", path, "nand.bad_blocks_permille=0");
    /* Of the same class: other timing, other GC, another controller. */
    scarp_drive_free(drive_new("pregc+pgc", "timing.program_ns=1,"
                               "gc.trigger_free_blocks=4,nand.multiplane=1,"
                               "gc.separate_active_block=0,"
                               "controller.buffer_bytes=16384,"
                               "ftl.allocation=dpwc", path));
    g_unlink(path);
}

/* Where something has its plane by the order, that belongs to the class. */
static void test_other_order(void)
{
    static const struct {
        const char *what;
        bool of_class;
    } rows[] = {
        { TINY ",ftl.mapping=demand,geometry.page_bytes=512", true },
        { TINY ",ftl.mapping=block", true },
        { TINY ",ftl.mapping=superblock", true },
        { TINY ",ftl.mapping=fast", true },
        { TINY ",ftl.parity_width=2,geometry.planes_per_die=2", true },
        { TINY ",geometry.planes_per_die=2", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *own = g_strconcat(rows[i].what,
                                           ",ftl.allocation=dcwp", NULL);
        g_autofree char *path = saved(own), *forged = NULL;

        scarp_drive_free(drive_new("baseline", own, path));
        if (!rows[i].of_class) {
            scarp_drive_free(drive_new("baseline", rows[i].what, path));
            scarp_drive_free(drive_new("dynamic", rows[i].what, path));
        } else {
            refused(rows[i].what, path, "has ftl.allocation=dcwp, the drive");
            /* One that says another order, or is older than the line. */
            forged = saved_as(own, "cwdp");
            refused(rows[i].what, forged, "damaged");
            g_unlink(forged);
        }
        g_unlink(path);
    }
}

/* ---- Who wrote it -------------------------------------------------------- */

#define HEAD_BYTES 40
#define ENTRY_BYTES 32
#define DIGEST_AT 24

/* The digest of head and table, as docs/images.md has it. */
static void put_digest(char *image, uint32_t sections)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
    gsize length = 16;

    memset(image + DIGEST_AT, 0, length);
    g_checksum_update(sum, (const guchar *)image,
                      HEAD_BYTES + sections * ENTRY_BYTES);
    g_checksum_get_digest(sum, (guint8 *)image + DIGEST_AT, &length);
}

/* Without its last section: what versions before 1.0.0 wrote. */
static void cut_writer(const char *path)
{
    g_autofree char *image = NULL;
    gsize bytes, entry;
    uint64_t cut, left;
    uint32_t n;

    g_assert_true(g_file_get_contents(path, &image, &bytes, NULL));
    memcpy(&n, image + 12, sizeof(n));
    n = GUINT32_FROM_LE(n) - 1;
    entry = HEAD_BYTES + n * ENTRY_BYTES;
    g_assert_cmpmem(image + entry, 8, "writer\0", 8);
    memcpy(&cut, image + entry + 8, sizeof(cut));
    cut = GUINT64_FROM_LE(cut);
    bytes -= ENTRY_BYTES + cut;
    memmove(image + entry, image + entry + ENTRY_BYTES, bytes - entry);
    n = GUINT32_TO_LE(n);
    memcpy(image + 12, &n, sizeof(n));
    left = GUINT64_TO_LE(bytes);
    memcpy(image + 16, &left, sizeof(left));
    put_digest(image, GUINT32_FROM_LE(n));
    put(path, image, bytes);
}

/* The file ends with who wrote it; one that does not say so is read as well. */
static void test_writer(void)
{
    g_autofree char *path = saved(TINY), *image = NULL;
    g_autofree char *ours = g_strdup_printf("scarp %s\n", scarp_version());
    gsize bytes, n = strlen(ours);

    g_assert_true(g_file_get_contents(path, &image, &bytes, NULL));
    g_assert_cmpmem(image + bytes - n, n, ours, n);
    image[bytes - 2] ^= 1;
    put(path, image, bytes);
    refused(TINY, path, "section 'writer' does not match its checksum");
    image[bytes - 2] ^= 1;
    put(path, image, bytes);
    cut_writer(path);
    scarp_drive_free(drive_new("baseline", TINY, path));
    g_unlink(path);
}

static void test_file_errors(void)
{
    g_autofree char *path = new_path();
    g_autofree char *under = g_build_filename(path, "image", NULL);
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = drive_new("baseline", NULL, NULL);

    refused(NULL, path, "No such file");
    refused(NULL, g_get_tmp_dir(), "not a file");
    put(path, "", 0);
    refused(NULL, path, "not a drive image");
    put(path, "[geometry]\nchannels=8\nand all the other keys of a drive\n",
        50);
    refused(NULL, path, "not a drive image");
    /* The file that was there stays when the image cannot be written. */
    g_assert_false(scarp_save(drive, under, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    refused(NULL, path, "not a drive image");
    g_unlink(path);
    scarp_drive_free(drive);
}

/* /dev/null was replaced by an image once, for everybody. */
static void test_only_files_are_replaced(void)
{
    g_autofree char *path = new_path();
    g_autofree char *target = g_strconcat(path, "-target", NULL);
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = drive_new("baseline", NULL, NULL);

    g_assert_false(mkfifo(path, 0600));
    g_assert_false(scarp_save(drive, path, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_nonnull(strstr(error->message, "is not a file"));
    g_unlink(path);
    /* Through a link, the file that it leads to. */
    put(target, "x", 1);
    g_assert_false(symlink(target, path));
    save(drive, path);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_SYMLINK));
    scarp_drive_free(drive);
    drive = drive_new("baseline", NULL, target);
    g_unlink(path);
    g_unlink(target);
    scarp_drive_free(drive);
}

static void test_not_at_rest(void)
{
    ScarpDrive *drive = drive_new("baseline", TINY ",ftl.unit_bytes=1024", NULL);
    ScarpCmd cmd = { .op = SCARP_OP_WRITE, .length_bytes = 512,
                     .deadline_ns = SCARP_TIME_NEVER };
    g_autofree char *path = new_path();
    g_autoptr(GError) error = NULL;

    scarp_submit(drive, &cmd, 5);
    g_assert_false(scarp_save(drive, path, &error));
    g_assert_nonnull(strstr(error->message, "accepted 1 commands"));
    g_clear_error(&error);
    while (!scarp_reap(drive)) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    g_assert_false(scarp_save(drive, path, &error));
    g_assert_nonnull(strstr(error->message, "write buffer is not empty"));
    g_clear_error(&error);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    save(drive, path);
    g_unlink(path);
    scarp_drive_free(drive);
}

/* Each byte of the header matters, and any byte behind it. */
static void test_damage(void)
{
    g_autofree char *path = saved("geometry.blocks_per_plane=32,"
                                  "geometry.page_bytes=512");
    g_autofree char *bytes = NULL;
    gint32 far = g_test_slow() ? 400 : 2000; /* between bytes past the header */
    gsize n;

    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    for (gsize i = 0; i < n; i += i < 600 ? 1 : g_test_rand_int_range(1, far)) {
        bytes[i] ^= 1 << i % 8;
        put(path, bytes, n);
        refused("geometry.blocks_per_plane=32,geometry.page_bytes=512", path,
                i < 8 ? "not a drive image" : i < 12 ? "has version"
                                                     : "damaged");
        bytes[i] ^= 1 << i % 8;
    }
    for (gsize i = 0; i < n; i += i < 600 ? 1 : g_test_rand_int_range(1, far)) {
        put(path, bytes, i);
        refused("geometry.blocks_per_plane=32,geometry.page_bytes=512", path,
                i < 40 ? "not a drive image" : "damaged: has");
    }
    g_unlink(path);
}

/* ---- The mapping from the flash alone ------------------------------------ */

typedef struct {
    uint32_t same, twins, other, back;
} Found;

static Found rebuild(const ScarpDrive *drive)
{
    g_autofree uint32_t *l2p = g_new(uint32_t, inside_mapped_units(drive));
    Found found = { 0 };

    inside_rebuild(drive, l2p);
    for (uint32_t lpn = 0; lpn < inside_mapped_units(drive); lpn++) {
        uint32_t is = inside_l2p(drive, lpn), ppn = l2p[lpn];

        if (is == ppn) {
            found.same++;
        } else if (is == INSIDE_NONE) {
            found.back++;
        } else if (ppn != INSIDE_NONE &&
                   inside_same_version(drive, is, ppn)) {
            found.twins++;
        } else {
            found.other++;
        }
    }
    return found;
}

static void deallocate_all(ScarpDrive *drive)
{
    ScarpCmd cmd = { .op = SCARP_OP_DEALLOCATE,
                     .length_bytes = scarp_drive_logical_bytes(drive),
                     .deadline_ns = SCARP_TIME_NEVER };

    scarp_submit(drive, &cmd, scarp_now_ns(drive));
    g_assert_true(scarp_drain(drive, NULL));
    g_assert_true(scarp_reap(drive) == &cmd);
}

static void test_rebuild(void)
{
    static const char *const schemes_in[] = {
        "baseline", "global", "dynamic", "pregc+gftl", "gc-vic", "ttflash",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes_in); i++) {
        g_autofree char *path = new_path();
        g_autofree char *overrides = g_strconcat(
            TINY ",ftl.recovery=1,ftl.unit_bytes=2048", needed(schemes_in[i]),
            NULL);
        ScarpDrive *drive = drive_new(schemes_in[i], overrides, NULL);
        Found found;

        age(drive);
        found = rebuild(drive);
        g_assert_cmpuint(found.same, ==, inside_mapped_units(drive));
        g_free(run(drive, i, 1500));
        save(drive, path);
        scarp_drive_free(drive);

        /* What the image holds is enough. */
        drive = drive_new(schemes_in[i], overrides, path);
        g_unlink(path);
        found = rebuild(drive);
        g_assert_cmpuint(found.other, ==, 0);
        g_assert_cmpuint(found.same, >, inside_logical_units(drive) / 2);
        /* Copies on both sides of a move: only of a victim not yet erased. */
        if (!strstr(schemes_in[i], "pregc")) {
            g_assert_cmpuint(found.twins, ==, 0);
        }
        /* What no longer is, comes back. */
        deallocate_all(drive);
        found = rebuild(drive);
        g_assert_cmpuint(found.back, >, inside_logical_units(drive) / 2);
        g_assert_cmpuint(found.other, ==, 0);
        scarp_drive_free(drive);
    }
}

static void write_units_at(ScarpDrive *drive, uint64_t unit, uint64_t n)
{
    ScarpCmd cmd = { .op = SCARP_OP_WRITE, .offset_bytes = unit * UNIT,
                     .length_bytes = n * UNIT,
                     .deadline_ns = SCARP_TIME_NEVER };

    scarp_submit(drive, &cmd, scarp_now_ns(drive));
    g_assert_true(scarp_drain(drive, NULL));
    g_assert_true(scarp_reap(drive) == &cmd);
}

/*
 * With records of deallocations the flash alone says what is mapped, and what
 * no longer is: after an image, after all was deallocated, after some of it was
 * written again.
 */
static void test_rebuild_all(const void *overrides_in)
{
    static const char *const schemes_in[] = {
        "baseline", "global", "dynamic", "pregc+gftl", "gc-vic", "ideal",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes_in); i++) {
        g_autofree char *path = new_path();
        g_autofree char *overrides = g_strconcat(
            TINY ",ftl.recovery=2", overrides_in, needed(schemes_in[i]), NULL);
        ScarpDrive *drive = drive_new(schemes_in[i], overrides, NULL);
        Found found;

        age(drive);
        g_free(run(drive, i, 1500));
        g_assert_cmpuint(scarp_stats(drive)->record_writes, >, 0);
        save(drive, path);
        found = rebuild(drive);
        g_assert_cmpuint(found.other + found.back, ==, 0);
        scarp_drive_free(drive);

        drive = drive_new(schemes_in[i], overrides, path);
        g_unlink(path);
        found = rebuild(drive);
        g_assert_cmpuint(found.other + found.back, ==, 0);
        g_assert_cmpuint(found.same, >, inside_logical_units(drive) / 2);
        deallocate_all(drive);
        found = rebuild(drive);
        g_assert_cmpuint(found.other + found.back + found.twins, ==, 0);
        for (uint32_t lpn = 0; lpn < inside_logical_units(drive); lpn++) {
            g_assert_cmpuint(inside_l2p(drive, lpn), ==, INSIDE_NONE);
        }
        write_units_at(drive, 3, 5);
        g_free(run(drive, i + 7, 300));
        g_assert_true(scarp_drain(drive, NULL));
        found = rebuild(drive);
        g_assert_cmpuint(found.other + found.back, ==, 0);
        scarp_drive_free(drive);
    }
}

/* A record is on flash when a flush has ended: a power cut brings nothing back. */
static void test_rebuild_after_flush(void)
{
    ScarpDrive *drive = drive_new("baseline", TINY ",ftl.recovery=2,"
                                  "controller.buffer_bytes=65536", NULL);
    ScarpCmd trim = { .op = SCARP_OP_DEALLOCATE, .offset_bytes = 7 * UNIT,
                      .length_bytes = 20 * UNIT + 512,
                      .deadline_ns = SCARP_TIME_NEVER };
    ScarpCmd flush = { .op = SCARP_OP_FLUSH,
                       .deadline_ns = SCARP_TIME_NEVER };

    age(drive);
    scarp_submit(drive, &trim, scarp_now_ns(drive));
    while (!scarp_reap(drive)) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    g_assert_cmpuint(scarp_stats(drive)->deallocated_units, ==, 20);
    g_assert_cmpuint(scarp_stats(drive)->record_writes, ==, 1);
    g_assert_cmpuint(rebuild(drive).back, ==, 20);
    scarp_submit(drive, &flush, scarp_now_ns(drive));
    while (!scarp_reap(drive)) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    g_assert_cmpuint(rebuild(drive).back, ==, 0);
    g_assert_cmpuint(scarp_stats(drive)->host_page_programs, ==, 1);
    /* Of what is not mapped the flash knows already. */
    scarp_submit(drive, &trim, scarp_now_ns(drive));
    while (!scarp_reap(drive)) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    g_assert_cmpuint(scarp_stats(drive)->record_writes, ==, 1);
    scarp_drive_free(drive);
}

static void do_now(ScarpDrive *drive, ScarpCmd *cmd)
{
    scarp_submit(drive, cmd, scarp_now_ns(drive));
    while (!scarp_reap(drive)) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
}

/*
 * Zeroes with FUA end when their record is on flash, also if an earlier command
 * without it deallocated the units already; so do all without a buffer.
 */
static void test_rebuild_after_fua(void)
{
    static const char *const units[] = {"", ",ftl.unit_bytes=1024"};

    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *overrides =
            g_strconcat(TINY ",ftl.recovery=2", units[i % 2],
                        i / 2 ? "" : ",controller.buffer_bytes=0", NULL);
        ScarpDrive *drive = drive_new("baseline", overrides, NULL);
        ScarpCmd zeroes = {.op = SCARP_OP_WRITE_ZEROES,
                           .offset_bytes = 7 * UNIT,
                           .length_bytes = 20 * UNIT,
                           .deadline_ns = SCARP_TIME_NEVER};
        uint32_t n = i % 2 ? 80 : 20; /* units */

        age(drive);
        do_now(drive, &zeroes);
        g_assert_cmpuint(rebuild(drive).back, ==, i / 2 ? n : 0);
        g_assert_cmpuint(scarp_stats(drive)->host_page_programs, ==, !(i / 2));
        zeroes.fua = true;
        do_now(drive, &zeroes);
        g_assert_cmpuint(rebuild(drive).back, ==, 0);
        /* Of a page's size, the first record was on its way already. */
        g_assert_cmpuint(scarp_stats(drive)->host_page_programs, ==,
                         i == 2 ? 2 : 1);
        scarp_drive_free(drive);
    }
}

/* Blocks and pages alone tell the order until a collection has moved something. */
static void test_rebuild_by_blocks(void)
{
    ScarpDrive *drive = drive_new("baseline", TINY, NULL);
    ScarpAge once = { .utilisation_permille = 800, .pattern = "random",
                      .overwrite_permille = 100, .seed = 1 };

    g_assert_true(scarp_age(drive, &once, NULL));
    for (uint32_t p = 0; p < inside_planes(drive); p++) {
        g_assert_false(inside_gc_has_block(drive, p));
    }
    g_assert_cmpuint(rebuild(drive).same, ==, inside_logical_units(drive));
    g_free(run(drive, 1, 1500));
    g_assert_cmpuint(scarp_stats(drive)->gc_moved_units, >, 0);
    g_assert_cmpuint(rebuild(drive).other, >, 0);
    scarp_drive_free(drive);
}

/*
 * The marks of valid units are kept block by block, in words of their own; the
 * file has them one after the other, in blocks that end inside a word, too.
 */
static void test_odd_blocks(void)
{
    const char *overrides = "geometry.blocks_per_plane=20,"
                            "geometry.pages_per_block=75,"
                            "ftl.unit_bytes=2048,"
                            "ftl.over_provisioning_permille=800";
    ScarpDrive *drive = drive_new("baseline", overrides, NULL), *again;
    uint32_t units = inside_units_per_block(drive), valid = 0;
    g_autofree char *path = new_path();

    age(drive);
    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        for (uint32_t i = 0; i < units; i++) {
            uint64_t bits = 0;

            valid += inside_is_valid(drive, b * units + i);
            for (uint32_t n = 1; n <= MIN(64, units - i); n++) {
                uint64_t last = inside_is_valid(drive, b * units + i + n - 1);

                bits |= last << (n - 1);
                g_assert_cmphex(inside_valid_bits(drive, b * units + i, n),
                                ==, bits);
            }
        }
    }
    g_assert_cmpuint(valid, >, inside_logical_units(drive) / 2);
    g_assert_cmpuint(valid, <, inside_blocks(drive) * units);
    save(drive, path);
    again = drive_new("baseline", overrides, path);
    for (uint32_t ppn = 0; ppn < inside_blocks(drive) * units; ppn++) {
        g_assert_true(inside_is_valid(again, ppn) ==
                      inside_is_valid(drive, ppn));
    }
    g_unlink(path);
    scarp_drive_free(again);
    scarp_drive_free(drive);
}

/* Whatever schemes there are; and two that remember something, together. */
static void add_schemes(void)
{
    g_autofree char *text = scarp_schemes_text();
    g_autofree char *all = g_strconcat(text, "pregc+gftl:\n", NULL);
    g_auto(GStrv) lines = g_strsplit(all, "\n", -1);

    for (char **line = lines; *line; line++) {
        char *colon = strchr(*line, ':');

        if (**line && **line != ' ') {
            g_autofree char *choice = g_strndup(*line, colon - *line);
            char *name = strcmp(choice, "read-match")
                             ? g_strdup(choice)
                             : g_strdup("gc-par+read-match");
            g_autofree char *path = g_strconcat("/image/same-future/", name,
                                                NULL);

            g_test_add_data_func_full(path, name, test_same_future, g_free);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_schemes();
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
        g_autofree char *same = g_strconcat("/image/same-future/of-",
                                            kept[i].name, NULL);
        g_autofree char *other = g_strconcat("/image/other-keys/",
                                             kept[i].name, NULL);

        g_test_add_data_func(same, &kept[i], test_kept_future);
        /* such drives refuse two of the other keys */
        if (!strstr(kept[i].overrides, "ftl.reclaim_planes")) {
            g_test_add_data_func(other, kept[i].overrides, test_other_keys);
        }
    }
    g_test_add_func("/image/other-class", test_other_class);
    g_test_add_func("/image/other-order", test_other_order);
    g_test_add_func("/image/writer", test_writer);
    g_test_add_func("/image/file-errors", test_file_errors);
    g_test_add_func("/image/only-files-are-replaced",
                    test_only_files_are_replaced);
    g_test_add_func("/image/not-at-rest", test_not_at_rest);
    g_test_add_func("/image/damage", test_damage);
    g_test_add_func("/image/odd-blocks", test_odd_blocks);
    g_test_add_func("/image/rebuild", test_rebuild);
    g_test_add_data_func("/image/rebuild-all", "", test_rebuild_all);
    g_test_add_data_func("/image/rebuild-all-packed", ",ftl.unit_bytes=2048",
                         test_rebuild_all);
    g_test_add_data_func("/image/rebuild-all-buffered",
                         ",controller.buffer_bytes=16384", test_rebuild_all);
    g_test_add_func("/image/rebuild-after-flush", test_rebuild_after_flush);
    g_test_add_func("/image/rebuild-after-fua", test_rebuild_after_fua);
    g_test_add_func("/image/rebuild-by-blocks", test_rebuild_by_blocks);
    return g_test_run();
}
