/*
 * For compilers without libFuzzer: tries the files of a folder, then mutates
 * them for a while.
 *
 * It knows -max_total_time=SECONDS and the folder.  The seed is fixed and the
 * files are sorted, so that a crash comes again; the input at hand is written
 * before it is tried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fuzz.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES 4096

static size_t mutate(GRand *rand, uint8_t *data, size_t size)
{
    static const char *const words[] = {
        "0", "-1", "18446744073709551615", "9223372036854775807", "\n", ",",
        " ", "\r\n", ".", "R", "W", "4294967296", "\t", "=",
    };

    for (int n = g_rand_int_range(rand, 1, 8); n; n--) {
        size_t at = size ? g_rand_int_range(rand, 0, size) : 0;
        const char *word = words[g_rand_int_range(rand, 0,
                                                  G_N_ELEMENTS(words))];
        size_t length = strlen(word);

        switch (g_rand_int_range(rand, 0, 4)) {
        case 0:
            if (size) {
                data[at] = g_rand_int(rand);
            }
            break;
        case 1:
            size = at;
            break;
        case 2:
            if (size + length <= MAX_BYTES) {
                memmove(data + at + length, data + at, size - at);
                memcpy(data + at, word, length);
                size += length;
            }
            break;
        default:
            if (size && 2 * size - at <= MAX_BYTES) {
                memmove(data + size, data + at, size - at);
                size += size - at;
            }
            break;
        }
    }
    return size;
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_seeds(GPtrArray *seeds, const char *folder)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(folder, 0, NULL);

    if (!dir) {
        return;
    }
    for (const char *name; (name = g_dir_read_name(dir));) {
        g_ptr_array_add(names, g_build_filename(folder, name, NULL));
    }
    g_dir_close(dir);
    g_ptr_array_sort(names, by_name);
    for (unsigned i = 0; i < names->len; i++) {
        char *text;
        gsize size;

        if (g_file_get_contents(names->pdata[i], &text, &size, NULL)) {
            g_ptr_array_add(seeds, g_bytes_new_take(text, size));
        }
    }
}

int main(int argc, char **argv)
{
    GRand *rand = g_rand_new_with_seed(1);
    GPtrArray *seeds =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    const char *prefix = "";
    uint8_t data[MAX_BYTES + 64];
    uint64_t runs = 0;
    gint64 seconds = 0, end_us;

    for (int i = 1; i < argc; i++) {
        if (g_str_has_prefix(argv[i], "-max_total_time=")) {
            seconds = atoll(argv[i] + 16);
        } else if (g_str_has_prefix(argv[i], "-artifact_prefix=")) {
            prefix = argv[i] + 17;
        } else if (*argv[i] != '-') {
            add_seeds(seeds, argv[i]);
        }
    }
    if (!seeds->len) {
        fprintf(stderr, "no seeds\n");
        return 1;
    }
    end_us = g_get_monotonic_time() + seconds * 1000000;
    while (runs < seeds->len || g_get_monotonic_time() < end_us) {
        bool as_it_is = runs < seeds->len;
        gsize size;
        const void *seed = g_bytes_get_data(
            seeds->pdata[as_it_is ? runs : g_rand_int(rand) % seeds->len],
            &size);
        g_autofree char *path = g_strconcat(prefix, "input", NULL);

        size = MIN(size, MAX_BYTES);
        memcpy(data, seed, size);
        if (!as_it_is) {
            size = mutate(rand, data, size);
        }
        g_file_set_contents(path, (char *)data, size, NULL);
        LLVMFuzzerTestOneInput(data, size);
        runs++;
    }
    g_ptr_array_free(seeds, true);
    g_rand_free(rand);
    fprintf(stderr, "Done %" G_GUINT64_FORMAT " runs\n", runs);
    return 0;
}
