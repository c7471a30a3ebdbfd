/*
 * The file of an image: a head with a table of sections, then the sections
 * (named pieces, such as "state" and "valid"). The table has a digest of each
 * section.
 *
 * The digests are MD5 by GLib, which takes 25 ms for the tables of 16 GiB (0.7
 * GB/s), and needs no other library. They find damage; they do not prove who
 * wrote the file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "SCARPIMG";

static void head_digest(const ImageHead *head, const ImageSection *section,
                        uint8_t *digest)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
    uint32_t n = GUINT32_FROM_LE(head->n_sections);
    gsize length = IMAGE_DIGEST_BYTES;
    ImageHead blank = *head;

    memset(blank.digest, 0, sizeof(blank.digest));
    g_checksum_update(sum, (const guchar *)&blank, sizeof(blank));
    g_checksum_update(sum, (const guchar *)section, n * sizeof(*section));
    g_checksum_get_digest(sum, digest, &length);
}

/* ---- Writing ------------------------------------------------------------ */

bool image_create(ImageWriter *writer, const char *path, uint32_t n_sections,
                  GError **error)
{
    uint64_t head_bytes = sizeof(ImageHead) +
                          n_sections * sizeof(ImageSection);
    struct stat status;
    int fd;

    memset(writer, 0, sizeof(*writer));
    /*
     * If path is a symbolic link to a file, that file is replaced, not the
     * link.
     */
    writer->path = realpath(path, NULL);
    if (writer->path && (stat(path, &status) || !S_ISREG(status.st_mode))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "image=%s: is there, and is not a file: nothing but a file "
                    "is replaced", path);
        free(writer->path);
        return false;
    }
    if (!writer->path) {
        writer->path = strdup(path);
    }
    writer->temporary = g_strconcat(writer->path, ".XXXXXX", NULL);
    fd = g_mkstemp_full(writer->temporary, O_RDWR | O_CLOEXEC, 0666);
    writer->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!writer->file) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "image=%s: %s", path,
                    g_strerror(errno));
        g_free(writer->temporary);
        free(writer->path);
        return false;
    }
    writer->sum = g_checksum_new(G_CHECKSUM_MD5);
    writer->bytes = head_bytes;
    /*
     * image_commit() writes the head last, so an incomplete file is not an
     * image.
     */
    fseeko(writer->file, head_bytes, SEEK_SET);
    return true;
}

void image_begin(ImageWriter *writer, const char *name)
{
    ImageSection *section = &writer->section[writer->n_sections];

    strncpy(section->name, name, sizeof(section->name));
    g_checksum_reset(writer->sum);
}

void image_put(ImageWriter *writer, const void *bytes, size_t n)
{
    g_checksum_update(writer->sum, bytes, n);
    writer->section[writer->n_sections].bytes += n;
    writer->bytes += n;
    fwrite(bytes, 1, n, writer->file); /* image_commit() checks ferror() */
}

void image_end(ImageWriter *writer)
{
    ImageSection *section = &writer->section[writer->n_sections++];
    gsize length = IMAGE_DIGEST_BYTES;

    section->bytes = GUINT64_TO_LE(section->bytes);
    g_checksum_get_digest(writer->sum, section->digest, &length);
}

bool image_commit(ImageWriter *writer, GError **error)
{
    ImageHead head = {
        .version = GUINT32_TO_LE(IMAGE_VERSION),
        .n_sections = GUINT32_TO_LE(writer->n_sections),
        .file_bytes = GUINT64_TO_LE(writer->bytes),
    };
    bool ok;

    memcpy(head.magic, magic, sizeof(magic));
    head_digest(&head, writer->section, head.digest);
    ok = !fseeko(writer->file, 0, SEEK_SET) &&
         fwrite(&head, sizeof(head), 1, writer->file) == 1 &&
         fwrite(writer->section, sizeof(ImageSection), writer->n_sections,
                writer->file) == writer->n_sections &&
         !ferror(writer->file) && !fflush(writer->file) &&
         !fsync(fileno(writer->file));
    ok = !fclose(writer->file) && ok;
    ok = ok && !g_rename(writer->temporary, writer->path);
    if (!ok) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "image=%s: %s",
                    writer->path, g_strerror(errno));
        g_unlink(writer->temporary);
    }
    g_checksum_free(writer->sum);
    g_free(writer->temporary);
    free(writer->path);
    return ok;
}

/* ---- Reading ------------------------------------------------------------ */

bool image_fail(const ScarpImage *image, GError **error, const char *format,
                ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "image=%s: %s",
                image->path, text);
    return false;
}

