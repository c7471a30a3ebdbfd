/*
 * The array on io_uring, on files as drives: labels, contents across restarts
 * and kills, refusals, I/O errors.  What does I/O is done both ways: all of it
 * on one ring, and by a thread for each drive.  Some is also done on one ring
 * as a kernel before 6.1 makes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* RTLD_NEXT, cpu_set_t */
#include "files.h"
#include "ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <liburing.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Besides ArrayUringThreads: all on one ring, of an older kernel. */
#define ON_OLD_KERNEL 100u

static bool old_kernel;

/* In place of the library's: what an older kernel does not know, it refuses. */
int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    struct io_uring_params params = { .flags = flags };

    if (old_kernel && (flags & IORING_SETUP_DEFER_TASKRUN)) {
        return -EINVAL;
    }
    return io_uring_queue_init_params(entries, ring, &params);
}

/* 0, or the negative errno that two of three calls of the kernel fail with. */
static int fails_with;

static bool fails(void)
{
    static gint calls;

    return g_atomic_int_get(&fails_with) &&
           (g_atomic_int_add(&calls, 1) + 1) % 3;
}

int io_uring_submit(struct io_uring *ring)
{
    int (*real)(struct io_uring *) = dlsym(RTLD_NEXT, __func__);

    return fails() ? g_atomic_int_get(&fails_with) : real(ring);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
    int (*real)(struct io_uring *) = dlsym(RTLD_NEXT, __func__);

    return fails() ? g_atomic_int_get(&fails_with) : real(ring);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
    int (*real)(struct io_uring *, unsigned) = dlsym(RTLD_NEXT, __func__);

    return fails() ? g_atomic_int_get(&fails_with) : real(ring, n);
}

static ArrayUringThreads threads_of(gconstpointer way)
{
    old_kernel = GPOINTER_TO_UINT(way) == ON_OLD_KERNEL;
    return old_kernel ? ARRAY_URING_ALONE : GPOINTER_TO_UINT(way);
}

typedef struct {
    ArrayRequest request;
    uint64_t words[PAGE / 8];
    uint64_t page;
    bool busy;
} Slot;

/* Whole pages, 64 outstanding, none twice at once. */
static void work(ArrayUring *u, GRand *rand, uint64_t *versions,
                 uint64_t pages, unsigned requests)
{
    bool *busy = g_new0(bool, pages);
    Slot *slots = g_new0(Slot, 64);
    unsigned out = 0;

    for (unsigned i = 0; i < requests || out;) {
        Slot *slot = NULL;
        uint64_t page = g_rand_int_range(rand, 0, pages);

        for (int k = 0; k < 64 && i < requests && !slot; k++) {
            slot = slots[k].busy ? NULL : &slots[k];
        }
        if (slot && !busy[page]) {
            bool write = g_rand_boolean(rand);

            slot->page = page;
            slot->busy = busy[page] = true;
            if (write) {
                fill(slot->words, page, ++versions[page]);
            }
            slot->request = (ArrayRequest) {
                .op = write ? ARRAY_OP_WRITE : ARRAY_OP_READ,
                .offset_bytes = page * PAGE, .length_bytes = PAGE,
                .data = slot->words, .opaque = slot,
            };
            array_uring_submit(u, &slot->request);
            out++;
            i++;
            continue;
        }
        slot = next_end(u)->opaque;
        g_assert_cmpint(slot->request.error, ==, 0);
        if (slot->request.op == ARRAY_OP_READ) {
            assert_page(slot->words, slot->page, versions[slot->page]);
        }
        slot->busy = busy[slot->page] = false;
        out--;
    }
    g_free(slots);
    g_free(busy);
}

static void assert_all(ArrayUring *u, const uint64_t *versions, uint64_t pages)
{
    uint64_t words[PAGE / 8];

    for (uint64_t i = 0; i < pages; i++) {
        g_assert_cmpint(one(u, ARRAY_OP_READ, i * PAGE, PAGE, words), ==, 0);
        assert_page(words, i, versions[i]);
    }
}

static void test_contents(gconstpointer way)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    uint64_t pages, *versions;
    ArrayUring *u;
    Files f;

    files_init(&f);
    f.threads = threads_of(way);
    format(&f);
    u = start(&f);
    pages = array_uring_bytes(u) / PAGE;
    g_assert_cmpuint(pages, ==, N * 128 * 16);
    versions = g_new0(uint64_t, pages);
    work(u, rand, versions, pages, 20000);
    g_assert_cmpint(one(u, ARRAY_OP_FLUSH, 0, 0, NULL), ==, 0);
    g_assert_cmpuint(array_uring_stats(u)->written_low, >, 0);
    g_assert_cmpuint(array_uring_stats(u)->drive_flushes, >=, N);
    array_uring_free(u);
    u = start(&f);
    assert_all(u, versions, pages);
    array_uring_free(u);
    g_free(versions);
    files_clear(&f);
}

