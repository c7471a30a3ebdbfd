/*
 * Drive images: the file, and what is in it; docs/images.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_IMAGE_INTERNAL_H
#define SCARP_IMAGE_INTERNAL_H

#include "image/ops.h"

#include <stdio.h>

enum { IMAGE_VERSION = 1, IMAGE_MAX_SECTIONS = 16, IMAGE_DIGEST_BYTES = 16 };

typedef struct {
    char name[8]; /* filled up with NUL */
    uint64_t bytes;
    uint8_t digest[IMAGE_DIGEST_BYTES]; /* MD5 of the section */
} ImageSection;

/* The file's first bytes; its numbers are little endian. */
typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t n_sections;
    uint64_t file_bytes;
    uint8_t digest[IMAGE_DIGEST_BYTES]; /* of head and table; this: zero */
} ImageHead;

/* ---- file.c ------------------------------------------------------------ */

typedef struct {
    char *path; /* of malloc() */
    char *temporary;
    FILE *file;
    GChecksum *sum;
    uint64_t bytes;
    uint32_t n_sections;
    ImageSection section[IMAGE_MAX_SECTIONS];
} ImageWriter;

/* Sections come in order: begin, put as often as needed, end. */
bool image_create(ImageWriter *writer, const char *path, uint32_t n_sections,
                  GError **error);
void image_begin(ImageWriter *writer, const char *name);
void image_put(ImageWriter *writer, const void *bytes, size_t n);
void image_end(ImageWriter *writer);
/*
 * Ends the file and gives it its name: what had the name before is replaced
 * as a whole, or, when anything failed, not touched.
 */
bool image_commit(ImageWriter *writer, GError **error);

struct ScarpImage {
    char *path;
    FILE *file;
    GChecksum *sum;
    const ImageSection *current; /* that is read */
    uint64_t left;               /* of it */
    uint32_t n_sections;
    ImageSection section[IMAGE_MAX_SECTIONS];
};

/* NULL for a section that the file does not have. */
const ImageSection *image_find(const ScarpImage *image, const char *name);
bool image_read_begin(ScarpImage *image, const char *name, GError **error);
bool image_read(ScarpImage *image, void *to, size_t n, GError **error);
/* False when what was read is not what was written. */
bool image_read_end(ScarpImage *image, GError **error);
/* A whole section, with a NUL behind it. */
uint8_t *image_read_all(ScarpImage *image, const char *name, size_t *n,
                        GError **error);
bool image_fail(const ScarpImage *image, GError **error, const char *format,
                ...) G_GNUC_PRINTF(3, 4);

/* ---- pages.c: nand.power_cuts ------------------------------------------ */

void image_put_pages(ImageWriter *writer, ScarpDrive *drive);
/* Spare areas are known; which pages are written is compared later. */
bool image_read_pages(ScarpImage *image, ScarpDrive *drive, GError **error);
bool image_check_pages(ScarpImage *image, ScarpDrive *drive, GError **error);

/* ---- state.c ----------------------------------------------------------- */

void image_visit_state(ScarpDrive *drive, ScarpVisit *visit);
void image_visit_scheme(ScarpDrive *drive, ScarpVisit *visit);
/* What a drive must have in common with an image that it starts from. */
char *image_layout_text(const ScarpDrive *drive);

#endif /* SCARP_IMAGE_INTERNAL_H */