static bool read_table(ScarpImage *image, const ImageHead *head,
                       uint64_t file_bytes, GError **error)
{
    uint8_t digest[IMAGE_DIGEST_BYTES];
    uint64_t sum;

    image->n_sections = GUINT32_FROM_LE(head->n_sections);
    sum = sizeof(*head) + image->n_sections * sizeof(ImageSection);
    if (image->n_sections > IMAGE_MAX_SECTIONS ||
        fread(image->section, sizeof(ImageSection), image->n_sections,
              image->file) != image->n_sections) {
        return image_fail(image, error, "damaged: its table of sections");
    }
    head_digest(head, image->section, digest);
    if (memcmp(digest, head->digest, sizeof(digest))) {
        return image_fail(image, error, "damaged: its head does not match its "
                          "checksum");
    }
    for (uint32_t i = 0; i < image->n_sections; i++) {
        uint64_t bytes = GUINT64_FROM_LE(image->section[i].bytes);

        if (bytes > file_bytes - sum) {
            return image_fail(image, error, "damaged: its sections are longer "
                              "than the file");
        }
        image->section[i].bytes = bytes;
        sum += bytes;
    }
    return sum == file_bytes ||
           image_fail(image, error, "damaged: its sections are shorter than "
                      "the file");
}

static bool read_head(ScarpImage *image, GError **error)
{
    struct stat status;
    ImageHead head;
    uint64_t said;

    if (fstat(fileno(image->file), &status) || !S_ISREG(status.st_mode)) {
        return image_fail(image, error, "not a file");
    }
    if (fread(&head, sizeof(head), 1, image->file) != 1 ||
        memcmp(head.magic, magic, sizeof(magic))) {
        return image_fail(image, error, "not a drive image");
    }
    if (GUINT32_FROM_LE(head.version) != IMAGE_VERSION) {
        return image_fail(image, error, "has version %u; this program reads "
                          "version %d", GUINT32_FROM_LE(head.version),
                          IMAGE_VERSION);
    }
    said = GUINT64_FROM_LE(head.file_bytes);
    if (said != (uint64_t)status.st_size) {
        return image_fail(image, error, "damaged: has %" G_GUINT64_FORMAT
                          " bytes, its head says %" G_GUINT64_FORMAT,
                          (uint64_t)status.st_size, said);
    }
    return read_table(image, &head, said, error);
}

ScarpImage *scarp_image_open(const char *path, GError **error)
{
    ScarpImage *image = g_new0(ScarpImage, 1);

    image->path = g_strdup(path);
    image->sum = g_checksum_new(G_CHECKSUM_MD5);
    image->file = fopen(path, "rbe");
    if (!image->file) {
        image_fail(image, error, "%s", g_strerror(errno));
    } else if (read_head(image, error)) {
        return image;
    }
    scarp_image_close(image);
    return NULL;
}

void scarp_image_close(ScarpImage *image)
{
    if (image) {
        if (image->file) {
            fclose(image->file);
        }
        g_checksum_free(image->sum);
        g_free(image->path);
        g_free(image);
    }
}

const ImageSection *image_find(const ScarpImage *image, const char *name)
{
    for (uint32_t i = 0; i < image->n_sections; i++) {
        if (!strncmp(image->section[i].name, name, sizeof(magic))) {
            return &image->section[i];
        }
    }
    return NULL;
}

bool image_read_begin(ScarpImage *image, const char *name, GError **error)
{
    const ImageSection *section = image_find(image, name);
    uint64_t at = sizeof(ImageHead) +
                  image->n_sections * sizeof(ImageSection);

    if (!section) {
        return image_fail(image, error, "damaged: has no section '%s'", name);
    }
    for (const ImageSection *s = image->section; s < section; s++) {
        at += s->bytes;
    }
    image->current = section;
    image->left = section->bytes;
    g_checksum_reset(image->sum);
    return !fseeko(image->file, at, SEEK_SET) ||
           image_fail(image, error, "%s", g_strerror(errno));
}

bool image_read(ScarpImage *image, void *to, size_t n, GError **error)
{
    if (n > image->left) {
        return image_fail(image, error, "damaged: a section is too short");
    }
    if (fread(to, 1, n, image->file) != n) {
        return image_fail(image, error, "%s", ferror(image->file)
                                                  ? g_strerror(errno)
                                                  : "shorter than it was");
    }
    g_checksum_update(image->sum, to, n);
    image->left -= n;
    return true;
}

bool image_read_end(ScarpImage *image, GError **error)
{
    uint8_t digest[IMAGE_DIGEST_BYTES];
    gsize length = sizeof(digest);

    if (image->left) {
        return image_fail(image, error, "damaged: a section is too long");
    }
    g_checksum_get_digest(image->sum, digest, &length);
    if (memcmp(digest, image->current->digest, sizeof(digest))) {
        return image_fail(image, error, "damaged: section '%.8s' does not "
                          "match its checksum", image->current->name);
    }
    return true;
}

uint8_t *image_read_all(ScarpImage *image, const char *name, size_t *n,
                        GError **error)
{
    g_autofree uint8_t *bytes = NULL;

    if (!image_read_begin(image, name, error)) {
        return NULL;
    }
    *n = image->left; /* never more than the size of the file */
    bytes = g_try_malloc(*n + 1);
    if (!bytes) {
        image_fail(image, error, "no memory for section '%s'", name);
        return NULL;
    }
    bytes[*n] = 0;
    return image_read(image, bytes, *n, error) && image_read_end(image, error)
               ? g_steal_pointer(&bytes) : NULL;
}