/* A process that is killed and never flushed: all it acknowledged is kept. */
static void test_kept(gconstpointer way)
{
    uint64_t pages = N * 128 * 16, words[PAGE / 8];
    uint64_t *acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_autofree char *keep = NULL;
    ArrayUring *u;
    Files f;

    files_init(&f);
    f.threads = threads_of(way);
    format(&f);
    /* Memory of files on a disk cannot be registered. */
    keep = g_strdup_printf("/dev/shm/array-keep-%d", getpid());
    for (unsigned round = 0; round < (g_test_slow() ? 100u : 5u); round++) {
        uint64_t before = *acknowledged, n;
        pid_t child = fork();

        if (!child) {
            write_in_turn(&f, keep, pages, acknowledged);
        }
        while (__atomic_load_n(acknowledged, __ATOMIC_ACQUIRE) <
               before + 700 + 331 * (round % 7)) {
            g_assert_cmpint(waitpid(child, NULL, WNOHANG), ==, 0);
            g_usleep(100);
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        g_assert_true(g_file_test(keep, G_FILE_TEST_EXISTS));
        n = *acknowledged;
        u = start_with(&f, keep);
        for (uint64_t i = 0; i < pages; i++) {
            uint64_t version = n / pages + (i < n % pages);

            g_assert_cmpint(one(u, ARRAY_OP_READ, i * PAGE, PAGE, words), ==,
                            0);
            /* The one that was not acknowledged may be there as well. */
            assert_page(words, i, version + (i == n % pages &&
                                             words[1] == version + 1));
        }
        g_assert_cmpint(array_uring_flush(u), ==, 0);
        array_uring_free(u);
        g_assert_false(g_file_test(keep, G_FILE_TEST_EXISTS));
    }
    munmap(acknowledged, 4096);
    files_clear(&f);
}

/* A process that is killed between flushes; what it said was kept, is. */
static void test_killed(gconstpointer way)
{
    for (unsigned round = 0; round < (g_test_slow() ? 100u : 5u); round++) {
        uint64_t words[PAGE / 8], pages = N * 128 * 16, kept = 0, said;
        int pipes[2];
        ArrayUring *u;
        pid_t child;
        Files f;

        files_init(&f);
        f.threads = threads_of(way);
        format(&f);
        g_assert_cmpint(pipe(pipes), ==, 0);
        child = fork();
        if (!child) {
            close(pipes[0]);
            u = start(&f);
            /* Every page once a version, with a flush after each version. */
            for (uint64_t version = 1;; version++) {
                for (uint64_t i = 0; i < pages; i++) {
                    fill(words, i, version);
                    if (one(u, ARRAY_OP_WRITE, i * PAGE, PAGE, words)) {
                        _exit(1);
                    }
                }
                if (one(u, ARRAY_OP_FLUSH, 0, 0, NULL) ||
                    write(pipes[1], &version, sizeof(version)) !=
                        sizeof(version)) {
                    _exit(1);
                }
            }
        }
        close(pipes[1]);
        /* Two versions, and then some time into the third or so. */
        for (int i = 0; i < 2; i++) {
            g_assert_cmpint(read(pipes[0], &kept, sizeof(kept)), ==,
                            sizeof(kept));
        }
        g_usleep(1000 + 7919 * round % 60000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(pipes[0], &said, sizeof(said)) == sizeof(said)) {
            kept = said;
        }
        close(pipes[0]);
        u = start(&f);
        for (uint64_t i = 0; i < pages; i++) {
            g_assert_cmpint(one(u, ARRAY_OP_READ, i * PAGE, PAGE, words), ==,
                            0);
            g_assert_cmpuint(words[1], >=, kept);
            g_assert_cmpuint(words[1], <=, kept + 1);
            assert_page(words, i, words[1]);
        }
        array_uring_free(u);
        files_clear(&f);
    }
}

/* ---- Refusals ---------------------------------------------------------- */

static char *open_error(const char *const *given, uint32_t n)
{
    static char error[ARRAY_ERROR_BYTES];
    ArrayDrives drives;

    g_assert_false(array_drives_open(&drives, given, n, error));
    return error;
}

static void test_refused(void)
{
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    ArrayConfig config;
    Files f, g;

    files_init(&f);
    files_init(&g);
    assert_contains(open_error(paths(&f), 0), "0 drives: must be from 1");
    assert_contains(open_error(paths(&f), N), "drive0: has no label");
    format(&f);
    format(&g);
    g_assert_false(array_drives_format(paths(&f), N, NULL, false, error));
    assert_contains(error, "drive0: belongs to an array; --force");
    assert_contains(open_error(paths(&f), 2), "2 drives given, but the array");
    {
        const char *mixed[N] = { f.paths[0], f.paths[1], g.paths[2] };
        const char *twice[N] = { f.paths[0], f.paths[1], f.paths[1] };
        const char *none[N] = { f.paths[0], f.paths[1], "/nonexistent" };
        const char *folder[N] = { f.paths[0], f.paths[1], f.folder };

        assert_contains(open_error(mixed, N), "drive 2 of those given belongs "
                        "to another array");
        assert_contains(open_error(twice, N), "is in use");
        assert_contains(open_error(none, N), "/nonexistent: cannot be opened");
        assert_contains(open_error(folder, N), f.folder);
    }
    g_assert_true(array_drives_open(&drives, paths(&f), N, error));
    assert_contains(open_error(paths(&f), N), "is in use");
    g_assert_false(array_drives_config(&drives, "stripe_bytes=4096", &config,
                                       error));
    assert_contains(error, "the array was made with 4096 and 65536");
    array_drives_close(&drives);
    /* A drive that has grown is not the one that was labelled. */
    g_assert_cmpint(truncate(f.paths[1], DRIVE_BYTES + 65536), ==, 0);
    assert_contains(open_error(paths(&f), N), "its label says");
    g_assert_false(array_drives_format(paths(&f), N, NULL, true, error));
    assert_contains(error, "drive 1 has ");
    g_assert_cmpint(truncate(f.paths[1], DRIVE_BYTES), ==, 0);
    g_assert_true(array_drives_format(paths(&f), N, NULL, true, error));
    files_clear(&f);
    files_clear(&g);
}

/* Nothing is written when the drives cannot be an array. */
static void test_refused_untouched(void)
{
    char error[ARRAY_ERROR_BYTES] = "", zeroes[PAGE] = "";
    g_autofree char *text = NULL;
    gsize length;
    Files f;

    files_init(&f);
    g_assert_cmpint(truncate(f.paths[2], DRIVE_BYTES + PAGE), ==, 0);
    g_assert_false(array_drives_format(paths(&f), N, NULL, false, error));
    assert_contains(error, "they must be equal");
    g_assert_cmpint(truncate(f.paths[2], DRIVE_BYTES), ==, 0);
    g_assert_false(array_drives_format(paths(&f), N, "stripe_bytes=12288",
                                       false, error));
    assert_contains(error, "stripe_bytes=12288: must divide");
    g_assert_true(g_file_get_contents(f.paths[0], &text, &length, NULL));
    g_assert_cmpmem(text, PAGE, zeroes, PAGE);
    files_clear(&f);
}

/* A drive that loses its end under the array: errors, not a hang. */
static void test_drive_fails(gconstpointer way)
{
    uint64_t words[PAGE / 8] = { 0 };
    ArrayUring *u;
    Files f;

    files_init(&f);
    f.threads = threads_of(way);
    format(&f);
    u = start(&f);
    g_assert_cmpint(truncate(f.paths[1], 1 << 20), ==, 0);
    /* Unit 1 of the array is on drive 1, which reads short now. */
    g_assert_cmpint(one(u, ARRAY_OP_READ, 65536, PAGE, words), ==, EIO);
    g_assert_cmpint(one(u, ARRAY_OP_READ, 0, PAGE, words), ==, 0);
    g_assert_cmpint(one(u, ARRAY_OP_WRITE, 65536 + 8, 8, words), ==, EIO);
    array_uring_free(u);
    files_clear(&f);
}

/* A restart that goes wrong leaves what was kept for the next one. */
static void test_failed_restart(void)
{
    g_autofree char *keep = g_strdup_printf("/dev/shm/array-keep-%d", getpid());
    g_autofree char *fresh = g_strdup_printf("%s.new", keep);
    g_autofree char *said = NULL;
    ArrayUring *u;
    int status;
    pid_t child;
    Files f, g;

    files_init(&f);
    files_init(&g);
    format(&f);
    format(&g);
    leave_behind(&f, keep, 5000);
    /* Another array's server is given the file. */
    said = start_error(&g, keep);
    assert_contains(said, "the cache of another array");
    g_assert_true(g_file_test(keep, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(fresh, G_FILE_TEST_EXISTS));
    /* The drives take the first 4 MiB alone. */
    child = fork();
    if (!child) {
        struct rlimit limit = { 4 << 20, 4 << 20 };
        char *why;

        signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) ? 2 :
              !(why = start_error(&f, keep)) ? 1 :
              strstr(why, strerror(EIO)) ? 0 : 3);
    }
    waitpid(child, &status, 0);
    g_assert_cmpint(status, ==, 0);
    g_assert_true(g_file_test(keep, G_FILE_TEST_EXISTS));
    u = start_with(&f, keep);
    assert_first_pages(u, 5000, 1);
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    g_assert_false(g_file_test(keep, G_FILE_TEST_EXISTS));
    files_clear(&f);
    files_clear(&g);
}

