/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * So many requests at once, for SSDsim, whose trace says when each request comes.
 *
 *     LD_PRELOAD=ssdsim_feed.so SSDSIM_FEED=FILE .../ssd
 *
 * SSDsim reads its trace line by line, goes back to a line whose time has not come,
 * and logs each request as soon as it is done.  So the trace need not be there
 * beforehand: here a line is made when it is read.  In a closed step its time is that
 * at which a request before it was done.  While no request may come yet, the line that
 * is read is one of a time far away.
 *
 * FILE has "S DEPTH GAP" for a step (DEPTH 0: each request at its time), and for each
 * request "Q TIME SECTOR SECTORS READ" with TIME in nanoseconds from the step's begin.
 * A step begins GAP nanoseconds after all before it was done.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define FAR (INT64_C(1) << 60)
/* All lines of the trace are so long, so that a place in it says which line it is in. */
#define LINE 64
#define TRACE "feed.ascii"
#define LOG "ex.out"

struct request {
    int64_t time;
    int sector, sectors, read;
    bool first; /* of its step, whose depth and gap these are */
    int depth;
    int64_t gap;
};

static struct request *requests;
static int64_t count;     /* of them */
static int64_t taken;     /* that SSDsim has taken */
static int64_t done;      /* of those */
static int64_t end;       /* of the last that was done */
static int64_t begin;     /* of the step */
static int64_t last;      /* time that was given last */
static int64_t *freed;    /* when the request was done that was done as so-manieth */
static int64_t step_from; /* first request of the step */
static int depth;         /* of the step */

static char line[LINE + 1];
static int64_t in_line = -1;
static int64_t position;
static bool far; /* the line that was read last is no request */

static char said[512];
static size_t said_size;

static void fail(const char *why)
{
    fprintf(stderr, "ssdsim_feed: %s\n", why);
    _Exit(3);
}

static void load(void)
{
    const char *name = getenv("SSDSIM_FEED");
    FILE *file = name ? fopen(name, "r") : NULL;
    int64_t room = 0;
    char text[128];
    struct request step = {0};

    if (file == NULL) {
        fail("SSDSIM_FEED names no file");
    }
    while (fgets(text, sizeof text, file) != NULL) {
        struct request one = {0};

        if (sscanf(text, "S %d %" SCNd64, &step.depth, &step.gap) == 2) {
            step.first = true;
            continue;
        }
        if (sscanf(text, "Q %" SCNd64 " %d %d %d", &one.time, &one.sector, &one.sectors,
                   &one.read) != 4) {
            fail("a line of the file is neither step nor request");
        }
        one.first = step.first;
        one.depth = step.depth;
        one.gap = step.gap;
        step.first = false;
        if (count == room) {
            room = room ? 2 * room : 4096;
            requests = realloc(requests, (size_t)room * sizeof *requests);
            if (requests == NULL) {
                fail("no memory");
            }
        }
        requests[count++] = one;
    }
    fclose(file);
    freed = calloc((size_t)count + 1, sizeof *freed);
    if (freed == NULL) {
        fail("no memory");
    }
}

/* When the next request comes, as far as that is known; else a time far away. */
static int64_t next_time(void)
{
    const struct request *one = &requests[taken];
    int64_t time, ahead;

    if (one->first && step_from != taken + 1) {
        if (done < taken) {
            return FAR;
        }
        begin = end + one->gap;
        depth = one->depth;
        step_from = taken + 1; /* one more, so that the first step is told from none */
    }
    if (depth == 0) {
        time = begin + one->time;
    } else {
        ahead = taken - depth; /* the place is that of the request done as this one */
        if (ahead < step_from - 1) {
            time = begin;
        } else if (ahead >= done) {
            return FAR;
        } else {
            time = freed[ahead];
        }
    }
    return time > last ? time : last;
}

/* Makes this line of the trace; false: it ends before. */
static bool make_line(int64_t number)
{
    struct request one = {.sectors = 8, .read = 1};
    int64_t time = FAR;

    if (number == taken + 1) {
        if (far) {
            fail("SSDsim has nothing to do, and requests are not done");
        }
        taken++;
    } else if (number != taken) {
        fail("SSDsim reads another line than the next");
    }
    if (taken == count) {
        if (done == count) {
            return false;
        }
    } else {
        time = next_time();
    }
    far = time == FAR;
    if (!far) {
        one = requests[taken];
        last = time;
    }
    snprintf(line, sizeof line, "%" PRId64 " 0 %d %d %d", time, one.sector, one.sectors,
             one.read);
    memset(line + strlen(line), ' ', LINE - strlen(line));
    line[LINE - 1] = '\n';
    return true;
}

static ssize_t trace_read(void *cookie, char *to, size_t size)
{
    size_t from = (size_t)(position % LINE), n = LINE - from;

    (void)cookie;
    if (from == 0) {
        in_line = position / LINE;
        if (!make_line(in_line)) {
            return 0;
        }
    }
    n = n < size ? n : size;
    memcpy(to, line + from, n);
    position += (int64_t)n;
    return (ssize_t)n;
}

static int trace_seek(void *cookie, off64_t *offset, int whence)
{
    (void)cookie;
    position = whence == SEEK_CUR ? position + *offset : *offset;
    *offset = position;
    return 0;
}

static ssize_t log_write(void *cookie, const char *text, size_t size)
{
    FILE *file = cookie;

    fwrite(text, 1, size, file);
    for (size_t i = 0; i < size; i++) {
        int64_t at, started, ended, took;
        int sector, sectors, kind;

        if (text[i] != '\n') {
            if (said_size < sizeof said - 1) {
                said[said_size++] = text[i];
            }
            continue;
        }
        said[said_size] = '\0';
        said_size = 0;
        if (sscanf(said, "%" SCNd64 " %d %d %d %" SCNd64 " %" SCNd64 " %" SCNd64, &at,
                   &sector, &sectors, &kind, &started, &ended, &took) == 7) {
            if (done == count) {
                fail("more was done than was asked for");
            }
            freed[done++] = ended;
            end = ended > end ? ended : end;
        }
    }
    return (ssize_t)size;
}

static int log_close(void *cookie)
{
    return fclose(cookie);
}

static const cookie_io_functions_t log_functions = {
    .write = log_write,
    .close = log_close,
};
static const cookie_io_functions_t trace_functions = {
    .read = trace_read,
    .seek = trace_seek,
};

FILE *fopen(const char *name, const char *mode)
{
    static FILE *(*real)(const char *, const char *);
    static int opened;
    FILE *file;

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    }
    if (strcmp(name, LOG) == 0) {
        file = real(name, mode);
        return file ? fopencookie(file, mode, log_functions) : NULL;
    }
    /* The first time it looks for what is read and was never written: nothing. */
    if (strcmp(name, TRACE) == 0 && opened++ > 0) {
        load();
        file = fopencookie(NULL, mode, trace_functions);
        if (file != NULL) {
            setvbuf(file, NULL, _IONBF, 0);
        }
        return file;
    }
    return real(name, mode);
}
