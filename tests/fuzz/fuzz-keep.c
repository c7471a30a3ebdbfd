/*
 * libFuzzer: any bytes as the cache that a server kept: refused in a line, or
 * one whose every mark names a page of the array, one of them twice at most,
 * with contents.
 *
 * The first byte says from which size on the file is cut; then come edits of
 * three bytes each, of the head and of the marks: where, how, and with what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fuzz.h"
#include "uring/keep.h"

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFERS 24u
#define PAGES 200u
#define PAGE 512u
#define HEAD 4096u
#define HEADER (8 + 16 + 16 + sizeof(KeepRun))
#define EDITED (HEADER + 8 * BUFFERS) /* what has a meaning */

static const ArrayLabel label = { .array = { 7, 1, 8 }, .page_bytes = PAGE };
static const KeepRun run_three = { 3, 33, 32 };
static const ArrayRuns runs = { 4, 3, 33 };

/* As it is left behind: of run 3, with some of its buffers marked. */
static GBytes *make(void)
{
    g_autofree char *folder = g_dir_make_tmp("fuzz-keep-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "keep", NULL);
    char error[ARRAY_ERROR_BYTES] = "";
    char *bytes;
    gsize n;
    Keep keep;

    g_assert_true(keep_make(&keep, path, &label, &run_three, BUFFERS, error));
    for (unsigned i = 0; i < BUFFERS; i += 2) {
        keep.marks[i] = 1 + i * 7;
        memset((char *)keep.memory + i * PAGE, i, PAGE);
    }
    g_assert_true(keep_take_over(&keep, path, error));
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    keep_end(&keep, path, true);
    rmdir(folder);
    return g_bytes_new_take(bytes, n);
}

static size_t edit(uint8_t *bytes, size_t n, const uint8_t *data, size_t size)
{
    if (size && *data < 128) {
        /* At any byte: of what is first, or of all. */
        n = *data < 64 ? n - *data * (n / 64) : (*data - 64) * HEAD / 60;
    }
    for (size_t at = 1; at + 3 <= size; at += 3) {
        size_t where = data[at] % EDITED;

        where = where < HEADER ? where : HEAD + where - HEADER;
        if (where >= n) {
            continue;
        }
        switch (data[at + 1] % 3) {
        case 0:
            bytes[where] = data[at + 2];
            break;
        case 1:
            bytes[where] ^= 1 << data[at + 2] % 8;
            break;
        default: /* from here on, as it is elsewhere */
            memmove(bytes + where, bytes + data[at + 2] % (n - where),
                    MIN(8, n - where));
            break;
        }
    }
    return n;
}

static void use(const Keep *keep)
{
    bool seen[PAGES] = { false };
    unsigned sum = 0, twice = 0;

    for (uint64_t i = 0; i < keep->buffers; i++) {
        if (!keep->marks[i]) {
            continue;
        }
        g_assert_cmpuint(keep->marks[i], <=, PAGES);
        twice += seen[keep->marks[i] - 1];
        seen[keep->marks[i] - 1] = true;
        for (size_t k = 0; k < PAGE; k++) {
            sum += ((uint8_t *)keep->memory)[i * PAGE + k];
        }
    }
    g_assert_cmpuint(sum, <, UINT32_MAX);
    g_assert_cmpuint(twice, <=, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static GBytes *made;
    static uint8_t bytes[65536];
    static int fd = -1;
    char error[ARRAY_ERROR_BYTES] = "", path[32];
    Keep keep = { 0 };
    size_t n;

    if (!made) {
        made = make();
        fd = memfd_create("keep", MFD_CLOEXEC);
    }
    n = g_bytes_get_size(made);
    g_assert_cmpuint(n, <=, sizeof(bytes));
    memcpy(bytes, g_bytes_get_data(made, NULL), n);
    n = edit(bytes, n, data, size);
    if (ftruncate(fd, n) || pwrite(fd, bytes, n, 0) != (ssize_t)n) {
        g_error("no memory");
    }
    g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (!keep_open(&keep, path, &label, &runs, PAGES, size % 2, error)) {
        g_assert_true(*error && !strchr(error, '\n') && !keep.base);
    } else if (keep.base) {
        use(&keep);
        keep_close(&keep);
    }
    return 0;
}