/* What a server kept is older than what another one wrote since. */
static void test_stale_keep(void)
{
    g_autofree char *keep = g_strdup_printf("/dev/shm/array-keep-%d", getpid());
    g_autofree char *said = NULL;
    uint64_t words[PAGE / 8];
    ArrayUring *u;
    Files f;

    files_init(&f);
    format(&f);
    leave_behind(&f, keep, 5000);
    u = start(&f);
    for (uint64_t i = 0; i < 5000; i++) {
        fill(words, i, 2);
        g_assert_cmpint(one(u, ARRAY_OP_WRITE, i * PAGE, PAGE, words), ==, 0);
    }
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    said = start_error(&f, keep);
    assert_contains(said, "has what run 1 of the array left, but the last was "
                    "2");
    g_assert_true(g_file_test(keep, G_FILE_TEST_EXISTS));
    u = start(&f);
    assert_first_pages(u, 5000, 2);
    array_uring_free(u);
    g_assert_cmpint(g_unlink(keep), ==, 0);
    g_assert_null(start_error(&f, keep));
    files_clear(&f);
}

/*
 * All drives are put back to before a cache's run, and run again: that is
 * another run of the cache's number.
 */
static void test_keep_of_another_history(void)
{
    g_autofree char *keep = g_strdup_printf("/dev/shm/array-keep-%d", getpid());
    char *before[N];
    uint64_t words[PAGE / 8];
    ArrayUring *u;
    gsize length;
    Files f;

    files_init(&f);
    format(&f);
    array_uring_free(start(&f));
    for (unsigned i = 0; i < N; i++) {
        g_assert_true(g_file_get_contents(f.paths[i], &before[i], &length,
                                          NULL));
    }
    leave_behind(&f, keep, 5000);
    for (unsigned i = 0; i < N; i++) {
        g_assert_true(g_file_set_contents(f.paths[i], before[i], length, NULL));
        g_free(before[i]);
    }
    u = start(&f);
    for (uint64_t i = 0; i < 5000; i++) {
        fill(words, i, 2);
        g_assert_cmpint(one(u, ARRAY_OP_WRITE, i * PAGE, PAGE, words), ==, 0);
    }
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    for (unsigned i = 0; i < 2; i++) {
        /* A refusal changes nothing: the next one is the same. */
        g_autofree char *said = start_error(&f, keep);

        assert_contains(said, "is of another run 2 of the array");
    }
    u = start(&f);
    assert_first_pages(u, 5000, 2);
    array_uring_free(u);
    g_assert_cmpint(g_unlink(keep), ==, 0);
    files_clear(&f);
}

