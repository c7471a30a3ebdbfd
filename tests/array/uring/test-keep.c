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

#define BUFFERS 8u

static const ArrayLabel label = { .array = { 7, 1, 8 }, .page_bytes = PAGE };

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

    if (!keep_make(k, path, &label, 1, BUFFERS, error)) {
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
    g_assert_false(keep_make(&second, path, &label, 1, BUFFERS, error));
    assert_contains(error, ".new: is in use");
    assert_put(&first, 1);
    take_over(&first, path);
    g_assert_false(keep_open(&left, path, &label, 1, 100, error));
    assert_contains(error, ": is in use");
    /* Its other name is free now; nobody else gets so far as to take over. */
    make(&second, path);
    assert_put(&first, 1);
    keep_end(&second, path, false);
    g_assert_false(g_file_test(fresh, G_FILE_TEST_EXISTS));
    /* As its process would end. */
    keep_close(&first);
    g_assert_true(keep_open(&left, path, &label, 1, 100, error));
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
    g_assert_true(keep_open(&left, path, &label, 1, 100, error));
    assert_put(&left, 1);
    keep_close(&left);
    /* And what was opened as PATH is not what is there now. */
    put(&second, 2);
    renamed_from = fresh;
    g_assert_true(keep_open(&left, path, &label, 1, 100, error) == false);
    assert_contains(error, ": is in use");
    keep_close(&second);
    g_assert_true(keep_open(&left, path, &label, 1, 100, error));
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

    g_assert_false(keep_make(&k, fresh, &label, 1, BUFFERS, error));
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

int main(int argc, char **argv)
{
    struct io_uring ring;
    int code = io_uring_queue_init(1, &ring, 0);

    g_test_init(&argc, &argv, NULL);
    if (code) {
        g_printerr("io_uring: %s\n", strerror(-code));
        return 77;
    }
    io_uring_queue_exit(&ring);
    g_test_add_func("/array/keep/in-use", test_in_use);
    g_test_add_func("/array/keep/renamed-meanwhile", test_renamed_meanwhile);
    g_test_add_func("/array/keep/named-as-fresh", test_named_as_fresh);
    g_test_add_func("/array/keep/two-servers", test_two_servers);
    return g_test_run();
}
