/*
 * Labels on an array's drives: writing, reading, and updating them in each run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static bool failed(char *error, const char *path, const char *what)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%.100s: %s: %s", path, what,
             strerror(errno));
    return false;
}

static bool read_label(int fd, const char *path, unsigned char *buffer,
                       ArrayLabel *label, ArrayLabelState *state, char *error)
{
    char why[ARRAY_ERROR_BYTES];
    ssize_t n = pread(fd, buffer, ARRAY_LABEL_BYTES, 0);

    if (n < 0) {
        return failed(error, path, "cannot be read");
    }
    if (n != ARRAY_LABEL_BYTES) {
        snprintf(error, ARRAY_ERROR_BYTES, "%.100s: too small", path);
        return false;
    }
    *state = array_label_decode(buffer, label, why);
    if (*state != ARRAY_LABEL_GOOD) {
        snprintf(error, ARRAY_ERROR_BYTES, "%.100s: %.120s", path, why);
    }
    return true;
}

static bool may_format(const ArrayDrives *drives, const char *const *paths,
                       unsigned char *buffer, bool force, char *error)
{
    for (uint32_t i = 0; i < drives->n; i++) {
        ArrayLabelState state;
        ArrayLabel label;

        if (!read_label(drives->fd[i], paths[i], buffer, &label, &state,
                        error)) {
            return false;
        }
        if (state != ARRAY_LABEL_NONE && !force) {
            snprintf(error, ARRAY_ERROR_BYTES, "%.100s: belongs to an array; "
                     "--force makes a new one", paths[i]);
            return false;
        }
    }
    return true;
}

/* Writes a block to the drive, and flushes it. False, and errno is set. */
static bool write_block(int fd, const unsigned char *buffer, uint64_t offset)
{
    ssize_t n = pwrite(fd, buffer, ARRAY_LABEL_BYTES, offset);

    if (n >= 0 && n != ARRAY_LABEL_BYTES) {
        errno = EIO;
    }
    return n == ARRAY_LABEL_BYTES && !fsync(fd);
}

/*
 * Writes the labels of a new array. First it erases the runs of an older array,
 * as they would count as the new array's.
 */
static bool write_labels(const ArrayDrives *drives, const char *const *paths,
                         unsigned char *buffer, ArrayLabel *label, char *error)
{
    for (uint32_t i = 0; i < drives->n; i++) {
        int fd = drives->fd[i];
        bool good = true;

        memset(buffer, 0, ARRAY_LABEL_BYTES);
        for (uint32_t k = 0; k < ARRAY_RUN_BLOCKS; k++) {
            good = good && write_block(fd, buffer, array_run_offset(k));
        }
        label->index = i;
        array_label_encode(label, buffer);
        if (!good || !write_block(fd, buffer, 0)) {
            return failed(error, paths[i], "its label cannot be written");
        }
    }
    return true;
}

bool array_drives_format(const char *const *paths, uint32_t n,
                         const char *keys, bool force, char *error)
{
    unsigned char *buffer;
    ArrayConfig config;
    ArrayDrives drives;
    ArrayLabel label;
    bool good;

    array_config_init(&config);
    if (!array_config_parse(&config, keys, error) ||
        !array_drives_claim(&drives, paths, n, error)) {
        return false;
    }
    config.n_drives = n;
    config.drive_bytes = drives.bytes;
    config.data_offset_bytes = ARRAY_DATA_OFFSET;
    label = (ArrayLabel) {
        .n_drives = n, .drive_bytes = drives.bytes[0],
        .data_offset_bytes = ARRAY_DATA_OFFSET,
        .page_bytes = config.page_bytes, .stripe_bytes = config.stripe_bytes,
    };
    buffer = aligned_alloc(ARRAY_LABEL_BYTES, ARRAY_LABEL_BYTES);
    if (!buffer || getrandom(label.array, sizeof(label.array), 0) !=
                       sizeof(label.array)) {
        snprintf(error, ARRAY_ERROR_BYTES, "no memory, or no random numbers");
        good = false;
    } else {
        good = array_config_check(&config, error) &&
               may_format(&drives, paths, buffer, force, error) &&
               write_labels(&drives, paths, buffer, &label, error);
    }
    free(buffer);
    array_drives_close(&drives);
    return good;
}

/* Sorts the drives into the order of striping. */
static bool order_drives(ArrayDrives *drives, const char *const *paths,
                         ArrayLabel *labels, unsigned char *buffer,
                         char *error)
{
    ArrayDrives given = *drives;
    uint32_t order[ARRAY_MAX_DRIVES];

    for (uint32_t i = 0; i < drives->n; i++) {
        ArrayLabelState state;

        if (!read_label(drives->fd[i], paths[i], buffer, &labels[i], &state,
                        error) || state != ARRAY_LABEL_GOOD) {
            return false;
        }
    }
    if (!array_label_set(labels, drives->bytes, drives->n, order, error)) {
        return false;
    }
    for (uint32_t i = 0; i < drives->n; i++) {
        drives->fd[i] = given.fd[order[i]];
        drives->bytes[i] = given.bytes[order[i]];
    }
    drives->label = labels[order[0]];
    return true;
}

/*
 * Reads the newer of the drive's two blocks into *last; zeroes: the drive has
 * heard of no run.
 */
