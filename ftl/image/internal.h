/*
 * Functions that the sources of image share. docs/images.md describes the file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_IMAGE_INTERNAL_H
#define SCARP_IMAGE_INTERNAL_H

#include "image/ops.h"

#include <stdio.h>

enum { IMAGE_VERSION = 1, IMAGE_MAX_SECTIONS = 16, IMAGE_DIGEST_BYTES = 16 };

typedef struct {
    char name[8]; /* padded with NUL */
    uint64_t bytes;
    uint8_t digest[IMAGE_DIGEST_BYTES]; /* MD5 of the section's bytes */
} ImageSection;

/* The first bytes of the file. Numbers are little endian. */
typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t n_sections;
    uint64_t file_bytes;
    /* MD5 of the head, with zeroes here, and of the table */
    uint8_t digest[IMAGE_DIGEST_BYTES];
} ImageHead;

/* ---- file.c ------------------------------------------------------------ */

typedef struct {
    char *path; /* allocated by malloc() */
    char *temporary;
    FILE *file;
    GChecksum *sum;
    uint64_t bytes;
    uint32_t n_sections;
    ImageSection section[IMAGE_MAX_SECTIONS];
} ImageWriter;

/*
 * Functions for writing. image_create() begins a file of n_sections sections.
 * Each section is written by image_begin(), any number of calls of image_put(),
 * and image_end().
 */
bool image_create(ImageWriter *writer, const char *path, uint32_t n_sections,
                  GError **error);
void image_begin(ImageWriter *writer, const char *name);
void image_put(ImageWriter *writer, const void *bytes, size_t n);
void image_end(ImageWriter *writer);
/*
 * Completes the file and renames it to its path. An older file of that path is
 * replaced as a whole. If anything failed, the older file stays as it was.
 */
bool image_commit(ImageWriter *writer, GError **error);

struct ScarpImage {
    char *path;
    FILE *file;
    GChecksum *sum;
    const ImageSection *current; /* the section that is being read */
    uint64_t left;               /* bytes of `current` that were not read yet */
    uint32_t n_sections;
    ImageSection section[IMAGE_MAX_SECTIONS];
};

/*
 * Returns the entry of the section `name`. NULL: the file has no such section.
 */
const ImageSection *image_find(const ScarpImage *image, const char *name);
bool image_read_begin(ScarpImage *image, const char *name, GError **error);
bool image_read(ScarpImage *image, void *to, size_t n, GError **error);
/*
 * Ends reading a section. Returns false if its bytes do not match its digest.
 */
bool image_read_end(ScarpImage *image, GError **error);
/*
 * Returns a whole section with a NUL behind it. The caller frees it with
 * g_free().
 */
uint8_t *image_read_all(ScarpImage *image, const char *name, size_t *n,
                        GError **error);
bool image_fail(const ScarpImage *image, GError **error, const char *format,
                ...) G_GNUC_PRINTF(3, 4);

/* ---- pages.c: nand.power_cuts ------------------------------------------ */

void image_put_pages(ImageWriter *writer, ScarpDrive *drive);
/*
 * image_read_pages() reads the states of pages (erased, programmed, torn) after
 * the LPNs. image_check_pages() is called when the blocks have been loaded. It
 * compares the states with the number of written pages of each block, and
 * checks that each unit is in a page that may have it.
 */
bool image_read_pages(ScarpImage *image, ScarpDrive *drive, GError **error);
bool image_check_pages(ScarpImage *image, ScarpDrive *drive, GError **error);

/* ---- state.c ----------------------------------------------------------- */

void image_visit_state(ScarpDrive *drive, ScarpVisit *visit);
void image_visit_scheme(ScarpDrive *drive, ScarpVisit *visit);
/*
 * Saves or loads the next block of a list, and returns it. A loaded block must
 * be of the plane, and must have the state that belongs to the list. It must
 * not be in the list yet: seen[block] has no `mark` before this call, and has
 * it afterwards.
 */
uint32_t image_visit_member(ScarpDrive *drive, uint32_t plane, uint32_t block,
                            ScarpBlockState state, uint8_t *seen, uint8_t mark,
                            ScarpVisit *visit);
/* A list of blocks of one plane, all in the same state and mode. */
typedef struct {
    const char *name;   /* what the list's length is called in messages */
    uint32_t least, most;
    ScarpBlockState state;
    ScarpCellMode mode;
    uint8_t mark;       /* in seen[] */
    uint32_t n, first;  /* length and first block; of a drive that is saved */
    uint32_t (*next)(const ScarpDrive *drive, uint32_t block);
    void (*add)(ScarpDrive *drive, uint32_t block);
} ImageList;
/* Saves or loads a whole list. Loaded blocks are added in the list's order. */
void image_visit_list(ScarpDrive *drive, uint32_t plane, const ImageList *list,
                      uint8_t *seen, ScarpVisit *visit);
/*
 * Saves or loads the order of n full blocks, or full reclaim units, in GC's
 * buckets. A bucket has those with equally many valid units.
 */
void image_visit_buckets(ScarpDrive *drive, uint32_t plane, uint32_t n,
                         uint8_t *seen, uint8_t mark, ScarpVisit *visit);
/*
 * Saves or loads the open block of a write point, and returns it, or SCARP_NONE
 * if there is none.
 */
uint32_t image_visit_open(ScarpDrive *drive, uint32_t plane, uint32_t block,
                          uint8_t *seen, uint8_t mark, ScarpVisit *visit);
/*
 * Returns, as text, the keys of a drive's description that decide whether an
 * image fits: the drive can start from an image only if its text equals the
 * image's. cached: the image has an SLC cache.
 */
char *image_layout_text(const ScarpDrive *drive, bool cached);

/* ---- units.c: drives with reclaim units of several planes -------------- */

/*
 * Adds to the layout text what a drive with reclaim units of several planes
 * must have in common with its image.
 */
void image_add_units_class(const ScarpDescription *d, GString *text);
/*
 * Visits the reclaim units, after the blocks and the planes' free lists. Each
 * block of a unit gets the marks that state.c expects.
 */
void image_visit_units(ScarpDrive *drive, uint8_t *seen, ScarpVisit *visit);

/* ---- cache.c: drives with an SLC cache --------------------------------- */

/* True when the image is of a drive with an SLC cache. */
bool image_has_cache(const ScarpImage *image);
/* Visits the mode of each block, which image_visit_state() needs. */
void image_visit_modes(ScarpDrive *drive, ScarpVisit *visit);
/*
 * Visits the erases in SLC mode, which images of drives with
 * slc.endurance_erases have.
 */
void image_visit_wear(ScarpDrive *drive, ScarpVisit *visit);
/* Visits the rest of the cache, after the blocks have been loaded. */
void image_visit_cache(ScarpDrive *drive, ScarpVisit *visit);

#endif /* SCARP_IMAGE_INTERNAL_H */