/* Of drives that were put back some ran again, as another array's would. */
static void test_drive_of_another_history(void)
{
    g_autofree char *said = NULL;
    char *before[N], *other;
    gsize length;
    Files f;

    files_init(&f);
    format(&f);
    for (unsigned i = 0; i < N; i++) {
        g_assert_true(g_file_get_contents(f.paths[i], &before[i], &length,
                                          NULL));
    }
    array_uring_free(start(&f));
    g_assert_true(g_file_get_contents(f.paths[1], &other, &length, NULL));
    for (unsigned i = 0; i < N; i++) {
        g_assert_true(g_file_set_contents(f.paths[i], before[i], length, NULL));
        g_free(before[i]);
    }
    array_uring_free(start(&f));
    g_assert_true(g_file_set_contents(f.paths[1], other, length, NULL));
    g_free(other);
    said = start_error(&f, NULL);
    assert_contains(said, "drive 1 of those given was there in another run 1 "
                    "of the array than others");
    files_clear(&f);
}

/* A kept cache that is cut, or says what cannot be, writes nothing. */
static void test_torn_keep(void)
{
    g_autofree char *keep = g_strdup_printf("/dev/shm/array-keep-%d", getpid());
    g_autofree char *whole = NULL;
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    uint64_t pages = N * 128 * 16;
    ArrayUring *u;
    gsize length;
    Files f;

    files_init(&f);
    format(&f);
    leave_behind(&f, keep, 5000);
    g_assert_true(g_file_get_contents(keep, &whole, &length, NULL));
    for (unsigned i = 0; i < 200; i++) {
        gsize cut = i < 80 ? i : (gsize)g_rand_int_range(rand, 0, length);
        g_autofree char *said = NULL;

        g_assert_true(g_file_set_contents(keep, whole, cut, NULL));
        said = start_error(&f, keep);
        if (!said || strstr(said, "drive")) {
            g_error("cut at %zu: %s", cut, said);
        }
        g_assert_true(g_file_test(keep, G_FILE_TEST_EXISTS));
    }
    for (unsigned i = 0; i < 3; i++) {
        g_autofree char *said = NULL;

        /* Marks begin at the second page: one beyond it, one three times. */
        g_assert_true(g_file_set_contents(keep, whole, length, NULL));
        poke(keep, 4096, i == 0 ? pages + 1 : i == 1 ? UINT64_MAX : 7);
        poke(keep, 4104, i == 2 ? 7 : 0);
        poke(keep, 4112, i == 2 ? 7 : 0);
        said = start_error(&f, keep);
        assert_contains(said, "names pages that the array does not have");
    }
    g_assert_true(g_file_set_contents(keep, whole, length, NULL));
    u = start_with(&f, keep);
    assert_first_pages(u, 5000, 1);
    array_uring_free(u);
    files_clear(&f);
}

