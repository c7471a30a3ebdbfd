/*
 * Images as files: every section as it is, but one, with digests that are
 * right.  docs/images.md has the layout.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define HEAD_BYTES 40
#define ENTRY_BYTES 32
#define NAME_BYTES 8
#define DIGEST_BYTES 16
#define SECTIONS_AT 12
#define FILE_BYTES_AT 16
#define DIGEST_AT 24

/* 1 plane of 32 blocks of 16 pages: 512 units. */
#define DRIVE "geometry.channels=1,geometry.dies_per_chip=1," \
              "geometry.blocks_per_plane=32,geometry.page_bytes=512," \
              "ftl.recovery=1"
#define UNITS 512
#define UNIT 512

typedef struct {
    char name[NAME_BYTES + 1];
    GByteArray *bytes;
} Section;

static ScarpDrive *load(const char *scheme, const char *image, GError **error)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .overrides = DRIVE, .seed = 1, .store_data = true,
        .image_path = image,
    };

    return scarp_drive_new(&config, error);
}

/* Of a drive with data, deallocations, and policies that remember something. */
static char *saved(const char *scheme)
{
    g_autoptr(GError) error = NULL;
    char *path = NULL;
    Rig rig = { .drive = load(scheme, NULL, &error) };
    int fd = g_file_open_tmp("scarp-XXXXXX", &path, NULL);

    g_assert_no_error(error);
    close(fd);
    rig_age(&rig, 900);
    for (unsigned i = 0; i < 40; i++) {
        uint8_t data[UNIT] = { i + 1, i };
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, i * 7 % 30 * UNIT, UNIT);

        cmd.data = data;
        scarp_submit(rig.drive, &cmd, scarp_now_ns(rig.drive));
        rig_drain(&rig);
    }
    g_assert_true(scarp_save(rig.drive, path, &error));
    g_assert_no_error(error);
    scarp_drive_free(rig.drive);
    return path;
}

static void section_free(void *section)
{
    g_byte_array_free(((Section *)section)->bytes, true);
    g_free(section);
}

static GPtrArray *sections_of(const char *path)
{
    GPtrArray *sections = g_ptr_array_new_with_free_func(section_free);
    g_autofree char *file = NULL;
    uint32_t n;
    gsize at;

    g_assert_true(g_file_get_contents(path, &file, NULL, NULL));
    memcpy(&n, file + SECTIONS_AT, sizeof(n));
    n = GUINT32_FROM_LE(n);
    at = HEAD_BYTES + n * ENTRY_BYTES;
    for (uint32_t i = 0; i < n; i++) {
        const char *entry = file + HEAD_BYTES + i * ENTRY_BYTES;
        Section *section = g_new0(Section, 1);
        uint64_t bytes;

        memcpy(section->name, entry, NAME_BYTES);
        memcpy(&bytes, entry + NAME_BYTES, sizeof(bytes));
        section->bytes = g_byte_array_new();
        g_byte_array_append(section->bytes, (guint8 *)file + at,
                            GUINT64_FROM_LE(bytes));
        at += GUINT64_FROM_LE(bytes);
        g_ptr_array_add(sections, section);
    }
    return sections;
}

static Section *named(const GPtrArray *sections, const char *name)
{
    for (guint i = 0; i < sections->len; i++) {
        if (!strcmp(((Section *)sections->pdata[i])->name, name)) {
            return sections->pdata[i];
        }
    }
    g_assert_not_reached();
}

static void digest(const guint8 *bytes, gsize n, guint8 *to)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
    gsize length = DIGEST_BYTES;

    g_checksum_update(sum, bytes, n);
    g_checksum_get_digest(sum, to, &length);
}

