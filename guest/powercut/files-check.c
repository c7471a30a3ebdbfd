/*
 * scarp-files check: runs after a power cut and compares the files with the
 * promises, the lines that scarp-files work wrote down when a sync had
 * returned.
 *
 * A promise about a file, block or log holds until the next promise about it. A
 * newer version than the promised one is right, too: the drive had it when the
 * power failed, before its sync had returned.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    uint64_t version; /* the least version; 0: no promise */
    uint64_t at_ns;
    /* a deletion has begun: the file may be gone, and made again */
    bool may_go;
    bool gone;
} Promised;

typedef struct {
    Promised file[FILES], block[2][BLOCKS], log;
} Folder;

static const char *const block_names[2] = { "blocks", "direct" };
static Folder folders[WORKERS];
static unsigned broken;
static char bytes[1 << 20];

static void lost(const char *path, const Promised *p, const char *what)
{
    printf("lost: %s: %s; promised at %llu ns\n", path, what,
           (unsigned long long)p->at_ns);
    broken++;
}

/* Reads a file into bytes[]. Returns its length; -1: there is no such file. */
static ssize_t read_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t n;

    if (fd < 0) {
        if (errno != ENOENT) {
            printf("%s: %s\n", path, strerror(errno));
        }
        return -1;
    }
    n = read(fd, bytes, sizeof(bytes));
    if (n < 0) {
        printf("%s: %s\n", path, strerror(errno));
    }
    close(fd);
    return n;
}

/* ---- The promises ------------------------------------------------------- */

static void take(unsigned long long at_ns, const char *text)
{
    unsigned w, i;
    unsigned long long v;
    char name[16];
    Promised made = { .at_ns = at_ns };

    if (sscanf(text, "file w%u/f%u %llu", &w, &i, &v) == 3 && w < WORKERS &&
        i < FILES) {
        made.version = v;
        folders[w].file[i] = made;
    } else if (sscanf(text, "going w%u/f%u", &w, &i) == 2 && w < WORKERS &&
               i < FILES) {
        folders[w].file[i].may_go = true;
    } else if (sscanf(text, "gone w%u/f%u %llu", &w, &i, &v) == 3 &&
               w < WORKERS && i < FILES) {
        made.version = v;
        made.gone = true;
        folders[w].file[i] = made;
    } else if (sscanf(text, "log w%u/log %llu", &w, &v) == 2 && w < WORKERS) {
        made.version = v;
        folders[w].log = made;
    } else if (sscanf(text, "block w%u/%15s %u %llu", &w, name, &i, &v) == 4 &&
               w < WORKERS && i < BLOCKS) {
        made.version = v;
        folders[w].block[!strcmp(name, block_names[1])][i] = made;
    }
}

static int read_promises(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[4096];

    if (!file) {
        perror(path);
        return 1;
    }
    while (fgets(line, sizeof(line), file)) {
        char *text;
        unsigned long long at_ns = strtoull(line, &text, 10);

        if (*text == ' ') {
            take(at_ns, text + 1);
        }
    }
    fclose(file);
    return 0;
}

/* ---- The files ---------------------------------------------------------- */

static void check_file(const char *folder, unsigned w, unsigned i)
{
    const Promised *p = &folders[w].file[i];
    char path[1024], what[256];
    uint64_t version = 0;
    ssize_t n;

    if (!p->version) {
        return;
    }
    snprintf(path, sizeof(path), "%s/w%u/f%u", folder, w, i);
    n = read_file(path);
    if (n < 0) {
        if (!p->gone && !p->may_go) {
            lost(path, p, "it is not there");
        }
        return;
    }
    if (!files_read(bytes, n, files_tag(w, 'f', i), &version)) {
        snprintf(what, sizeof(what), "its %zd bytes are not what was written",
                 n);
        lost(path, p, what);
    } else if (version < p->version || (p->gone && version == p->version)) {
        snprintf(what, sizeof(what), "it is of version %llu, and %s %llu",
                 (unsigned long long)version,
                 p->gone ? "was deleted after" : "must be at least of",
                 (unsigned long long)p->version);
        lost(path, p, what);
    }
}

static void check_log(const char *folder, unsigned w)
{
    const Promised *p = &folders[w].log;
    char path[1024], what[256];
    uint64_t version, n = 0;
    ssize_t size;

    if (!p->at_ns) {
        return;
    }
    snprintf(path, sizeof(path), "%s/w%u/log", folder, w);
    size = read_file(path);
    while (size >= 0 && (n + 1) * RECORD_BYTES <= (uint64_t)size &&
           files_read(bytes + n * RECORD_BYTES, RECORD_BYTES,
                      files_tag(w, 'l', n), &version)) {
        n++;
    }
    if (size < 0 || n < p->version) {
        snprintf(what, sizeof(what), "%llu records are whole, of %llu",
                 (unsigned long long)n, (unsigned long long)p->version);
        lost(path, p, what);
    }
}

static void check_blocks(const char *folder, unsigned w, unsigned kind)
{
    const char *name = block_names[kind];
    char path[1024], what[256];
    ssize_t size;

    snprintf(path, sizeof(path), "%s/w%u/%s", folder, w, name);
    size = read_file(path);
    for (unsigned i = 0; i < BLOCKS; i++) {
        const Promised *p = &folders[w].block[kind][i];

        for (unsigned at = 0; p->version && at < BLOCK_BYTES;
             at += SECTOR_BYTES) {
            uint64_t place = i * BLOCK_BYTES + at, version = 0;

            if ((ssize_t)(place + SECTOR_BYTES) > size ||
                !files_read(bytes + place, SECTOR_BYTES,
                            files_tag(w, name[0], place), &version) ||
                version < p->version) {
                snprintf(what, sizeof(what), "block %u has version %llu at its "
                         "byte %u, and must have at least %llu", i,
                         (unsigned long long)version, at,
                         (unsigned long long)p->version);
                lost(path, p, what);
                break;
            }
        }
    }
}

int files_check(const char *folder, const char *promises)
{
    if (read_promises(promises)) {
        return 2;
    }
    for (unsigned w = 0; w < WORKERS; w++) {
        for (unsigned i = 0; i < FILES; i++) {
            check_file(folder, w, i);
        }
        check_log(folder, w);
        check_blocks(folder, w, 0);
        check_blocks(folder, w, 1);
    }
    return broken ? 1 : 0;
}