/* A drive comes back as it was before the array ran again. */
static void test_old_contents(void)
{
    g_autofree char *old = NULL;
    g_autofree char *said = NULL;
    ArrayUring *u;
    gsize length;
    Files f;

    files_init(&f);
    format(&f);
    array_uring_free(start(&f));
    g_assert_true(g_file_get_contents(f.paths[1], &old, &length, NULL));
    array_uring_free(start(&f));
    g_assert_true(g_file_set_contents(f.paths[1], old, length, NULL));
    said = start_error(&f, NULL);
    assert_contains(said, "drive 1 of those given was there in run 1 of the "
                    "array, but not in run 2, as another");
    /* A drive that was never there at all. */
    memset(old + ARRAY_LABEL_BYTES, 0, 2 * ARRAY_LABEL_BYTES);
    g_assert_true(g_file_set_contents(f.paths[1], old, length, NULL));
    g_clear_pointer(&said, g_free);
    said = start_error(&f, NULL);
    assert_contains(said, "was there in run 0 of the array");
    /* Made anew, they have no runs behind them. */
    {
        char error[ARRAY_ERROR_BYTES] = "";

        g_assert_true(array_drives_format(paths(&f), N, NULL, true, error));
    }
    u = start(&f);
    array_uring_free(u);
    files_clear(&f);
}

/* Numbers in a label whose checksum is right. */
static void test_forged_label(void)
{
    static const size_t at[] = { 48, 56 }; /* page_bytes, stripe_bytes */

    for (size_t i = 0; i < G_N_ELEMENTS(at); i++) {
        unsigned char bytes[ARRAY_LABEL_BYTES];
        char error[ARRAY_ERROR_BYTES] = "";
        ArrayLabel label;
        Files f;

        files_init(&f);
        format(&f);
        for (int k = 0; k < N; k++) {
            int fd = open(f.paths[k], O_RDWR);

            g_assert_cmpint(pread(fd, bytes, sizeof(bytes), 0), ==,
                            sizeof(bytes));
            g_assert_cmpint(array_label_decode(bytes, &label, error), ==,
                            ARRAY_LABEL_GOOD);
            *(i ? &label.stripe_bytes : &label.page_bytes) = 0;
            array_label_encode(&label, bytes);
            g_assert_cmpint(bytes[at[i]], ==, 0);
            g_assert_cmpint(pwrite(fd, bytes, sizeof(bytes), 0), ==,
                            sizeof(bytes));
            close(fd);
        }
        assert_contains(open_error(paths(&f), N), "its label says");
        files_clear(&f);
    }
}

