/*
 * libFuzzer: any text as a description, and any as its overrides: an error of
 * one line, or a drive.  A small one is built, and works.
 *
 * The text ends at the first NUL; overrides follow it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fuzz.h"
#include "core/description.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_small(const ScarpDescription *d)
{
    uint64_t planes = d->channels * d->chips_per_channel * d->dies_per_chip *
                      d->planes_per_die;
    uint64_t units = d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;

    return planes <= 16 &&
           planes * d->blocks_per_plane * d->pages_per_block * units <= 20000;
}

static void run(ScarpDrive *drive)
{
    static const ScarpOp ops[] = {
        SCARP_OP_WRITE, SCARP_OP_READ, SCARP_OP_WRITE, SCARP_OP_FLUSH,
        SCARP_OP_DEALLOCATE, SCARP_OP_READ, SCARP_OP_WRITE_ZEROES,
        SCARP_OP_WRITE,
    };
    uint64_t bytes = scarp_drive_logical_bytes(drive);
    ScarpCmd cmd[G_N_ELEMENTS(ops)] = { 0 };
    g_autoptr(GError) error = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        uint64_t at = bytes / 7 * i % bytes / 512 * 512;

        cmd[i].op = ops[i];
        if (ops[i] != SCARP_OP_FLUSH) {
            cmd[i].offset_bytes = at;
            cmd[i].length_bytes = MIN(bytes - at, 5 * 512);
        }
        cmd[i].deadline_ns = SCARP_TIME_NEVER;
        scarp_submit(drive, &cmd[i], scarp_now_ns(drive));
    }
    g_assert_true(scarp_drain(drive, &error));
    g_assert_true(scarp_check(drive, &error));
    g_assert_cmpuint(scarp_stats(drive)->oob_mismatches, ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        g_assert_nonnull(scarp_reap(drive));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    size_t length = strlen(text);
    g_autofree char *overrides =
        length < size ? g_strndup((const char *)data + length + 1,
                                  size - length - 1) : NULL;
    g_autofree char *path = NULL, *again = NULL;
    g_autoptr(GError) error = NULL;
    ScarpDescription d, same;
    ScarpDrive *drive;
    int fd;

    if (!scarp_description_parse(&d, text, "a text", overrides, &error)) {
        g_assert_nonnull(error);
        g_assert_true(!strchr(error->message, '\n') ||
                      (overrides && strchr(overrides, '\n')));
        return 0;
    }
    /* What was understood can be said, and means the same. */
    again = scarp_description_text(&d);
    g_assert_true(scarp_description_parse(&same, again, "its text", NULL,
                                          &error));
    g_assert_cmpmem(&same, sizeof(same), &d, sizeof(d));
    if (!is_small(&d)) {
        return 0;
    }
    fd = memfd_create("description", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, again, strlen(again)), ==, strlen(again));
    path = g_strdup_printf("/proc/self/fd/%d", fd);
    drive = scarp_drive_new(&(ScarpConfig) { .description_path = path,
                                             .scheme = "baseline",
                                             .store_data = true }, &error);
    g_assert_true(!drive == !!error);
    g_assert_true(!error || !strchr(error->message, '\n'));
    if (drive) {
        run(drive);
        scarp_drive_free(drive);
    }
    close(fd);
    return 0;
}
