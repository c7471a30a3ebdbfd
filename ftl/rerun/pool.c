/*
 * Child processes, each with a pipe to the parent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rerun/pool.h"
#include "scarp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    pid_t pid;
    int fd; /* -1: the process has ended */
    uint64_t number;
    GString *said;
} Child;

struct RerunPool {
    uint32_t at_once;
    FILE *out;
    const char *key;
    GPtrArray *children; /* Child, in the order in which they began */
};

RerunPool *rerun_pool_new(uint32_t at_once, FILE *out, const char *key)
{
    RerunPool *pool = g_new0(RerunPool, 1);

    pool->at_once = at_once;
    pool->out = out;
    pool->key = key;
    pool->children = g_ptr_array_new();
    return pool;
}

void rerun_pool_free(RerunPool *pool)
{
    g_assert(!pool->children->len);
    g_ptr_array_unref(pool->children);
    g_free(pool);
}

/*
 * Waits for the end of a child whose pipe is closed. If the child ended by a
 * signal or with a status other than 0, adds a line about that to the child's
 * output.
 */
static void bury(const RerunPool *pool, Child *child)
{
    int status;

    close(child->fd);
    child->fd = -1;
    while (waitpid(child->pid, &status, 0) < 0) {
        g_assert(errno == EINTR);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        g_string_append_printf(
            child->said, "{\"%s\": %" G_GUINT64_FORMAT ", \"fault\": \"the "
            "engine died: %s %d\", \"error\": null}\n", pool->key,
            child->number,
            WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static void listen_to(const RerunPool *pool, Child *child)
{
    char bytes[4096];
    ssize_t n = read(child->fd, bytes, sizeof(bytes));

    if (n > 0) {
        g_string_append_len(child->said, bytes, n);
    } else if (!n || errno != EINTR) {
        bury(pool, child);
    }
}

/*
 * Writes the lines of children that have ended, in the order in which the
 * children began.
 */
static void tell_ended(RerunPool *pool)
{
    while (pool->children->len) {
        Child *child = pool->children->pdata[0];

        if (child->fd >= 0) {
            return;
        }
        fwrite(child->said->str, 1, child->said->len, pool->out);
        fflush(pool->out);
        g_string_free(child->said, true);
        g_free(child);
        g_ptr_array_remove_index(pool->children, 0);
    }
}

static void listen_to_all(RerunPool *pool)
{
    guint n = pool->children->len;
    g_autofree struct pollfd *fds = g_new0(struct pollfd, n);

    for (guint i = 0; i < n; i++) {
        Child *child = pool->children->pdata[i];

        fds[i] = (struct pollfd) { .fd = child->fd, .events = POLLIN };
    }
    if (poll(fds, n, -1) < 0) {
        return; /* a signal came; the caller handles it */
    }
    for (guint i = 0; i < n; i++) {
        if (fds[i].revents) {
            listen_to(pool, pool->children->pdata[i]);
        }
    }
    tell_ended(pool);
}

static uint32_t alive(const RerunPool *pool)
{
    uint32_t n = 0;

    for (guint i = 0; i < pool->children->len; i++) {
        n += ((const Child *)pool->children->pdata[i])->fd >= 0;
    }
    return n;
}

bool rerun_pool_fork(RerunPool *pool, uint64_t number, FILE **out,
                     GError **error)
{
    Child *child;
    int fds[2];
    pid_t pid;

    while (alive(pool) >= pool->at_once) {
        listen_to_all(pool);
    }
    *out = NULL;
    /* The child would write the text that is buffered here once more. */
    fflush(pool->out);
    if (pipe(fds)) {
        pid = -1;
    } else {
        pid = fork();
        if (pid < 0) {
            close(fds[0]);
            close(fds[1]);
        }
    }
    if (pid < 0) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s %" G_GUINT64_FORMAT ": no process for it: %s",
                    pool->key, number, g_strerror(errno));
        return false;
    }
    if (!pid) {
        close(fds[0]);
        *out = fdopen(fds[1], "w");
        return true;
    }
    close(fds[1]);
    child = g_new0(Child, 1);
    *child = (Child) { .pid = pid, .fd = fds[0], .number = number,
                       .said = g_string_new(NULL) };
    g_ptr_array_add(pool->children, child);
    return true;
}

void rerun_pool_child_end(FILE *out)
{
    int status = fflush(out) ? 1 : 0;

    _exit(status);
}

void rerun_pool_wait(RerunPool *pool)
{
    while (pool->children->len) {
        listen_to_all(pool);
    }
}
