/*
 * A host, an engine and a drive's thread of which every nanosecond is known.
 *
 * The thread's source is included here.  So its clocks, its lock, its sleep and
 * its engine are these: time goes on as a scene says, nothing waits, and there is
 * no second thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RT_WORLD_H
#define RT_WORLD_H

#include "qemu/osdep.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>

/* A look at a clock takes so long. */
#define LOOK_NS 100
/* The engine's zero on its clock. */
#define ZERO_NS 1000000
#define BOUND_NS 20000
#define SPIN_NS 50000

#define MOST_EVENTS 16

static struct {
    int64_t now_ns; /* the host's; the engine's is the same, but for its zero */
    bool still;     /* the machine stands still, and so does the engine's clock */
    int64_t still_ns;
    int64_t cpu_ns; /* what the thread has used */

    /* A sleep. */
    int64_t late_ns;      /* it ends so much too late */
    int64_t kicked_ns;    /* or somebody ends it after so long; -1: nobody */
    int64_t timeout_ns;   /* what the last one was to last; -1: for ever */
    bool seen_sleeping;   /* a kick would have had to wake it */
    unsigned sleeps;

    /* The lock. */
    int64_t free_ns;      /* somebody has it until then */
    unsigned blocked;     /* it was slept for */

    /* Its priority. */
    bool forbidden;       /* by the host */
    int policy, priority; /* what it has asked for last */
    unsigned asked;

    /* The engine: events, the earliest first. */
    int64_t event_ns[MOST_EVENTS];
    unsigned n_events;
    int64_t ran_ns[MOST_EVENTS]; /* up to when each run went */
    unsigned most[MOST_EVENTS];  /* commands that a run may take */
    unsigned n_runs;
    unsigned pushed;
    int64_t ends_ns;  /* an event of then completes a command; -1: none does */
    bool completed;
    unsigned to_stock; /* calls until there is nothing more to stock */
    unsigned stocked;
    int core; /* on which the thread runs */
} world;

#include "flash-rt-thread.h"

/* ---- What the thread is given instead of the host's ----------------------- */

static int world_clock(clockid_t clock, struct timespec *now)
{
    int64_t ns = world.cpu_ns;

    if (clock == CLOCK_MONOTONIC) {
        world.now_ns += LOOK_NS;
        ns = world.now_ns;
    }
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
}

static int64_t engine_clock(void)
{
    world.now_ns += LOOK_NS;
    return world.still ? world.still_ns : world.now_ns;
}

static int world_trylock(pthread_mutex_t *lock)
{
    return world.now_ns < world.free_ns ? EBUSY : 0;
}

static int world_lock(pthread_mutex_t *lock)
{
    if (world.now_ns < world.free_ns) {
        world.blocked++;
        world.now_ns = world.free_ns;
    }
    return 0;
}

static int world_unlock(pthread_mutex_t *lock)
{
    return 0;
}

static void see_sleep(void);

static int world_poll(struct pollfd *fd, nfds_t n, const struct timespec *time,
                      const sigset_t *mask)
{
    g_assert_cmpuint(n, ==, 1);
    see_sleep();
    world.sleeps++;
    world.timeout_ns = -1;
    if (time) {
        world.timeout_ns = time->tv_sec * 1000000000 + time->tv_nsec;
        if (world.kicked_ns < 0 || world.kicked_ns > world.timeout_ns) {
            world.now_ns += world.timeout_ns + world.late_ns;
            return 0;
        }
    }
    g_assert_cmpint(world.kicked_ns, >=, 0);
    world.now_ns += world.kicked_ns;
    g_assert_false(eventfd_write(fd->fd, 1));
    return 1;
}

static int world_set_priority(pthread_t thread, int policy,
                              const struct sched_param *param)
{
    world.asked++;
    world.policy = policy;
    world.priority = param->sched_priority;
    return world.forbidden ? EPERM : 0;
}

/* There is a thread, but nobody runs it. */
static int world_create(pthread_t *thread, const pthread_attr_t *attr,
                        void *(*begin)(void *), void *opaque)
{
    struct sched_param param;

    pthread_attr_getschedpolicy(attr, &world.policy);
    pthread_attr_getschedparam(attr, &param);
    world.asked++;
    *thread = pthread_self();
    return world.forbidden && world.policy == SCHED_FIFO ? EPERM : 0;
}

static int world_join(pthread_t thread, void **result)
{
    return 0;
}

static int world_set_name(pthread_t thread, const char *name)
{
    g_assert_cmpstr(name, ==, "nvme-flash");
    return 0;
}

static int world_cpu_clock(pthread_t thread, clockid_t *clock)
{
    *clock = CLOCK_THREAD_CPUTIME_ID;
    return 0;
}

int64_t flash_port_run(FlashPort *port, int64_t now_ns, unsigned most)
{
    unsigned gone = 0;

    g_assert_cmpuint(world.n_runs, <, MOST_EVENTS);
    world.most[world.n_runs] = most;
    world.ran_ns[world.n_runs++] = now_ns;
    world.pushed -= most;
    while (gone < world.n_events && world.event_ns[gone] <= now_ns) {
        world.completed |= world.event_ns[gone++] == world.ends_ns;
    }
    world.n_events -= gone;
    memmove(world.event_ns, world.event_ns + gone,
            world.n_events * sizeof(*world.event_ns));
    return world.n_events ? world.event_ns[0] : SCARP_TIME_NEVER;
}

unsigned flash_port_pushed(FlashPort *port)
{
    return world.pushed;
}

bool flash_port_has_completed(FlashPort *port)
{
    return world.completed;
}

bool flash_port_stock(FlashPort *port)
{
    world.stocked++;
    return world.stocked < world.to_stock;
}

#define clock_gettime world_clock
#define sched_getcpu() (world.core)
#define pthread_mutex_trylock world_trylock
#define pthread_mutex_lock world_lock
#define pthread_mutex_unlock world_unlock
#define ppoll world_poll
#define pthread_setschedparam world_set_priority
#define pthread_create world_create
#define pthread_join world_join
#define pthread_setname_np world_set_name
#define pthread_getcpuclockid world_cpu_clock
#include "flash-rt-thread.c"

/* ---- A scene -------------------------------------------------------------- */

static FlashThread *scene;

static void see_sleep(void)
{
    world.seen_sleeping = atomic_load(&scene->sleeping);
}

static void begin_with(FlashThreadConfig config)
{
    memset(&world, 0, sizeof(world));
    world.now_ns = ZERO_NS;
    world.kicked_ns = world.ends_ns = -1;
    config.clock_ns = engine_clock;
    config.zero_ns = ZERO_NS;
    config.bound_ns = BOUND_NS;
    config.cpu = -1;
    scene = flash_thread_new(&config);
    atomic_store(&scene->paused, false);
    world.now_ns = ZERO_NS;
}

/* A thread without priority, which goes on and has nothing to do. */
static FlashThread *begin(void)
{
    begin_with((FlashThreadConfig) { .spin_ns = SPIN_NS });
    return scene;
}

static void end(void)
{
    flash_thread_free(scene);
    scene = NULL;
}

static int64_t engine_ns(void)
{
    return world.now_ns - ZERO_NS;
}

#endif /* RT_WORLD_H */
