/*
 * The cache in a file: who may have it, what of it is taken, and what a process
 * that is killed leaves in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "files.h"
#include "keep.h"

#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <sys/file.h>
#include <sys/ptrace.h>

#define BUFFERS 8u

/* 1 under the thread sanitizer: most instructions are its own then. */
#ifndef THREADS_WATCHED
#define THREADS_WATCHED 0
#endif

static const ArrayLabel label = { .array = { 7, 1, 8 }, .page_bytes = PAGE };
static const KeepRun run_one = { 1, 31, 30 };
static const ArrayRuns of_one = { 1, 1, 31 };

/* Between the opening of a file and its lock, once: this is renamed. */
static const char *renamed_from, *renamed_to;

int flock(int fd, int operation)
{
    int (*real)(int, int) = dlsym(RTLD_NEXT, __func__);

    if (renamed_from && (operation & LOCK_EX)) {
        g_assert_cmpint(rename(renamed_from, renamed_to), ==, 0);
        renamed_from = NULL;
    }
    return real(fd, operation);
}

/* How often somebody waited for a file that another server may have. */
static unsigned waits;

int usleep(useconds_t us)
{
    int (*real)(useconds_t) = dlsym(RTLD_NEXT, __func__);

    waits++;
    return real(us);
}

/* Memory of files on a disk cannot be registered. */
static char *keep_path(void)
{
    return g_strdup_printf("/dev/shm/array-keep-%d", getpid());
}

static char *fresh_path(const char *path)
{
    return g_strconcat(path, ".new", NULL);
}

static void make(Keep *k, const char *path)
{
    char error[ARRAY_ERROR_BYTES] = "";

    if (!keep_make(k, path, &label, &run_one, BUFFERS, error)) {
        g_error("%s", error);
    }
}

/* Page 5 with contents, as a server leaves it. */
static void put(Keep *k, int byte)
{
    k->marks[3] = 6;
    memset((char *)k->memory + 3 * PAGE, byte, PAGE);
}

static void assert_put(const Keep *k, int byte)
{
    const char *page = (const char *)k->memory + 3 * PAGE;

    g_assert_cmpuint(k->marks[3], ==, 6);
    for (unsigned i = 0; i < PAGE; i++) {
        g_assert_cmpint(page[i], ==, byte);
    }
}

static void take_over(Keep *k, const char *path)
{
    char error[ARRAY_ERROR_BYTES] = "";

    g_assert_true(keep_take_over(k, path, error));
}

