/*
 * Scarp: a file of rows, each of the same length, behind a header
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_ROWS_H
#define SCARP_FLASH_ROWS_H

typedef struct FlashRows FlashRows;

typedef struct {
    const char *option; /* name of the file's property, for messages */
    const char *magic;  /* 8 characters */
    uint64_t version;
    uint32_t row_bytes;
    uint32_t cause_count;
} FlashRowsLayout;

/*
 * Opens a file of rows at `path`. The layout has to outlive the file. With
 * `behind`, a thread writes the rows until the first flush, so that
 * flash_rows_add() does not wait for the file. Returns NULL, with *errp set, if
 * the file cannot be made.
 */
FlashRows *flash_rows_open(const char *path, const FlashRowsLayout *layout,
                           bool behind, Error **errp);
/* Adds a row. Errors are reported by flash_rows_flush(). */
void flash_rows_add(FlashRows *rows, const void *row);
/*
 * Writes buffered rows to the file. Returns false, with *errp set, if rows were
 * lost.
 */
bool flash_rows_flush(FlashRows *rows, Error **errp);
/*
 * Writes buffered rows, and frees `rows`. Errors are not reported, so a caller
 * that wants them calls flash_rows_flush() first.
 */
void flash_rows_close(FlashRows *rows);

#endif /* SCARP_FLASH_ROWS_H */