/* ---- Commands of the caller's own -------------------------------------- */

typedef struct {
    int pipes[2];
    char letter;
    unsigned heard;
    struct io_uring *ring;
} Caller;

static void caller_listens(Caller *c)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(c->ring);

    io_uring_prep_read(sqe, c->pipes[0], &c->letter, 1, 0);
    sqe->user_data = ARRAY_URING_COMMANDS - 1;
}

static void caller_hears(void *opaque, const struct io_uring_cqe *cqe)
{
    Caller *c = opaque;

    g_assert_cmpuint(cqe->user_data, ==, ARRAY_URING_COMMANDS - 1);
    g_assert_cmpint(cqe->res, ==, 1);
    g_assert_cmpint(c->letter, ==, 'a' + c->heard % 26);
    c->heard++;
    caller_listens(c);
}

/*
 * They end while requests do and while none is outstanding; and one that has
 * not ended keeps nothing from ending.
 */
static void test_commands(gconstpointer way)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    Caller caller = { 0 };
    ArrayUringOptions how = {
        .keys = KEYS, .threads = threads_of(way), .commands = 1,
        .ended = caller_hears, .opaque = &caller,
    };
    uint64_t pages = N * 128 * 16, *versions = g_new0(uint64_t, pages);
    ArrayUring *u;
    Files f;

    files_init(&f);
    format(&f);
    g_assert_cmpint(pipe(caller.pipes), ==, 0);
    u = start_as(&f, &how);
    caller.ring = array_uring_ring(u);
    caller_listens(&caller);
    for (unsigned i = 0; i < 60; i++) {
        char letter = 'a' + i % 26;

        g_assert_cmpint(write(caller.pipes[1], &letter, 1), ==, 1);
        if (i % 2) {
            work(u, rand, versions, pages, 200);
        }
        while (caller.heard == i) {
            array_uring_wait(u);
        }
    }
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    g_assert_cmpuint(caller.heard, ==, 60);
    close(caller.pipes[0]);
    close(caller.pipes[1]);
    g_free(versions);
    files_clear(&f);
}

/*
 * Who never waits, but calls array_uring_run(): what there is to do for drives
 * is handed over, what they have done comes back.
 */
static void test_never_waits(gconstpointer way)
{
    Files f;
    ArrayUring *u;
    uint64_t words[PAGE / 8], pages = N * 128 * 16;

    files_init(&f);
    f.threads = threads_of(way);
    format(&f);
    u = start(&f);
    for (uint64_t i = 0; i < 2 * pages; i++) {
        ArrayRequest r = {
            .op = ARRAY_OP_WRITE, .offset_bytes = i % pages * PAGE,
            .length_bytes = PAGE, .data = words,
        };

        fill(words, i % pages, 1 + i / pages);
        array_uring_submit(u, &r);
        while (!array_uring_reap(u)) {
            array_uring_run(u);
            sched_yield();
        }
        g_assert_cmpint(r.error, ==, 0);
    }
    for (uint64_t i = 0; i < pages; i++) {
        ArrayRequest r = {
            .op = ARRAY_OP_READ, .offset_bytes = i * PAGE,
            .length_bytes = PAGE, .data = words,
        };

        array_uring_submit(u, &r);
        while (!array_uring_reap(u)) {
            array_uring_run(u);
            sched_yield();
        }
        assert_page(words, i, 2);
    }
    array_uring_free(u);
    files_clear(&f);
}

static unsigned reaped(ArrayUring *u)
{
    unsigned n = 0;

    while (array_uring_reap(u)) {
        n++;
    }
    return n;
}

/* So that a read of a drive needs some time, which one of a hole does not. */
static void fill_drives(const Files *f)
{
    g_autofree char *text = g_malloc0(DRIVE_BYTES);

    for (int i = 0; i < N; i++) {
        g_assert_true(g_file_set_contents(f->paths[i], text, DRIVE_BYTES,
                                          NULL));
    }
}

/*
 * After array_uring_run() nothing is left on the ring for a drive that has
 * nothing to do; on an older kernel, nothing at all.
 */
