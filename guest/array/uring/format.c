/*
 * array-format: makes an array of drives, by labels
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drives.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char error[ARRAY_ERROR_BYTES];
    const char *keys = NULL;
    bool force = false;
    int i = 1;

    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--force")) {
            force = true;
        } else if (!strncmp(argv[i], "--keys=", 7)) {
            keys = argv[i] + 7;
        } else {
            fprintf(stderr, "array-format: %s: allowed: --force, "
                    "--keys=KEY=VALUE,...\n", argv[i]);
            return 1;
        }
    }
    if (!array_drives_format((const char *const *)argv + i, argc - i, keys,
                             force, error)) {
        fprintf(stderr, "array-format: %s\n", error);
        return 1;
    }
    return 0;
}
