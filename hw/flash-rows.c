/*
 * Scarp: a file of rows, each of the same length, behind a header
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "flash-rows.h"

#define CHUNK_BYTES (64 * 1024)

typedef struct QEMU_PACKED {
    char magic[8];
    uint32_t row_bytes;
    uint32_t cause_count;
    uint64_t version;
    uint64_t reserved;
} Header;

typedef struct {
    size_t used;
    char bytes[CHUNK_BYTES];
} Chunk;

struct FlashRows {
    const FlashRowsLayout *layout;
    int fd;
    gint failed;
    Chunk *chunk;
    GThreadPool *writer; /* NULL: whoever adds a row writes */
    GAsyncQueue *spare;  /* chunks that have been written */
};

/* A page that was never touched is not there yet. */
static Chunk *chunk_new(void)
{
    Chunk *chunk = g_new(Chunk, 1);

    memset(chunk, 0, sizeof(*chunk));
    return chunk;
}

static void write_chunk(FlashRows *rows, Chunk *chunk)
{
    if (qemu_write_full(rows->fd, chunk->bytes, chunk->used) !=
        (ssize_t)chunk->used) {
        g_atomic_int_set(&rows->failed, true);
    }
    chunk->used = 0;
}

static void write_behind(void *chunk, void *opaque)
{
    FlashRows *rows = opaque;

    write_chunk(rows, chunk);
    g_async_queue_push(rows->spare, chunk);
}

FlashRows *flash_rows_open(const char *path, const FlashRowsLayout *layout,
                           bool behind, Error **errp)
{
    Header header = {
        .version = cpu_to_le64(layout->version),
        .row_bytes = cpu_to_le32(layout->row_bytes),
        .cause_count = cpu_to_le32(layout->cause_count),
    };
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FlashRows *rows;

    if (fd < 0) {
        error_setg_errno(errp, errno, "%s: cannot create '%s'",
                         layout->option, path);
        return NULL;
    }
    rows = g_new0(FlashRows, 1);
    rows->layout = layout;
    rows->fd = fd;
    rows->chunk = chunk_new();
    if (behind) {
        /* without a thread it is as before */
        rows->writer = g_thread_pool_new(write_behind, rows, 1, true, NULL);
        rows->spare = g_async_queue_new_full(g_free);
        g_async_queue_push(rows->spare, chunk_new());
    }
    memcpy(header.magic, layout->magic, sizeof(header.magic));
    memcpy(rows->chunk->bytes, &header, sizeof(header));
    rows->chunk->used = sizeof(header);
    return rows;
}

static void pass_on(FlashRows *rows)
{
    if (!rows->writer) {
        write_chunk(rows, rows->chunk);
        return;
    }
    g_thread_pool_push(rows->writer, rows->chunk, NULL);
    rows->chunk = g_async_queue_try_pop(rows->spare) ?: chunk_new();
}

void flash_rows_add(FlashRows *rows, const void *row)
{
    if (rows->chunk->used + rows->layout->row_bytes > CHUNK_BYTES) {
        pass_on(rows);
    }
    memcpy(rows->chunk->bytes + rows->chunk->used, row,
           rows->layout->row_bytes);
    rows->chunk->used += rows->layout->row_bytes;
}

static void end_writer(FlashRows *rows)
{
    if (rows->writer) {
        g_thread_pool_free(rows->writer, false, true);
        rows->writer = NULL;
    }
}

bool flash_rows_flush(FlashRows *rows, Error **errp)
{
    end_writer(rows);
    write_chunk(rows, rows->chunk);
    /* it remembers whatever went wrong before */
    if (g_atomic_int_get(&rows->failed)) {
        error_setg(errp, "%s: could not be written completely",
                   rows->layout->option);
        return false;
    }
    return true;
}

void flash_rows_close(FlashRows *rows)
{
    end_writer(rows);
    write_chunk(rows, rows->chunk);
    close(rows->fd);
    g_clear_pointer(&rows->spare, g_async_queue_unref);
    g_free(rows->chunk);
    g_free(rows);
}
