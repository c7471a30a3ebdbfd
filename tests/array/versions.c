/*
 * What a block device must still have after its server was killed: each
 * sector holds its own number and a version, and a file of shared memory knows
 * which versions may be there.
 *
 *   versions write DEVICE PAGES STATE SEED   for ever, until it is killed
 *   versions check DEVICE PAGES STATE        then; 0: all that was promised
 *
 * Threads write ranges of their own, a page or several at a time.  One flushes
 * at random moments; what had been acknowledged before the flush began is
 * promised when it ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* O_DIRECT */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define SECTOR 512u
#define MOST_PAGES 16u /* of a request */
#define WRITERS 4u

/* Of each page, in shared memory: a kill takes none of it. */
typedef struct {
    uint64_t sent, acknowledged, promised; /* versions */
} Known;

static const char *device;
static uint64_t pages;
static Known *known;
static uint64_t seed;

static int failed(const char *what)
{
    perror(what);
    exit(2);
}

static uint64_t next(uint64_t *state, uint64_t below)
{
    /* Knuth's MMIX generator; its high bits are the good ones. */
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 33) % below;
}

static int open_device(void)
{
    int fd = open(device, O_RDWR | O_DIRECT);

    return fd < 0 ? failed(device) : fd;
}

static void *memory(size_t bytes)
{
    void *data = aligned_alloc(PAGE, bytes);

    if (!data) {
        failed("memory");
    }
    return data;
}

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* ---- Writing ------------------------------------------------------------ */

/* Every page knows its versions before the request, and after it. */
static void write_some(int fd, char *data, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t version = known[first + i].sent + 1;

        store(&known[first + i].sent, version);
        for (uint64_t s = 0; s < PAGE / SECTOR; s++) {
            uint64_t *words = (uint64_t *)(data + i * PAGE + s * SECTOR);

            for (uint64_t w = 0; w < SECTOR / 8; w += 2) {
                words[w] = (first + i) * (PAGE / SECTOR) + s + 1;
                words[w + 1] = version;
            }
        }
    }
    if (pwrite(fd, data, n * PAGE, first * PAGE) != (ssize_t)(n * PAGE)) {
        failed("a write");
    }
    for (uint64_t i = 0; i < n; i++) {
        store(&known[first + i].acknowledged, known[first + i].sent);
    }
}

static void *writer(void *opaque)
{
    uint64_t index = (uintptr_t)opaque, random = seed * WRITERS + index;
    uint64_t own = pages / WRITERS, begin = index * own;
    char *data = memory(MOST_PAGES * PAGE);
    int fd = open_device();

    for (;;) {
        uint64_t n = next(&random, 2) ? 1 : next(&random, MOST_PAGES) + 1;

        write_some(fd, data, begin + next(&random, own - n + 1), n);
    }
    return NULL;
}

static void flush_for_ever(void)
{
    uint64_t *before = calloc(pages, sizeof(*before)), random = seed + 77;
    int fd = open_device();

    if (!before) {
        failed("memory");
    }

    for (;;) {
        usleep(next(&random, 20000));
        for (uint64_t i = 0; i < pages; i++) {
            before[i] = load(&known[i].acknowledged);
        }
        if (fsync(fd)) {
            failed("a flush");
        }
        for (uint64_t i = 0; i < pages; i++) {
            store(&known[i].promised, before[i]);
        }
    }
}

static void write_for_ever(void)
{
    for (uintptr_t i = 0; i < WRITERS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, writer, (void *)i)) {
            failed("a thread");
        }
    }
    printf("writing\n");
    fflush(stdout);
    flush_for_ever();
}

/* ---- Checking ----------------------------------------------------------- */

/* Its version; that of a sector never written is 0. */
static bool sector_good(const uint64_t *words, uint64_t number, const Known *k,
                        uint64_t *version)
{
    *version = words[1];
    for (uint64_t w = 0; w < SECTOR / 8; w += 2) {
        if (words[w + 1] != *version || words[w] != (*version ? number : 0)) {
            return false;
        }
    }
    return *version >= k->promised && *version <= k->sent;
}

/* What a page holds is known now, and can be promised again. */
static bool page_good(const char *data, uint64_t page)
{
    Known *k = &known[page];
    uint64_t least = UINT64_MAX;

    for (uint64_t s = 0; s < PAGE / SECTOR; s++) {
        uint64_t number = page * (PAGE / SECTOR) + s + 1, version;
        const uint64_t *words = (const uint64_t *)(data + s * SECTOR);

        if (!sector_good(words, number, k, &version)) {
            printf("sector %" PRIu64 ": holds %" PRIu64 ", version %" PRIu64
                   "; promised %" PRIu64 ", sent %" PRIu64 "\n", number - 1,
                   words[0], words[1], k->promised, k->sent);
            return false;
        }
        least = version < least ? version : least;
    }
    k->promised = k->acknowledged = least;
    return true;
}

static int check(void)
{
    char *data = memory(MOST_PAGES * PAGE);
    uint64_t lost = 0, promised = 0;
    int fd = open_device();

    for (uint64_t at = 0; at < pages; at += MOST_PAGES) {
        uint64_t n = pages - at < MOST_PAGES ? pages - at : MOST_PAGES;

        if (pread(fd, data, n * PAGE, at * PAGE) != (ssize_t)(n * PAGE)) {
            failed("a read");
        }
        for (uint64_t i = 0; i < n; i++) {
            promised += known[at + i].promised > 0;
            lost += !page_good(data + i * PAGE, at + i);
        }
    }
    /* What was read is promised from here on. */
    if (fsync(fd)) {
        failed("a flush");
    }
    printf("%" PRIu64 " pages, %" PRIu64 " of them promised, %" PRIu64
           " wrong\n", pages, promised, lost);
    return lost ? 1 : 0;
}

int main(int argc, char **argv)
{
    bool write = argc == 6 && !strcmp(argv[1], "write");
    int fd;

    if (!write && !(argc == 5 && !strcmp(argv[1], "check"))) {
        fprintf(stderr, "versions write DEVICE PAGES STATE SEED, or "
                "check DEVICE PAGES STATE\n");
        return 2;
    }
    device = argv[2];
    pages = strtoull(argv[3], NULL, 10);
    fd = open(argv[4], O_RDWR | O_CREAT, 0600);
    if (pages < WRITERS * MOST_PAGES || fd < 0 ||
        ftruncate(fd, pages * sizeof(*known))) {
        failed(argv[4]);
    }
    known = mmap(NULL, pages * sizeof(*known), PROT_READ | PROT_WRITE,
                 MAP_SHARED, fd, 0);
    if (known == MAP_FAILED) {
        failed(argv[4]);
    }
    if (write) {
        seed = strtoull(argv[5], NULL, 10);
        write_for_ever();
    }
    return check();
}
