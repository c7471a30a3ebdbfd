/*
 * Scarp: a file of rows, each of the same length, behind a header
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_ROWS_H
#define SCARP_FLASH_ROWS_H

typedef struct FlashRows FlashRows;

typedef struct {
    const char *option; /* the file's option, for messages */
    const char *magic;  /* 8 characters */
    uint64_t version;
    uint32_t row_bytes;
    uint32_t cause_count;
} FlashRowsLayout;

/*
 * Opens a file. The layout has to outlive the file. behind: until the first
 * flush a thread writes, so that adding a row does not wait for the file.
 */
FlashRows *flash_rows_open(const char *path, const FlashRowsLayout *layout,
                           bool behind, Error **errp);
/* Adds a row; flash_rows_flush() reports errors. */
void flash_rows_add(FlashRows *rows, const void *row);
/* Writes out what is buffered; false and *errp set if something was lost. */
bool flash_rows_flush(FlashRows *rows, Error **errp);
void flash_rows_close(FlashRows *rows);

#endif /* SCARP_FLASH_ROWS_H */