/* more: that many bytes more, or less, than it has are said of the first. */
static void write_sections(const char *path, const char *head,
                           const GPtrArray *sections, int more)
{
    g_autoptr(GByteArray) file = g_byte_array_new();
    uint32_t n = GUINT32_TO_LE(sections->len);
    gsize table = HEAD_BYTES + sections->len * ENTRY_BYTES;
    uint64_t bytes;

    g_byte_array_append(file, (const guint8 *)head, HEAD_BYTES);
    memcpy(file->data + SECTIONS_AT, &n, sizeof(n));
    for (guint i = 0; i < sections->len; i++) {
        const Section *section = sections->pdata[i];
        guint8 entry[ENTRY_BYTES];

        bytes = GUINT64_TO_LE(section->bytes->len + (i ? 0 : more));
        memcpy(entry, section->name, NAME_BYTES);
        memcpy(entry + NAME_BYTES, &bytes, sizeof(bytes));
        digest(section->bytes->data, section->bytes->len,
               entry + NAME_BYTES + sizeof(bytes));
        g_byte_array_append(file, entry, sizeof(entry));
    }
    for (guint i = 0; i < sections->len; i++) {
        const Section *section = sections->pdata[i];

        g_byte_array_append(file, section->bytes->data, section->bytes->len);
    }
    bytes = GUINT64_TO_LE(file->len);
    memcpy(file->data + FILE_BYTES_AT, &bytes, sizeof(bytes));
    memset(file->data + DIGEST_AT, 0, DIGEST_BYTES);
    digest(file->data, table, file->data + DIGEST_AT);
    g_assert_true(g_file_set_contents(path, (char *)file->data, file->len,
                                      NULL));
}

typedef struct {
    char *path, *head;
    GPtrArray *sections;
    const char *scheme;
} Image;

static Image image_of(const char *scheme)
{
    Image image = { .path = saved(scheme), .scheme = scheme };

    g_assert_true(g_file_get_contents(image.path, &image.head, NULL, NULL));
    image.sections = sections_of(image.path);
    return image;
}

static void image_free(Image *image)
{
    g_unlink(image->path);
    g_free(image->path);
    g_free(image->head);
    g_ptr_array_free(image->sections, true);
}

/* says: NULL, or why it is refused. */
static void check(const Image *image, int more, const char *says)
{
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive;

    write_sections(image->path, image->head, image->sections, more);
    drive = load(image->scheme, image->path, &error);
    if (!says) {
        g_assert_no_error(error);
        g_assert_true(scarp_check(drive, &error));
        scarp_drive_free(drive);
        return;
    }
    g_assert_null(drive);
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_null(strchr(error->message, '\n'));
    if (!strstr(error->message, says)) {
        g_error("'%s' does not say '%s'", error->message, says);
    }
}

/* With other bytes in a section. */
static void check_with(const Image *image, const char *name, const void *bytes,
                       gsize n, const char *says)
{
    Section *section = named(image->sections, name);
    GByteArray *was = section->bytes;

    section->bytes = g_byte_array_new();
    g_byte_array_append(section->bytes, bytes, n);
    check(image, 0, says);
    g_byte_array_free(section->bytes, true);
    section->bytes = was;
}

/* ---- The file ----------------------------------------------------------- */

/* Written as it was read it is the same, byte by byte. */
static void test_same(void)
{
    Image image = image_of("baseline");
    g_autofree char *before = NULL, *after = NULL;
    gsize n, m;

    g_assert_true(g_file_get_contents(image.path, &before, &n, NULL));
    check(&image, 0, NULL);
    g_assert_true(g_file_get_contents(image.path, &after, &m, NULL));
    g_assert_cmpmem(before, n, after, m);
    image_free(&image);
}

static void test_table(void)
{
    Image image = image_of("baseline");

    check(&image, 1, "damaged: its sections are longer than the file");
    check(&image, -1, "damaged: its sections are shorter than the file");
    image_free(&image);
}

/* Each one that is missing, or is there under another name. */
static void test_missing(void)
{
    static const struct {
        const char *name, *says; /* NULL: it is not needed */
    } rows[] = {
        { "layout", "damaged: has no section 'layout'" },
        { "p2l", "damaged: section 'p2l' has 0 bytes, a drive of its layout "
                 "needs 2048" },
        { "valid", "damaged: section 'valid' has 0 bytes, a drive of its "
                   "layout needs 72" },
        { "version", "damaged: section 'version' has 0 bytes, a drive of its "
                     "layout needs 4096" },
        { "state", "damaged: has no section 'state'" },
        { "scheme", "damaged: has no section 'scheme'" },
        { "data", NULL }, /* all of it is zero, then */
        { "writer", NULL },
    };
    Image image = image_of("baseline");

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Section *section = named(image.sections, rows[i].name);

        section->name[0] ^= 1;
        check(&image, 0, rows[i].says);
        section->name[0] ^= 1;
    }
    image_free(&image);
}

