/*
 * Scarp: a file of rows, each of the same length, behind a header
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
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

typedef struct Chunk Chunk;

struct Chunk {
    QSIMPLEQ_ENTRY(Chunk) next;
    size_t used;
    char bytes[CHUNK_BYTES];
};

struct FlashRows {
    const FlashRowsLayout *layout;
    int fd;
    Chunk *chunk; /* the chunk for the next row */
    bool failed;
    bool behind; /* a thread, `writer`, writes the full chunks */
    QemuThread writer;
    QemuMutex lock; /* protects the members below */
    QemuCond changed;
    QSIMPLEQ_HEAD(, Chunk) full, spare;
    bool ending;
};

/*
 * Returns a new chunk. The host allocates memory when a page is first touched,
 * so the chunk is touched here and not when a row is added.
 */
static Chunk *chunk_new(void)
{
    Chunk *chunk = g_new(Chunk, 1);

    memset(chunk, 0, sizeof(*chunk));
    return chunk;
}

static bool write_chunk(FlashRows *rows, Chunk *chunk)
{
    size_t used = chunk->used;

    chunk->used = 0;
    return qemu_write_full(rows->fd, chunk->bytes, used) == (ssize_t)used;
}

static void *write_behind(void *opaque)
{
    FlashRows *rows = opaque;
    Chunk *chunk;
    bool written;

    qemu_mutex_lock(&rows->lock);
    while ((chunk = QSIMPLEQ_FIRST(&rows->full)) || !rows->ending) {
        if (!chunk) {
            qemu_cond_wait(&rows->changed, &rows->lock);
            continue;
        }
        QSIMPLEQ_REMOVE_HEAD(&rows->full, next);
        qemu_mutex_unlock(&rows->lock);
        written = write_chunk(rows, chunk);
        qemu_mutex_lock(&rows->lock);
        rows->failed |= !written;
        QSIMPLEQ_INSERT_HEAD(&rows->spare, chunk, next);
    }
    qemu_mutex_unlock(&rows->lock);
    return NULL;
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
    Chunk *spare;

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
        rows->behind = true;
        QSIMPLEQ_INIT(&rows->full);
        QSIMPLEQ_INIT(&rows->spare);
        /*
         * the macro QSIMPLEQ_INSERT_HEAD() would evaluate chunk_new() three
         * times
         */
        spare = chunk_new();
        QSIMPLEQ_INSERT_HEAD(&rows->spare, spare, next);
        qemu_mutex_init(&rows->lock);
        qemu_cond_init(&rows->changed);
        qemu_thread_create(&rows->writer, "nvme-flash-log", write_behind, rows,
                           QEMU_THREAD_JOINABLE);
    }
    memcpy(header.magic, layout->magic, sizeof(header.magic));
    memcpy(rows->chunk->bytes, &header, sizeof(header));
    rows->chunk->used = sizeof(header);
    return rows;
}

static void pass_on(FlashRows *rows)
{
    Chunk *chunk;

    if (!rows->behind) {
        rows->failed |= !write_chunk(rows, rows->chunk);
        return;
    }
    qemu_mutex_lock(&rows->lock);
    QSIMPLEQ_INSERT_TAIL(&rows->full, rows->chunk, next);
    chunk = QSIMPLEQ_FIRST(&rows->spare);
    if (chunk) {
        QSIMPLEQ_REMOVE_HEAD(&rows->spare, next);
    }
    qemu_cond_signal(&rows->changed);
    qemu_mutex_unlock(&rows->lock);
    rows->chunk = chunk ?: chunk_new();
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
    Chunk *chunk;

    if (!rows->behind) {
        return;
    }
    qemu_mutex_lock(&rows->lock);
    rows->ending = true;
    qemu_cond_signal(&rows->changed);
    qemu_mutex_unlock(&rows->lock);
    qemu_thread_join(&rows->writer);
    qemu_cond_destroy(&rows->changed);
    qemu_mutex_destroy(&rows->lock);
    rows->behind = false;
    while ((chunk = QSIMPLEQ_FIRST(&rows->spare))) {
        QSIMPLEQ_REMOVE_HEAD(&rows->spare, next);
        g_free(chunk);
    }
}

bool flash_rows_flush(FlashRows *rows, Error **errp)
{
    end_writer(rows);
    rows->failed |= !write_chunk(rows, rows->chunk);
    if (rows->failed) {
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
    g_free(rows->chunk);
    g_free(rows);
}
