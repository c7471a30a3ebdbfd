/*
 * scarp-stats [/dev/nvme0] [NAME…]: the drive's statistics, by name
 *
 * The program reads vendor log page 0xCA (layout: ftl/scarp.h) with libnvme.
 * The names are in scarp-stats-names.h, which scarplib's guest/image.py makes
 * from ftl/stat.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <libnvme.h>

static const char *const names[] = {
#include "scarp-stats-names.h"
};

enum { COUNT = sizeof(names) / sizeof(names[0]), LOG_ID = 0xca };

struct page {
    char magic[8];
    uint32_t version;
    uint32_t count;
    uint64_t now_ns;
    uint64_t reserved;
    char scheme[32];
    uint64_t value[COUNT];
};

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], name)) {
            return 1;
        }
    }
    return argc <= 2;
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "/dev/nvme0";
    static struct page page;
    int found = 0, status;
    /* libnvme wants the name of a device in /dev, not its path. */
    const char *slash = strrchr(device, '/');
    int fd = nvme_open(slash ? slash + 1 : device);

    if (fd < 0) {
        fprintf(stderr, "scarp-stats: %s: %s\n", device, strerror(errno));
        return 1;
    }
    status = nvme_get_log_simple(fd, LOG_ID, sizeof(page), &page);
    close(fd);
    if (status) {
        fprintf(stderr, "scarp-stats: %s: log page 0x%x: %s\n", device, LOG_ID,
                status < 0 ? strerror(errno) : "not a Scarp drive");
        return 1;
    }
    /*
     * Behind the known fields the page may have others: those of a newer drive,
     * or the lateness of a drive on real time.
     */
    if (memcmp(page.magic, "SCARPST1", 8) || page.count < COUNT) {
        fprintf(stderr, "scarp-stats: %s: %u fields of another layout, at "
                "least %d expected\n", device, page.count, COUNT);
        return 1;
    }
    if (argc <= 2) {
        printf("scheme %.32s\nnow_ns %llu\n", page.scheme,
               (unsigned long long)page.now_ns);
    }
    for (int i = 0; i < COUNT; i++) {
        if (wanted(names[i], argc, argv)) {
            printf("%s %llu\n", names[i], (unsigned long long)page.value[i]);
            found++;
        }
    }
    if (argc > 2 && found != argc - 2) {
        fprintf(stderr, "scarp-stats: no such statistic among the names\n");
        return 1;
    }
    return 0;
}