/* ---- Its sections ------------------------------------------------------- */

/* Tables of another length; and what they cannot say. */
static void test_tables(void)
{
    static const char *const names[] = { "p2l", "valid", "version" };
    Image image = image_of("baseline");
    const GByteArray *valid = named(image.sections, "valid")->bytes;
    g_autofree guint8 *bytes = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const GByteArray *is = named(image.sections, names[i])->bytes;
        g_autofree guint8 *longer = g_malloc0(is->len + 8);
        g_autofree char *says = g_strdup_printf("damaged: section '%s' has ",
                                                names[i]);

        memcpy(longer, is->data, is->len);
        check_with(&image, names[i], longer, is->len + 8, says);
        check_with(&image, names[i], longer, is->len - 8, says);
        check_with(&image, names[i], longer, 0, says);
    }
    /* 512 bits are eight words; the ninth says something of no unit. */
    bytes = g_memdup2(valid->data, valid->len);
    bytes[UNITS / 8] = 1;
    check_with(&image, "valid", bytes, valid->len,
               "damaged: units beyond the last");
    image_free(&image);
}

static void test_layout(void)
{
    Image image = image_of("baseline");
    const GByteArray *layout = named(image.sections, "layout")->bytes;
    g_autofree char *text = g_strndup((char *)layout->data, layout->len);
    g_autofree char *more = g_strconcat(text, "ftl.magic=1\n", NULL);
    g_autofree char *odd = g_strconcat(text, "ftl\001=\n", NULL);
    char *last = g_strrstr_len(text, strlen(text) - 1, "\n");

    check_with(&image, "layout", more, strlen(more),
               "of another layout class: it has ftl.magic=1, the drive no "
               "more");
    check_with(&image, "layout", odd, strlen(odd), "it has ftl\\001=, the");
    check_with(&image, "layout", text, last + 1 - text,
               "of another layout class: it has no more, the drive ");
    check_with(&image, "layout", "", 0,
               "it has no more, the drive geometry.channels=1");
    image_free(&image);
}

/* Data of units: in the middle of one, of none, and twice. */
static void test_data(void)
{
    Image image = image_of("baseline");
    const GByteArray *data = named(image.sections, "data")->bytes;
    const gsize entry = 4 + UNIT;
    g_autofree guint8 *bytes = g_malloc0(data->len + entry);
    const GByteArray *valid = named(image.sections, "valid")->bytes;
    uint32_t beyond = GUINT32_TO_LE(UNITS), first, stale = 0;
    g_autofree char *says = NULL;

    g_assert_cmpuint(data->len % entry, ==, 0);
    g_assert_cmpuint(data->len / entry, ==, 30); /* distinct pages */
    memcpy(bytes, data->data, data->len);
    check_with(&image, "data", bytes, 0, NULL);
    check_with(&image, "data", bytes, data->len - entry, NULL);
    for (gsize cut = 1; cut < entry; cut += 51) {
        check_with(&image, "data", bytes, data->len - cut,
                   "damaged: a section is too short");
    }
    memcpy(bytes + data->len, bytes + data->len - entry, entry);
    check_with(&image, "data", bytes, data->len + entry,
               "damaged: data in unit ");
    memcpy(bytes + data->len, &beyond, sizeof(beyond));
    check_with(&image, "data", bytes, data->len + entry,
               "damaged: data in unit 512");
    /* One that is not valid, which lies before the first. */
    memcpy(&first, bytes, sizeof(first));
    while (valid->data[stale / 8] >> stale % 8 & 1) {
        stale++;
    }
    g_assert_cmpuint(stale, <, GUINT32_FROM_LE(first));
    beyond = GUINT32_TO_LE(stale);
    memcpy(bytes, &beyond, sizeof(beyond));
    says = g_strdup_printf("damaged: data in unit %u", stale);
    check_with(&image, "data", bytes, data->len, says);
    image_free(&image);
}