static void test_handed_over(gconstpointer way)
{
    ArrayUringOptions how = {
        .threads = threads_of(way),
        .keys = old_kernel ? KEYS : KEYS ",slots=1,reserved_slots=0",
    };
    uint64_t words[2][PAGE / 8], pages = N * 128 * 16;
    ArrayUring *u;
    Files f;

    files_init(&f);
    fill_drives(&f);
    format(&f);
    u = start_as(&f, &how);
    for (uint64_t i = 0; i < pages; i += 2) {
        ArrayRequest r[2];
        unsigned ended = 0;

        /* Two of one drive; the first is under way when the second comes. */
        for (int k = 0; k < 2; k++) {
            r[k] = (ArrayRequest) {
                .op = ARRAY_OP_READ, .offset_bytes = (i + k) * PAGE,
                .length_bytes = PAGE, .data = words[k],
            };
            array_uring_submit(u, &r[k]);
            array_uring_run(u);
            ended += reaped(u);
        }
        while (ended < 2) {
            if (!fails_with) {
                g_assert_cmpuint(io_uring_sq_ready(array_uring_ring(u)), ==, 0);
            }
            sched_yield();
            array_uring_run(u);
            ended += reaped(u);
        }
    }
    array_uring_free(u);
    files_clear(&f);
}

/* A kernel that is busy, and signals, two calls of three: nothing is lost. */
static void test_busy_kernel(void)
{
    static const int codes[] = { -EINTR, -EAGAIN, -EBUSY };

    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        fails_with = codes[i];
        test_handed_over(GUINT_TO_POINTER(ARRAY_URING_ALONE));
    }
    fails_with = 0;
}

static int interruptions, wakes; /* so many before something comes */

static void interrupted(int signal)
{
    (void)signal;
    if (!--interruptions && write(wakes, "x", 1) != 1) {
        abort();
    }
}

/* Somebody who waits for a command hears of its end, and of nothing before. */
static void test_finish(void)
{
    struct sigaction action = { .sa_handler = interrupted }, before;
    struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { 0 };
    struct io_uring_sqe *sqe;
    struct io_uring ring;
    int pipes[2], code;
    char letter = 0;

    g_assert_cmpint(pipe(pipes), ==, 0);
    g_assert_cmpint(io_uring_queue_init(2, &ring, 0), ==, 0);
    sqe = io_uring_get_sqe(&ring);
    io_uring_prep_read(sqe, pipes[0], &letter, 1, 0);
    interruptions = 20;
    wakes = pipes[1];
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    code = array_ring_finish(&ring);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    g_assert_cmpint(code, ==, 1);
    g_assert_cmpint(letter, ==, 'x');
    g_assert_cmpint(interruptions, <=, 0);
    io_uring_queue_exit(&ring);
    close(pipes[0]);
    close(pipes[1]);
}

/* A ring that has broken ends the process: there is no other way to say it. */
static void test_broken_ring(gconstpointer way)
{
    uint64_t words[PAGE / 8];
    ArrayUring *u;
    Files f;

    if (!g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 60 * G_TIME_SPAN_SECOND, 0);
        g_assert_false(g_test_trap_reached_timeout());
        g_test_trap_assert_failed();
        g_test_trap_assert_stderr("*array: io_uring: Bad file descriptor*");
        return;
    }
    files_init(&f);
    f.threads = threads_of(way);
    format(&f);
    u = start(&f);
    files_clear(&f);
    g_atomic_int_set(&fails_with, -EBADF);
    one(u, ARRAY_OP_READ, 0, PAGE, words);
    array_uring_free(u);
}

