/*
 * libFuzzer: drives of an array whose labels and runs say anything, also with
 * the right sums: refused in a line, or an array whose keys go together.
 *
 * The first byte is how many drives there are, and whether labels are changed
 * before or after their sum is made; then come edits of four bytes each: of
 * which drive, where (16 bits), and what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fuzz.h"
#include "label.h"

#include <glib.h>
#include <string.h>

#define MOST 4u
#define STRUCTS (sizeof(ArrayLabel) + sizeof(ArrayRun))

static const ArrayLabel good = {
    .array = { 7, 1, 8 }, .drive_bytes = (1 << 20) + 64 * 65536,
    .data_offset_bytes = ARRAY_DATA_OFFSET, .page_bytes = 4096,
    .stripe_bytes = 65536,
};

static void check_error(const char *error)
{
    g_assert_true(*error && !strchr(error, '\n'));
}

static void issue(void *opaque, ArrayIo *io)
{
    (void)opaque, (void)io;
}

static void done(void *opaque, ArrayRequest *request)
{
    (void)opaque, (void)request;
}

/* What a server does with labels that are those of an array. */
static void use(const ArrayLabel *label, const uint64_t *sizes, uint32_t n)
{
    static const ArrayOps ops = { issue, done };
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayConfig config;
    Array *array;

    array_config_init(&config);
    config.n_drives = n;
    config.drive_bytes = sizes;
    config.data_offset_bytes = label->data_offset_bytes;
    config.page_bytes = label->page_bytes;
    config.stripe_bytes = label->stripe_bytes;
    config.cache_bytes = config.page_bytes * config.set_pages;
    g_assert_true(array_key_allows("page_bytes", config.page_bytes));
    g_assert_true(array_key_allows("stripe_bytes", config.stripe_bytes));
    if (!array_config_check(&config, error)) {
        return;
    }
    array = array_new(&config, &ops, NULL, error);
    if (!array) {
        check_error(error);
        return;
    }
    g_assert_cmpuint(array_bytes(array), <=, n * sizes[0]);
    g_assert_cmpuint(array_bytes(array), >, 0);
    array_free(array);
}

/* Through their blocks, which raw edits change behind the sums' back. */
static bool pass(ArrayLabel *label, ArrayRun *run, uint32_t drive, uint32_t n,
                 const uint8_t *raw, size_t size)
{
    static unsigned char blocks[2][ARRAY_LABEL_BYTES];
    char error[ARRAY_ERROR_BYTES] = "";

    array_label_encode(label, blocks[0]);
    array_run_encode(run, blocks[1]);
    for (; size >= 4; raw += 4, size -= 4) {
        size_t where = raw[1] + (raw[2] << 8);

        if (raw[0] % n == drive) {
            blocks[where / ARRAY_LABEL_BYTES % 2][where % ARRAY_LABEL_BYTES] ^=
                raw[3];
        }
    }
    if (array_label_decode(blocks[0], label, error) != ARRAY_LABEL_GOOD) {
        check_error(error);
        return false;
    }
    if (array_run_decode(blocks[1], run) != ARRAY_LABEL_GOOD) {
        memset(run, 0, sizeof(*run));
    }
    return true;
}

static void check(const ArrayLabel *labels, const ArrayRun *runs, uint32_t n)
{
    char error[ARRAY_ERROR_BYTES] = "";
    uint64_t sizes[MOST];
    ArrayRuns last;
    uint32_t order[MOST];

    for (uint32_t i = 0; i < n; i++) {
        sizes[i] = good.drive_bytes;
    }
    if (!array_label_set(labels, sizes, n, order, error)) {
        check_error(error);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpuint(order[i], <, n);
        g_assert_cmpuint(labels[order[i]].index, ==, i);
    }
    if (!array_run_set(runs, n, &last, error)) {
        check_error(error);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpuint(runs[i].state / 2, <=, last.heard);
        g_assert_cmpuint(runs[i].state / 2, >=, last.served);
    }
    use(&labels[0], sizes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t n = size ? 1 + *data % MOST : 1;
    bool sums_right = size && *data & 128;
    ArrayLabel labels[MOST];
    ArrayRun runs[MOST];
    bool edited[MOST] = { false };

    for (uint32_t i = 0; i < n; i++) {
        labels[i] = good;
        labels[i].n_drives = n;
        labels[i].index = (i + 1) % n;
        runs[i] = (ArrayRun) { .array = { 7, 1, 8 }, .state = 8, .served = 3 };
    }
    for (size_t at = 1; at + 4 <= size; at += 4) {
        uint32_t drive = data[at] % n;
        size_t where = (data[at + 1] + (data[at + 2] << 8)) % STRUCTS;

        edited[drive] = true;
        if (!sums_right) {
            continue;
        }
        if (where < sizeof(ArrayLabel)) {
            ((uint8_t *)&labels[drive])[where] = data[at + 3];
        } else {
            ((uint8_t *)&runs[drive])[where - sizeof(ArrayLabel)] =
                data[at + 3];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t raw = sums_right || size < 1 ? 0 : size - 1;

        if (edited[i] &&
            !pass(&labels[i], &runs[i], i, n, data + 1, raw)) {
            return 0;
        }
    }
    check(labels, runs, n);
    return 0;
}