/* Whoever begins with a file has it alone, under both of its names. */
static void test_in_use(void)
{
    g_autofree char *path = keep_path(), *fresh = fresh_path(path);
    char error[ARRAY_ERROR_BYTES] = "";
    Keep first, second, left;

    make(&first, path);
    put(&first, 1);
    g_assert_false(keep_make(&second, path, &label, &run_one, BUFFERS, error));
    assert_contains(error, ".new: is in use");
    assert_put(&first, 1);
    take_over(&first, path);
    g_assert_false(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_contains(error, ": is in use");
    /* Its other name is free now; nobody else gets so far as to take over. */
    make(&second, path);
    assert_put(&first, 1);
    keep_end(&second, path, false);
    g_assert_false(g_file_test(fresh, G_FILE_TEST_EXISTS));
    /* As its process would end. */
    keep_close(&first);
    g_assert_true(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_put(&left, 1);
    keep_close(&left);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

/* What was opened as PATH.new is PATH, and its server gone, when it locks. */
static void test_renamed_meanwhile(void)
{
    g_autofree char *path = keep_path(), *fresh = fresh_path(path);
    char error[ARRAY_ERROR_BYTES] = "";
    Keep first, second, left;

    make(&first, path);
    put(&first, 1);
    keep_close(&first);
    renamed_from = fresh;
    renamed_to = path;
    make(&second, path);
    g_assert_null(renamed_from);
    g_assert_true(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_put(&left, 1);
    keep_close(&left);
    /* And what was opened as PATH is not what is there now. */
    put(&second, 2);
    renamed_from = fresh;
    g_assert_false(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_contains(error, ": is in use");
    keep_close(&second);
    g_assert_true(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_put(&left, 2);
    keep_close(&left);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

/* PATH.new as a cache that serves would be what PATH begins with. */
static void test_named_as_fresh(void)
{
    char error[ARRAY_ERROR_BYTES] = "";
    g_autofree char *path = keep_path(), *fresh = fresh_path(path);
    Keep k;

    g_assert_false(keep_make(&k, fresh, &label, &run_one, BUFFERS, error));
    assert_contains(error, ".new: must not end in .new");
    g_assert_false(g_file_test(fresh, G_FILE_TEST_EXISTS));
}

/* A server is given the file of another one, of another array, that serves. */
static void test_two_servers(void)
{
    g_autofree char *path = keep_path(), *said = NULL;
    uint64_t words[PAGE / 8];
    ArrayUring *u;
    Files f, g;

    files_init(&f);
    files_init(&g);
    format(&f);
    format(&g);
    u = start_with(&f, path);
    for (uint64_t i = 0; i < 200; i++) {
        fill(words, i, 1);
        g_assert_cmpint(one(u, ARRAY_OP_WRITE, i * PAGE, PAGE, words), ==, 0);
    }
    said = start_error(&g, path);
    assert_contains(said, ": is in use");
    assert_first_pages(u, 200, 1);
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_null(start_error(&g, path));
    u = start(&f);
    assert_first_pages(u, 200, 1);
    array_uring_free(u);
    files_clear(&f);
    files_clear(&g);
}

static void put_back(const Files *f, char *const *contents)
{
    for (int i = 0; i < N; i++) {
        g_assert_true(g_file_set_contents(f->paths[i], contents[i],
                                          DRIVE_BYTES, NULL));
    }
}

/* A cache of a run, and all drives as they were before that run. */
static void test_older_drives(void)
{
    g_autofree char *path = keep_path(), *said = NULL;
    char *old[N + 1] = { NULL }, *later[N + 1] = { NULL };
    ArrayUring *u;
    Files f;

    files_init(&f);
    format(&f);
    array_uring_free(start(&f));
    for (int i = 0; i < N; i++) {
        g_file_get_contents(f.paths[i], &old[i], NULL, NULL);
    }
    leave_behind(&f, path, 5000);
    for (int i = 0; i < N; i++) {
        g_file_get_contents(f.paths[i], &later[i], NULL, NULL);
    }
    put_back(&f, old);
    said = start_error(&f, path);
    assert_contains(said, "has what run 2 of the array left, but the last was "
                    "1: the drives are older");
    for (int i = 0; i < N; i++) {
        g_autofree char *now = NULL;

        g_file_get_contents(f.paths[i], &now, NULL, NULL);
        g_assert_cmpmem(now, DRIVE_BYTES, old[i], DRIVE_BYTES);
    }
    /* With the drives that it is of, it still is what it was. */
    put_back(&f, later);
    u = start_with(&f, path);
    assert_first_pages(u, 5000, 1);
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    for (int i = 0; i < N; i++) {
        g_free(old[i]);
        g_free(later[i]);
    }
    files_clear(&f);
}

/* A device that goes on needs the cache of the server that was killed. */
static void test_recovers(void)
{
    g_autofree char *path = keep_path(), *fresh = fresh_path(path);
    ArrayUringOptions how = { .keys = KEYS, .keep = path, .recovers = true };
    char *before[N + 1] = { NULL }, error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    Files f;

    files_init(&f);
    format(&f);
    array_uring_free(start(&f));
    for (int i = 0; i < N; i++) {
        g_file_get_contents(f.paths[i], &before[i], NULL, NULL);
    }
    g_assert_true(array_drives_open(&drives, paths(&f), N, error));
    g_assert_null(array_uring_new(&drives, &how, error));
    assert_contains(error, ": is not there, and may have had");
    g_assert_false(g_file_test(fresh, G_FILE_TEST_EXISTS));
    for (int i = 0; i < N; i++) {
        g_autofree char *now = NULL;

        g_file_get_contents(f.paths[i], &now, NULL, NULL);
        g_assert_cmpmem(now, DRIVE_BYTES, before[i], DRIVE_BYTES);
        g_free(before[i]);
    }
    /* What was given up on purpose, and what is there. */
    how.keep = NULL;
    array_uring_free(start_as(&f, &how));
    leave_behind(&f, path, 100);
    how.keep = path;
    array_uring_free(start_as(&f, &how));
    files_clear(&f);
}

/* As a server leaves it that is killed when all is on the drives. */
static void leave_clean(const Files *f, const char *path)
{
    g_autofree char *bytes = NULL;
    ArrayUring *u = start_with(f, path);
    gsize length;

    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    array_uring_free(u);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_set_contents(path, bytes, length, NULL));
}

/* What no drive has may be in another cache, or was in none. */
static void test_recovers_with_older(void)
{
    g_autofree char *path = keep_path();
    ArrayUringOptions how = { .keys = KEYS, .keep = path, .recovers = true };
    char *before[N + 1] = { NULL }, error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    Files f;

    files_init(&f);
    format(&f);
    leave_clean(&f, path);
    array_uring_free(start(&f));
    for (int i = 0; i < N; i++) {
        g_file_get_contents(f.paths[i], &before[i], NULL, NULL);
    }
    g_assert_true(array_drives_open(&drives, paths(&f), N, error));
    g_assert_null(array_uring_new(&drives, &how, error));
    assert_contains(error, "has what run 1 of the array left, but the last was "
                    "2: the drives are newer");
    for (int i = 0; i < N; i++) {
        g_autofree char *now = NULL;

        g_file_get_contents(f.paths[i], &now, NULL, NULL);
        g_assert_cmpmem(now, DRIVE_BYTES, before[i], DRIVE_BYTES);
        g_free(before[i]);
    }
    /* Who begins anew misses nothing of it, and recovers with his own. */
    leave_clean(&f, path);
    array_uring_free(start_as(&f, &how));
    files_clear(&f);
}

/* One that has nothing, and is of an older run, does not become a newer one. */
static void test_older_is_not_adopted(void)
{
    static const ArrayRuns later = { 2, 2, 32 };
    g_autofree char *path = keep_path();
    char error[ARRAY_ERROR_BYTES] = "";
    Keep k, left;

    make(&k, path);
    take_over(&k, path);
    keep_close(&k);
    g_assert_true(keep_open(&left, path, &label, &later, 100, false, error));
    g_assert_null(left.base);
    g_assert_false(keep_open(&left, path, &label, &later, 100, true, error));
    assert_contains(error, "the drives are newer");
    g_assert_true(keep_open(&left, path, &label, &of_one, 100, true, error));
    g_assert_nonnull(left.base);
    keep_close(&left);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

/* ---- Starts that come to nothing, and devices ---------------------------- */

/* Begun, and not asked for anything: as where there is no block device. */
static ArrayUring *begin(const Files *f, const ArrayUringOptions *how)
{
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    ArrayUring *u;

    for (int i = 0; !array_drives_open(&drives, paths(f), N, error); i++) {
        if (i == 100 || !strstr(error, "is in use")) {
            g_error("%s", error);
        }
    }
    u = array_uring_new(&drives, how, error);
    if (!u) {
        g_error("%s", error);
    }
    return u;
}

/* NULL: it goes on. */
static char *device_error(const Files *f, uint64_t device)
{
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    bool good;

    g_assert_true(array_drives_open(&drives, paths(f), N, error));
    good = array_device_goes_on(device, &drives.label, drives.device, error);
    array_drives_close(&drives);
    return good ? NULL : g_strdup(error);
}

static void assert_does_not_go_on(const Files *f, uint64_t device)
{
    g_autofree char *said = device_error(f, device);

    assert_contains(said, "served last on another ublk device, or on none");
}

static void begin_and_die(const Files *f, const ArrayUringOptions *how)
{
    pid_t child = fork();
    int status;

    if (!child) {
        begin(f, how);
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
}

/* As it is killed, with a page in its cache. */
static void leave_behind_as(const Files *f, const ArrayUringOptions *how)
{
    pid_t child = fork();
    int status;

    if (!child) {
        uint64_t words[PAGE / 8];
        ArrayUring *u = start_as(f, how);

        fill(words, 0, 3);
        _exit(one(u, ARRAY_OP_WRITE, 0, PAGE, words));
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
}

/* Whatever they were given, and however they end, no cache is old by them. */
static void test_starts_in_vain(void)
{
    g_autofree char *path = keep_path();
    g_autofree char *other = g_strconcat(path, "-other", NULL);
    g_autofree char *fresh = fresh_path(other);
    const char *keeps[] = { NULL, other, path };
    ArrayUringOptions how = { .keys = KEYS };
    ArrayUring *u;
    Files f;

    files_init(&f);
    format(&f);
    g_unlink(fresh);
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(keeps); i++) {
        leave_behind(&f, path, 300);
        how.keep = keeps[i / 2];
        if (i % 2) {
            begin_and_die(&f, &how);
        } else {
            u = begin(&f, &how);
            g_assert_cmpint(array_uring_flush(u), ==, 0);
            array_uring_free(u);
        }
        g_assert_false(g_file_test(other, G_FILE_TEST_EXISTS));
        u = start_with(&f, path);
        assert_first_pages(u, 300, 1);
        array_uring_free(u);
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    }
    g_unlink(fresh);
    files_clear(&f);
}

/* Only the device goes on that was served on last. */
static void test_devices(void)
{
    g_autofree char *path = keep_path(), *said = NULL;
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayUringOptions how = { .keys = KEYS };
    uint64_t first, second, old;
    ArrayDrives drives;
    Files f;

    files_init(&f);
    format(&f);
    g_assert_true(array_drives_open(&drives, paths(&f), N, error));
    first = array_device_number(&drives.label, 1);
    second = array_device_number(&drives.label, 2);
    memcpy(&old, drives.label.array, sizeof(old));
    array_drives_close(&drives);
    /* No program that tells has served. */
    g_assert_null(device_error(&f, old));
    how.device = first;
    array_uring_free(start_as(&f, &how));
    g_assert_null(device_error(&f, first));
    assert_does_not_go_on(&f, second);
    assert_does_not_go_on(&f, old);
    said = device_error(&f, first ^ UINT64_C(1) << 32);
    assert_contains(said, "the ublk device is not this array's");
    /* Others that come to nothing, more than there are blocks. */
    how.device = second;
    for (int i = 0; i < 3; i++) {
        array_uring_free(begin(&f, &how));
        g_assert_null(device_error(&f, first));
    }
    /* Nor does it miss anything by what another one writes for it. */
    how.device = first;
    how.keep = path;
    leave_behind_as(&f, &how);
    how.device = second;
    array_uring_free(begin(&f, &how));
    g_assert_null(device_error(&f, first));
    array_uring_free(start_as(&f, &how));
    g_assert_null(device_error(&f, second));
    assert_does_not_go_on(&f, first);
    /* What is served on no device is as new. */
    array_uring_free(start(&f));
    assert_does_not_go_on(&f, second);
    files_clear(&f);
}

/* ---- Other names -------------------------------------------------------- */

/* Page 0 is newer than in a cache that was written to the drives before. */
static void serve_newer(const Files *f, const char *path)
{
    ArrayUring *u = start_with(f, path);
    uint64_t words[PAGE / 8];

    for (uint64_t i = 0; i < 100; i++) {
        fill(words, i, 2);
        g_assert_cmpint(one(u, ARRAY_OP_WRITE, i * PAGE, PAGE, words), ==, 0);
    }
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* What has another name, hard or symbolic, is not written once more. */
static void test_other_names(void)
{
    g_autofree char *path = keep_path();
    g_autofree char *name = g_strconcat(path, "-name", NULL);
    ArrayUringOptions how = { .keys = KEYS, .keep = name, .recovers = true };
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    ArrayUring *u;
    Files f;

    files_init(&f);
    format(&f);
    for (int symbolic = 0; symbolic < 2; symbolic++) {
        leave_behind(&f, symbolic ? name : path, 100);
        g_assert_cmpint(symbolic ? symlink(name, path) : link(path, name), ==,
                        0);
        serve_newer(&f, path);
        g_assert_true(g_file_test(name, G_FILE_TEST_EXISTS));
        g_assert_true(array_drives_open(&drives, paths(&f), N, error));
        g_assert_null(array_uring_new(&drives, &how, error));
        assert_contains(error, "the drives are newer");
        u = start_with(&f, name);
        assert_first_pages(u, 100, 2);
        array_uring_free(u);
    }
    files_clear(&f);
}

/* PATH.new is emptied, so it may be no other cache. */
static void test_fresh_is_another(void)
{
    g_autofree char *path = keep_path(), *fresh = fresh_path(path);
    char error[ARRAY_ERROR_BYTES] = "";
    Keep k, left;

    make(&k, path);
    put(&k, 1);
    take_over(&k, path);
    keep_close(&k);
    g_assert_cmpint(link(path, fresh), ==, 0);
    g_assert_false(keep_make(&k, path, &label, &run_one, BUFFERS, error));
    assert_contains(error, ".new: is another file's name, too");
    g_assert_cmpint(g_unlink(fresh), ==, 0);
    g_assert_cmpint(symlink(path, fresh), ==, 0);
    g_assert_false(keep_make(&k, path, &label, &run_one, BUFFERS, error));
    assert_contains(error, ".new: ");
    g_assert_true(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_put(&left, 1);
    keep_close(&left);
    g_unlink(fresh);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

/*
 * Another server may be about to let go of a file that is in use: that is worth
 * a second.  What cannot be opened at all is told at once.
 */
static void test_waits_for_servers_only(void)
{
    g_autofree char *path = keep_path(), *fresh = fresh_path(path);
    char error[ARRAY_ERROR_BYTES] = "";
    Keep k, second;

    waits = 0;
    g_assert_cmpint(symlink(path, fresh), ==, 0);
    g_assert_false(keep_make(&k, path, &label, &run_one, BUFFERS, error));
    assert_contains(error, g_strerror(ELOOP));
    g_assert_cmpint(g_unlink(fresh), ==, 0);
    g_assert_cmpint(g_mkdir(fresh, 0700), ==, 0);
    g_assert_false(keep_make(&k, path, &label, &run_one, BUFFERS, error));
    assert_contains(error, g_strerror(EISDIR));
    g_assert_cmpint(g_rmdir(fresh), ==, 0);
    g_assert_cmpuint(waits, ==, 0);
    make(&k, path);
    g_assert_cmpuint(waits, ==, 0);
    g_assert_false(keep_make(&second, path, &label, &run_one, BUFFERS, error));
    g_assert_cmpuint(waits, >, 0);
    keep_end(&k, path, false);
}

/* ---- What a process that is killed leaves ------------------------------- */

/* The core between two marks: a page is named twice.  No more than one is. */
static void test_named_twice(void)
{
    g_autofree char *path = keep_path();
    char error[ARRAY_ERROR_BYTES] = "";
    Keep k, left;

    make(&k, path);
    put(&k, 1);
    k.marks[5] = k.marks[3];
    memset((char *)k.memory + 5 * PAGE, 1, PAGE);
    k.marks[1] = 10;
    take_over(&k, path);
    keep_close(&k);
    g_assert_true(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_put(&left, 1);
    left.marks[7] = 10;
    keep_close(&left);
    g_assert_false(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_contains(error, "or some twice");
    poke(path, 4096 + 7 * 8, 6);
    g_assert_false(keep_open(&left, path, &label, &of_one, 100, false, error));
    assert_contains(error, "or some twice");
    g_assert_cmpint(g_unlink(path), ==, 0);
}

/*
 * Taken over by a run that starts.  Killed after any of the steps, before it
 * serves, or when it does: who comes then finds it of the right run.
 */
static void test_adopted(void)
{
    static const KeepRun two = { 2, 32, 31 }, other = { 2, 42, 41 };
    static const ArrayRuns starts = { 2, 1, 31 }, serves = { 2, 2, 32 };
    static const ArrayRuns again = { 3, 1, 31 }, else_one = { 1, 1, 41 };
    /* As keep_adopt() goes: which of the three are of run two already. */
    static const unsigned steps[] = { 0, 4, 5, 7 };
    g_autofree char *path = keep_path();
    char error[ARRAY_ERROR_BYTES] = "";
    Keep k, left;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        KeepRun of = {
            steps[i] & 1 ? two.number : run_one.number,
            steps[i] & 2 ? two.id : run_one.id,
            steps[i] & 4 ? two.after_id : run_one.after_id,
        };

        g_assert_true(keep_make(&k, path, &label, &of, BUFFERS, error));
        put(&k, 1);
        take_over(&k, path);
        keep_close(&k);
        g_assert_true(keep_open(&left, path, &label, &starts, 100, false,
                                error));
        keep_close(&left);
        g_assert_true(keep_open(&left, path, &label, &again, 100, false,
                                error));
        keep_close(&left);
        g_assert_false(keep_open(&left, path, &label, &else_one, 100, false,
                                 error));
    }
    g_assert_true(keep_open(&left, path, &label, &serves, 100, false, error));
    keep_close(&left);
    make(&k, path);
    put(&k, 1);
    keep_adopt(&k, &two);
    take_over(&k, path);
    keep_close(&k);
    g_assert_true(keep_open(&left, path, &label, &starts, 100, false, error));
    keep_close(&left);
    make(&k, path);
    put(&k, 1);
    keep_adopt(&k, &other);
    take_over(&k, path);
    keep_close(&k);
    g_assert_false(keep_open(&left, path, &label, &serves, 100, false, error));
    assert_contains(error, "is of another run 2 of the array");
    g_assert_false(keep_open(&left, path, &label, &starts, 100, false, error));
    assert_contains(error, "is of another run 2 of the array");
    g_assert_cmpint(g_unlink(path), ==, 0);
}

#define SMALL 1024u /* bytes of a page, so that there are few instructions */
#define SECTOR 512u
#define MOST_WRITES 8u

/* What a process has done, as another one sees it while it goes on. */
typedef struct {
    unsigned acknowledged;   /* writes */
    unsigned char disk[SMALL]; /* the page on its drive */
} Progress;

typedef struct {
    Keep keep;
    Progress *progress;
    ArrayConfig config;
    Array *array;
    ArrayIo *io; /* of the page, under way */
    ArrayRequest *ended;
    /* contents[n]: of the page after so many writes */
    unsigned char contents[MOST_WRITES + 1][SMALL];
    unsigned writes;
} Stepped;

static void stepped_issue(void *opaque, ArrayIo *io)
{
    Stepped *s = opaque;

    s->io = io;
}

static void stepped_done(void *opaque, ArrayRequest *request)
{
    Stepped *s = opaque;

    s->ended = request;
}

static void stepped_init(Stepped *s, const char *path)
{
    static const ArrayOps ops = { stepped_issue, stepped_done };
    ArrayLabel small = label;
    uint64_t drive_bytes = 64 * SMALL;
    char error[ARRAY_ERROR_BYTES] = "";

    memset(s, 0, sizeof(*s));
    array_config_init(&s->config);
    if (!array_config_parse(&s->config, "page_bytes=1024,stripe_bytes=1024,"
                            "cache_bytes=2048,set_pages=2,dirty_pages=1,"
                            "flush_batch=1,stale_score=1,slots=2,"
                            "reserved_slots=1,flusher=0", error)) {
        g_error("%s", error);
    }
    s->config.n_drives = 1;
    s->config.drive_bytes = &drive_bytes;
    small.page_bytes = SMALL;
    g_assert_true(keep_make(&s->keep, path, &small, &run_one,
                            array_buffers(&s->config), error));
    s->config.memory = s->keep.memory;
    s->config.marks = s->keep.marks;
    s->array = array_new(&s->config, &ops, s, error);
    g_assert_nonnull(s->array);
    s->progress = mmap(NULL, sizeof(*s->progress), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void stepped_clear(Stepped *s, const char *path)
{
    array_free(s->array);
    munmap(s->progress, sizeof(*s->progress));
    keep_end(&s->keep, path, true);
}

/* The next write of the page, told when it has ended. */
static void next_write(Stepped *s, unsigned from, unsigned bytes)
{
    unsigned n = s->progress->acknowledged + 1;
    ArrayRequest write = {
        .op = ARRAY_OP_WRITE, .offset_bytes = from, .length_bytes = bytes,
        .data = s->contents[n] + from,
    };

    array_submit(s->array, &write);
    if (s->ended != &write || write.error) {
        _exit(1);
    }
    __atomic_store_n(&s->progress->acknowledged, n, __ATOMIC_RELEASE);
}

/* The drive has the page as it was given it. */
static void page_written(Stepped *s)
{
    memcpy(s->progress->disk, s->io->data, SMALL);
    array_io_done(s->array, s->io, 0);
}

static void flush_begins(Stepped *s, ArrayRequest *flush)
{
    *flush = (ArrayRequest) { .op = ARRAY_OP_FLUSH };
    array_submit(s->array, flush);
}

/* How the contents of the page change, for who looks and for who writes. */
static void will_write(Stepped *s, unsigned from, unsigned bytes)
{
    unsigned n = ++s->writes;

    memcpy(s->contents[n], s->contents[n - 1], SMALL);
    memset(s->contents[n] + from, n, bytes);
}

/* What has been acknowledged, or that and the write that comes then. */
static void assert_sectors(const Stepped *s, const unsigned char *page)
{
    unsigned n = __atomic_load_n(&s->progress->acknowledged, __ATOMIC_ACQUIRE);
    unsigned next = MIN(n + 1, s->writes);

    for (unsigned at = 0; at < SMALL; at += SECTOR) {
        if (memcmp(page + at, s->contents[n] + at, SECTOR) &&
            memcmp(page + at, s->contents[next] + at, SECTOR)) {
            g_error("after %u writes: sector %u has neither", n, at / SECTOR);
        }
    }
}

/* Were it killed now: the next server takes it, and the page is as it was. */
static void assert_taken(const Stepped *s, const char *copy)
{
    ArrayLabel small = label;
    char error[ARRAY_ERROR_BYTES] = "";
    Keep left;

    small.page_bytes = SMALL;
    g_assert_true(g_file_set_contents(copy, s->keep.base, s->keep.bytes, NULL));
    if (!keep_open(&left, copy, &small, &of_one, 64, false, error)) {
        g_error("after %u writes: %s", s->progress->acknowledged, error);
    }
    keep_close(&left);
}

static void assert_page_kept(const Stepped *s)
{
    bool marked = false;

    for (uint64_t i = 0; i < s->keep.buffers; i++) {
        if (s->keep.marks[i]) {
            marked = true;
            assert_sectors(s, (unsigned char *)s->keep.memory + i * SMALL);
        }
    }
    if (!marked) {
        assert_sectors(s, s->progress->disk);
    }
}

/* Instruction by instruction, until it ends.  0: it could not be traced. */
static unsigned step_through(const Stepped *s, pid_t child, const char *copy)
{
    size_t bytes = s->keep.buffers * sizeof(*s->keep.marks);
    g_autofree uint64_t *marks = g_malloc0(bytes);
    unsigned steps = 0;
    int status;

    for (;; steps++) {
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        if (!WIFSTOPPED(status)) {
            break;
        }
        if (memcmp(marks, s->keep.marks, bytes)) {
            memcpy(marks, s->keep.marks, bytes);
            assert_taken(s, copy);
        }
        assert_page_kept(s);
        g_assert_cmpint(ptrace(PTRACE_SINGLESTEP, child, 0, 0), ==, 0);
    }
    g_assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        return 0;
    }
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    return steps;
}

/*
 * A process may be killed at any instruction: what is there after each is right
 * for the next server.
 */
static void test_every_instruction(void)
{
    g_autofree char *path = keep_path();
    g_autofree char *copy = g_strconcat(path, ".copy", NULL);
    ArrayRequest flush;
    unsigned steps;
    Stepped s;
    pid_t child;

    stepped_init(&s, path);
    for (unsigned i = 0; i < 6; i++) {
        will_write(&s, i % 3 ? 100 * i : 0, i % 3 ? 300 : SMALL);
    }
    child = fork();
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0)) {
            _exit(77);
        }
        raise(SIGSTOP);
        /* Of the whole page, and of parts of it, with the old ones alone. */
        next_write(&s, 0, SMALL);
        next_write(&s, 100, 300);
        next_write(&s, 200, 300);
        next_write(&s, 0, SMALL);
        flush_begins(&s, &flush);
        /* It is on its way to its drive, then there is another one. */
        next_write(&s, 400, 300);
        next_write(&s, 500, 300);
        page_written(&s);
        _exit(0);
    }
    steps = step_through(&s, child, copy);
    g_unlink(copy);
    if (steps) {
        g_assert_cmpuint(steps, >, 1000);
        g_assert_cmpuint(s.progress->acknowledged, ==, s.writes);
    } else {
        g_test_skip("a process may not be traced");
    }
    stepped_clear(&s, path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!has_io_uring()) {
        return 77;
    }
    g_test_add_func("/array/keep/in-use", test_in_use);
    g_test_add_func("/array/keep/renamed-meanwhile", test_renamed_meanwhile);
    g_test_add_func("/array/keep/named-as-fresh", test_named_as_fresh);
    g_test_add_func("/array/keep/two-servers", test_two_servers);
    g_test_add_func("/array/keep/older-drives", test_older_drives);
    g_test_add_func("/array/keep/recovers", test_recovers);
    g_test_add_func("/array/keep/recovers-with-older",
                    test_recovers_with_older);
    g_test_add_func("/array/keep/older-is-not-adopted",
                    test_older_is_not_adopted);
    g_test_add_func("/array/keep/starts-in-vain", test_starts_in_vain);
    g_test_add_func("/array/keep/devices", test_devices);
    g_test_add_func("/array/keep/other-names", test_other_names);
    g_test_add_func("/array/keep/fresh-is-another", test_fresh_is_another);
    g_test_add_func("/array/keep/waits-for-servers-only",
                    test_waits_for_servers_only);
    g_test_add_func("/array/keep/named-twice", test_named_twice);
    g_test_add_func("/array/keep/adopted", test_adopted);
    if (!THREADS_WATCHED) {
        g_test_add_func("/array/keep/every-instruction",
                        test_every_instruction);
    }
    return g_test_run();
}
