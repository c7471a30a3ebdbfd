/*
 * scarp-files: writes files and makes them durable until the power is cut;
 * after that, checks that no durable file is lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "work")) {
        return files_work(argv[2], strtoul(argv[3], NULL, 10),
                          strtoul(argv[4], NULL, 10));
    }
    if (argc == 4 && !strcmp(argv[1], "check")) {
        return files_check(argv[2], argv[3]);
    }
    fprintf(stderr, "usage: scarp-files work FOLDER OPERATIONS SEED\n"
                    "       scarp-files check FOLDER PROMISES\n");
    return 2;
}
