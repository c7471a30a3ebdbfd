/*
 * Scarp: a file of rows, each of the same length, behind a header
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "flash-rows.h"

#define FILE_BUFFER_BYTES (1024 * 1024)

typedef struct QEMU_PACKED {
    char magic[8];
    uint32_t row_bytes;
    uint32_t cause_count;
    uint64_t version;
    uint64_t reserved;
} Header;

struct FlashRows {
    const FlashRowsLayout *layout;
    FILE *file;
    char *buffer;
};

FlashRows *flash_rows_open(const char *path, const FlashRowsLayout *layout,
                           Error **errp)
{
    Header header = {
        .version = cpu_to_le64(layout->version),
        .row_bytes = cpu_to_le32(layout->row_bytes),
        .cause_count = cpu_to_le32(layout->cause_count),
    };
    FILE *file = fopen(path, "wbe");
    FlashRows *rows;

    if (!file) {
        error_setg_errno(errp, errno, "%s: cannot create '%s'",
                         layout->option, path);
        return NULL;
    }
    rows = g_new0(FlashRows, 1);
    rows->layout = layout;
    rows->file = file;
    rows->buffer = g_malloc(FILE_BUFFER_BYTES);
    setvbuf(file, rows->buffer, _IOFBF, FILE_BUFFER_BYTES);
    memcpy(header.magic, layout->magic, sizeof(header.magic));
    fwrite(&header, sizeof(header), 1, file);
    return rows;
}

void flash_rows_add(FlashRows *rows, const void *row)
{
    fwrite(row, rows->layout->row_bytes, 1, rows->file);
}

bool flash_rows_flush(FlashRows *rows, Error **errp)
{
    /* ferror() remembers whatever went wrong before */
    if (fflush(rows->file) || ferror(rows->file)) {
        error_setg(errp, "%s: could not be written completely",
                   rows->layout->option);
        return false;
    }
    return true;
}

void flash_rows_close(FlashRows *rows)
{
    fclose(rows->file);
    g_free(rows->buffer);
    g_free(rows);
}
