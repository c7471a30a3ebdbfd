/*
 * The contents that scarp-files writes: each word follows from its place, its
 * file and its version, so that a misplaced or torn word is found.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FILES_H
#define SCARP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WORKERS = 3,         /* processes; each has a folder w0, w1, … */
    FILES = 12,          /* files of a folder: f0, f1, … */
    BLOCKS = 32,         /* blocks of the files "blocks" and "direct" */
    BLOCK_BYTES = 4096,
    SECTOR_BYTES = 512,
    RECORD_BYTES = 256,  /* length of a record of the log */
    FILE_BYTES = 65536,  /* the longest file */
};

/*
 * Returns the 64-bit word number `at` of the contents that this tag and version
 * have.
 */
static inline uint64_t files_word(uint64_t tag, uint64_t version, uint64_t at)
{
    uint64_t x = tag * 0x9e3779b97f4a7c15ull ^ version << 24 ^ at;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Fills n bytes with contents. Their first word is the version. */
static inline void files_fill(void *bytes, size_t n, uint64_t tag,
                              uint64_t version)
{
    uint64_t *word = bytes;

    for (size_t i = 0; i < n / sizeof(*word); i++) {
        word[i] = i ? files_word(tag, version, i) : version;
    }
}

/* True when the n bytes are contents of one version; sets *version to it. */
static inline bool files_read(const void *bytes, size_t n, uint64_t tag,
                              uint64_t *version)
{
    const uint64_t *word = bytes;

    if (n < sizeof(*word) || n % sizeof(*word)) {
        return false;
    }
    *version = word[0];
    for (size_t i = 1; i < n / sizeof(*word); i++) {
        if (word[i] != files_word(tag, *version, i)) {
            return false;
        }
    }
    return true;
}

/* Returns the tag of a worker's file, block or record. */
static inline uint64_t files_tag(unsigned worker, char kind, unsigned number)
{
    return (uint64_t)worker << 40 | (uint64_t)(unsigned char)kind << 32 | number;
}

int files_work(const char *folder, unsigned operations, unsigned seed);
int files_check(const char *folder, const char *promises);

#endif /* SCARP_FILES_H */