/* State is read value by value: any beginning of it lacks something. */
static void cut(const char *scheme, const char *name)
{
    Image image = image_of(scheme);
    const GByteArray *is = named(image.sections, name)->bytes;
    g_autofree guint8 *longer = g_malloc0(is->len + 1);
    g_autofree char *says = g_strdup_printf("damaged: section '%s': ", name);
    g_autofree char *more = g_strconcat(says, "has more than is needed", NULL);

    memcpy(longer, is->data, is->len);
    check_with(&image, name, longer, is->len + 1, more);
    for (gsize n = 0; n < is->len; n += MAX(is->len / 60, 1)) {
        check_with(&image, name, longer, n, says);
    }
    check_with(&image, name, longer, is->len - 1, says);
    image_free(&image);
}

static void test_state(void)
{
    cut("baseline", "state");
}

static void test_scheme(void)
{
    cut("baseline", "scheme");
    cut("anticipatory+pgc", "scheme");
}

/* A policy whose state is one byte shorter, or longer, than it reads. */
static void test_policy(void)
{
    Image image = image_of("anticipatory");
    const GByteArray *is = named(image.sections, "scheme")->bytes;
    g_autofree guint8 *bytes = g_malloc0(is->len + 1);
    g_autofree guint8 *at = NULL;
    guint8 *name, *state;
    uint32_t n_params, length, other;
    gsize head;

    memcpy(bytes, is->data, is->len);
    name = bytes;
    while (memcmp(name, "anticipatory", 13)) {
        name++;
        g_assert_true(name < bytes + is->len);
    }
    /* char[32], u32, u64 for each parameter, u32, then so many bytes */
    memcpy(&n_params, name + 32, sizeof(n_params));
    state = name + 36 + 8 * GUINT32_FROM_LE(n_params);
    memcpy(&length, state, sizeof(length));
    length = GUINT32_FROM_LE(length);
    g_assert_cmpuint(length, >, 8);
    head = state + 4 - bytes;
    at = g_memdup2(bytes, is->len + 1);

    other = GUINT32_TO_LE(length - 1);
    memcpy(at + (state - bytes), &other, sizeof(other));
    memmove(at + head + length - 1, at + head + length,
            is->len - head - length);
    check_with(&image, "scheme", at, is->len - 1,
               "damaged: section 'scheme': anticipatory: ");

    memcpy(at, bytes, head + length);
    other = GUINT32_TO_LE(length + 1);
    memcpy(at + (state - bytes), &other, sizeof(other));
    at[head + length] = 0;
    memcpy(at + head + length + 1, bytes + head + length,
           is->len - head - length);
    check_with(&image, "scheme", at, is->len + 1,
               "damaged: section 'scheme': anticipatory: its state is too "
               "long");

    /* Of another name, or with another parameter, it is nobody's. */
    memcpy(at, bytes, is->len);
    at[name - bytes] = 'x';
    check_with(&image, "scheme", at, is->len, NULL);
    memcpy(at, bytes, is->len);
    at[name - bytes + 36] ^= 1;
    check_with(&image, "scheme", at, is->len, NULL);
    /* A name without an end, and a state that is longer than the file. */
    memcpy(at, bytes, is->len);
    at[name - bytes + 31] = 'x';
    check_with(&image, "scheme", at, is->len, "a policy's name is 120");
    memcpy(at, bytes, is->len);
    at[state - bytes + 3] = 0xff;
    check_with(&image, "scheme", at, is->len, "a state's length is ");
    image_free(&image);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/image-file/same", test_same);
    g_test_add_func("/image-file/table", test_table);
    g_test_add_func("/image-file/missing", test_missing);
    g_test_add_func("/image-file/tables", test_tables);
    g_test_add_func("/image-file/layout", test_layout);
    g_test_add_func("/image-file/data", test_data);
    g_test_add_func("/image-file/state", test_state);
    g_test_add_func("/image-file/scheme", test_scheme);
    g_test_add_func("/image-file/policy", test_policy);
    return g_test_run();
}
