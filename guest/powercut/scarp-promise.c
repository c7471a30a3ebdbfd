/*
 * scarp-promise WORD...: writes down a promise, for a shell script
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "promise.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char text[3072] = "";

    if (argc < 2) {
        fprintf(stderr, "usage: scarp-promise WORD...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if (strlen(text) + strlen(argv[i]) + 2 > sizeof(text) ||
            strchr(argv[i], '\n')) {
            fprintf(stderr, "scarp-promise: must be one line of at most 3,000 "
                    "bytes\n");
            return 2;
        }
        strcat(text, i > 1 ? " " : "");
        strcat(text, argv[i]);
    }
    promise("%s", text);
    return 0;
}
