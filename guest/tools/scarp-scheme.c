/*
 * scarp-scheme DEVICE [SCHEME[:KEY=VALUE,…]]: the drive's GC scheme
 *
 * With one argument the program prints the running scheme. With two it switches
 * to another scheme (vendor admin command 0xC1); if the drive refuses that, the
 * program prints the reason (vendor log page 0xCB). hw/flash-scheme.c has the
 * layouts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <libnvme.h>

enum { SET_SCHEME = 0xc1, LOG_ID = 0xcb, SCHEME_BYTES = 1024 };

static struct {
    char magic[8];
    uint32_t version;
    uint32_t accepted;
    uint32_t refused;
    uint32_t reserved;
    uint64_t switched_ns;
    char scheme[SCHEME_BYTES];
    char reason[3040];
} page;

static int fail(const char *device, const char *text)
{
    fprintf(stderr, "scarp-scheme: %s: %s\n", device, text);
    return 1;
}

int main(int argc, char **argv)
{
    static char text[SCHEME_BYTES];
    const char *device, *slash;
    int fd, refused = 0;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: scarp-scheme /dev/nvme0 "
                "[SCHEME[:KEY=VALUE,...]]\n");
        return 2;
    }
    device = argv[1];
    /* libnvme wants the name of a device in /dev, not its path. */
    slash = strrchr(device, '/');
    fd = nvme_open(slash ? slash + 1 : device);
    if (fd < 0) {
        return fail(device, strerror(errno));
    }
    if (argc == 3) {
        if (strlen(argv[2]) > sizeof(text)) {
            return fail(device, "a scheme has at most 1024 characters");
        }
        memcpy(text, argv[2], strlen(argv[2]));
        refused = nvme_admin_passthru(fd, SET_SCHEME, 0, 0, 0, 0, 0,
                                      sizeof(text) / 4, 0, 0, 0, 0, 0,
                                      sizeof(text), text, 0, NULL, 0, NULL);
        if (refused < 0) {
            return fail(device, strerror(errno));
        }
    }
    if (nvme_get_log_simple(fd, LOG_ID, sizeof(page), &page) ||
        memcmp(page.magic, "SCARPSC1", 8)) {
        return fail(device, "not a Scarp drive");
    }
    close(fd);
    if (refused) {
        fprintf(stderr, "scarp-scheme: %s: %.3040s\n", device, page.reason);
        return 1;
    }
    printf("%.1024s\n", page.scheme);
    return 0;
}