/* Writes that the core has asked for: each drive has the version. */
static unsigned assert_written(const Files *f, const char *record,
                               uint64_t version)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    uint64_t words[PAGE / 8];
    unsigned writes = 0;

    g_assert_true(g_file_get_contents(record, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", 0);
    for (char **line = lines; *line; line++) {
        unsigned low, drive, slot;
        unsigned long long offset;
        int fd;

        if (sscanf(*line, "i w %u %u %u %llu", &low, &drive, &slot,
                   &offset) != 4) {
            continue;
        }
        fd = g_open(f->paths[drive], O_RDONLY, 0);
        g_assert_cmpint(pread(fd, words, PAGE, offset), ==, PAGE);
        g_assert_cmpuint(words[1], ==, version);
        close(fd);
        writes++;
    }
    return writes;
}

/*
 * What is on its way to the drives when the array goes, ends before that, also
 * where nobody has run or waited since it was asked for.
 */
static void test_freed_under_way(gconstpointer way)
{
    uint64_t words[PAGE / 8], pages = N * 128 * 16;
    g_autofree char *record = NULL;
    char error[ARRAY_ERROR_BYTES];
    Files f;

    files_init(&f);
    f.threads = threads_of(way);
    record = g_build_filename(f.folder, "record", NULL);
    format(&f);
    for (unsigned round = 0; round < 20; round++) {
        ArrayUring *u = start(&f);

        g_assert_true(array_uring_record(u, record, error));
        for (uint64_t i = 0; i < 150 + 10 * round; i++) {
            uint64_t page = i * 7 % pages;

            fill(words, page, round + 1);
            g_assert_cmpint(one(u, ARRAY_OP_WRITE, page * PAGE, PAGE, words),
                            ==, 0);
        }
        array_uring_free(u);
        g_assert_cmpuint(assert_written(&f, record, round + 1), >, 0);
    }
    g_unlink(record);
    files_clear(&f);
}

/* Tasks of this process, once they are as few as that or time is up. */
static unsigned tasks(unsigned few)
{
    unsigned n = 0;

    for (int i = 0; i < 200; i++) {
        GDir *folder = g_dir_open("/proc/self/task", 0, NULL);

        n = 0;
        while (g_dir_read_name(folder)) {
            n++;
        }
        g_dir_close(folder);
        if (n <= few) {
            break;
        }
        g_usleep(10000);
    }
    return n;
}

/* The choice that is left to the array: by the processors it may use. */
static void test_auto(void)
{
    unsigned before = tasks(0);
    cpu_set_t all, one_of_them;
    ArrayUring *u;
    Files f;

    files_init(&f);
    format(&f);
    g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
    CPU_ZERO(&one_of_them);
    for (int i = 0; !CPU_COUNT(&one_of_them); i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one_of_them);
        }
    }
    g_assert_cmpint(sched_setaffinity(0, sizeof(all), &one_of_them), ==, 0);
    u = start(&f);
    g_assert_cmpuint(tasks(before), <=, before);
    array_uring_free(u);
    g_assert_cmpint(sched_setaffinity(0, sizeof(all), &all), ==, 0);
    u = start(&f);
    if (CPU_COUNT(&all) > 1) {
        g_assert_cmpuint(tasks(0), >=, before + N);
    }
    array_uring_free(u);
    files_clear(&f);
}

static void add_old(const char *name, GTestDataFunc test)
{
    g_autofree char *old = g_strdup_printf("/array/uring/old/%s", name);

    g_test_add_data_func(old, GUINT_TO_POINTER(ON_OLD_KERNEL), test);
}

static void add(const char *name, GTestDataFunc test)
{
    g_autofree char *ring = g_strdup_printf("/array/uring/ring/%s", name);
    g_autofree char *threads = g_strdup_printf("/array/uring/threads/%s", name);

    g_test_add_data_func(ring, GUINT_TO_POINTER(ARRAY_URING_ALONE), test);
    g_test_add_data_func(threads, GUINT_TO_POINTER(ARRAY_URING_THREADS), test);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!has_io_uring()) {
        return 77;
    }
    add("contents", test_contents);
    add("killed", test_killed);
    add("kept", test_kept);
    g_test_add_func("/array/uring/refused", test_refused);
    g_test_add_func("/array/uring/failed-restart", test_failed_restart);
    g_test_add_func("/array/uring/stale-keep", test_stale_keep);
    g_test_add_func("/array/uring/keep-of-another-history",
                    test_keep_of_another_history);
    g_test_add_func("/array/uring/drive-of-another-history",
                    test_drive_of_another_history);
    g_test_add_func("/array/uring/torn-keep", test_torn_keep);
    g_test_add_func("/array/uring/old-contents", test_old_contents);
    g_test_add_func("/array/uring/forged-label", test_forged_label);
    g_test_add_func("/array/uring/refused-untouched", test_refused_untouched);
    add("drive-fails", test_drive_fails);
    add("commands", test_commands);
    add("never-waits", test_never_waits);
    g_test_add_func("/array/uring/auto", test_auto);
    g_test_add_func("/array/uring/ring/busy-kernel", test_busy_kernel);
    g_test_add_func("/array/uring/ring/finish", test_finish);
    add("broken-ring", test_broken_ring);
    add("freed-under-way", test_freed_under_way);
    add_old("contents", test_contents);
    add_old("commands", test_commands);
    add_old("never-waits", test_never_waits);
    add_old("freed-under-way", test_freed_under_way);
    add_old("handed-over", test_handed_over);
    g_test_add_data_func("/array/uring/ring/handed-over",
                         GUINT_TO_POINTER(ARRAY_URING_ALONE), test_handed_over);
    return g_test_run();
}