static bool read_run(ArrayDrives *drives, uint32_t i,
                     unsigned char *buffer, ArrayRun *last, char *error)
{
    unsigned good = 0, damaged = 0;

    memset(last, 0, sizeof(*last));
    drives->newest[i] = ARRAY_RUN_BLOCKS - 1;
    for (uint32_t k = 0; k < ARRAY_RUN_BLOCKS; k++) {
        ArrayLabelState is;
        ArrayRun run;

        if (pread(drives->fd[i], buffer, ARRAY_LABEL_BYTES,
                  array_run_offset(k)) != ARRAY_LABEL_BYTES) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of the array "
                     "cannot be read", i);
            return false;
        }
        is = array_run_decode(buffer, &run);
        if (is == ARRAY_LABEL_GOOD &&
            !memcmp(run.array, drives->label.array, sizeof(run.array))) {
            if (run.state > last->state) {
                *last = run;
                drives->newest[i] = k;
            }
            good++;
        }
        damaged += is == ARRAY_LABEL_DAMAGED;
    }
    if (!good && damaged == ARRAY_RUN_BLOCKS) {
        snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of the array: "
                 "what it says of the array's runs is damaged", i);
        return false;
    }
    return true;
}

static bool read_runs(ArrayDrives *drives, unsigned char *buffer, char *error)
{
    ArrayRun runs[ARRAY_MAX_DRIVES];

    for (uint32_t i = 0; i < drives->n; i++) {
        if (!read_run(drives, i, buffer, &runs[i], error)) {
            return false;
        }
    }
    if (!array_run_set(runs, drives->n, &drives->runs, error)) {
        return false;
    }
    drives->device = array_run_device(runs, drives->n, &drives->runs);
    return true;
}

/*
 * Flushes all drives. If an earlier run's flush failed, the data that was just
 * read may be only in a drive's cache.
 */
static bool flush_drives(const ArrayDrives *drives, char *error)
{
    for (uint32_t i = 0; i < drives->n; i++) {
        if (fsync(drives->fd[i])) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of the array "
                     "cannot be flushed: %s", i, strerror(errno));
            return false;
        }
    }
    return true;
}

static bool tell_drives(ArrayDrives *drives, ArrayRun run, char *error)
{
    unsigned char *buffer = aligned_alloc(ARRAY_LABEL_BYTES,
                                          ARRAY_LABEL_BYTES);
    bool good = buffer;

    memcpy(run.array, drives->label.array, sizeof(run.array));
    if (good) {
        array_run_encode(&run, buffer);
    }
    for (uint32_t i = 0; good && i < drives->n; i++) {
        uint32_t block = !drives->newest[i];

        good = write_block(drives->fd[i], buffer, array_run_offset(block));
        drives->newest[i] = good ? block : !block;
    }
    if (!good) {
        snprintf(error, ARRAY_ERROR_BYTES, "the run's number cannot be "
                 "written: %s", strerror(errno));
    }
    free(buffer);
    return good;
}

bool array_drives_start_run(ArrayDrives *drives, char *error)
{
    ArrayRun run = {
        .state = 2 * ++drives->runs.heard, .served = drives->runs.served,
        .id = drives->id, .served_id = drives->runs.served_id,
        .device = drives->device,
    };

    return flush_drives(drives, error) && tell_drives(drives, run, error);
}

bool array_drives_serve_run(ArrayDrives *drives, uint64_t device, char *error)
{
    ArrayRun run = {
        .state = 2 * drives->runs.heard + 1, .id = drives->id, .device = device,
    };

    if (drives->runs.served == drives->runs.heard && drives->device == device) {
        return true;
    }
    /* writes both blocks: if one is damaged later, the other is not older */
    if (!tell_drives(drives, run, error) || !tell_drives(drives, run, error)) {
        return false;
    }
    drives->runs.served = drives->runs.heard;
    drives->runs.served_id = drives->id;
    drives->device = device;
    return true;
}

bool array_drives_open(ArrayDrives *drives, const char *const *paths,
                       uint32_t n, char *error)
{
    unsigned char *buffer;
    ArrayLabel *labels;
    bool good = false;

    if (!array_drives_claim(drives, paths, n, error)) {
        return false;
    }
    buffer = aligned_alloc(ARRAY_LABEL_BYTES, ARRAY_LABEL_BYTES);
    labels = calloc(n, sizeof(*labels));
    if (buffer && labels && getrandom(&drives->id, sizeof(drives->id), 0) ==
                                sizeof(drives->id)) {
        good = order_drives(drives, paths, labels, buffer, error) &&
               read_runs(drives, buffer, error);
    } else {
        snprintf(error, ARRAY_ERROR_BYTES, "no memory, or no random numbers");
    }
    free(buffer);
    free(labels);
    if (!good) {
        array_drives_close(drives);
    }
    return good;
}

bool array_drives_config(const ArrayDrives *drives, const char *keys,
                         ArrayConfig *config, char *error)
{
    array_config_init(config);
    config->n_drives = drives->n;
    config->drive_bytes = drives->bytes;
    config->data_offset_bytes = drives->label.data_offset_bytes;
    config->page_bytes = drives->label.page_bytes;
    config->stripe_bytes = drives->label.stripe_bytes;
    if (!array_config_parse(config, keys, error)) {
        return false;
    }
    if (config->page_bytes != drives->label.page_bytes ||
        config->stripe_bytes != drives->label.stripe_bytes) {
        snprintf(error, ARRAY_ERROR_BYTES, "page_bytes, stripe_bytes: the "
                 "array was made with %" PRIu64 " and %" PRIu64,
                 drives->label.page_bytes, drives->label.stripe_bytes);
        return false;
    }
    return array_config_check(config, error);
}
