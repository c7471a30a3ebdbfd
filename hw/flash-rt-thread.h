/*
 * Scarp: the thread that runs an engine against a clock
 *
 * It owns the engine's end of the port while it has its own lock.  Others take
 * that with flash_thread_lock() or flash_thread_run().  The thread sleeps until
 * shortly before the engine's next event, then polls.  So neither the host's
 * timers nor its scheduler decide how late the event is.  How long it polls is
 * found out.
 *
 * It knows neither NVMe nor guests.  Of QEMU it needs only what
 * tests/bench/shim has: tests/bench/bench-realtime.c drives it alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_RT_THREAD_H
#define SCARP_FLASH_RT_THREAD_H

#include "flash-port.h"

typedef struct FlashThread FlashThread;

typedef struct {
    FlashPort *port;
    int64_t (*clock_ns)(void); /* of the host; it may stand still: pause */
    int64_t zero_ns;           /* the clock's time of the engine's zero */
    int64_t spin_ns;           /* it polls so long at a time at most; -1: as usual */
    int64_t bound_ns;          /* an event that is later makes it "behind" */
    int cpu;                   /* of the host: it runs there; -1: anywhere */
    int priority;              /* SCHED_FIFO's, if the host lets it; 0: none */
    /* the thread's first and last; may be NULL */
    void (*began)(void);
    void (*ended)(void);
    /* after each run, with the lock held; may be NULL */
    void (*ran)(void *opaque, int64_t now_ns);
    /* there is something to pop; without the lock; may be NULL */
    void (*completed)(void *opaque);
    void *opaque;
} FlashThreadConfig;

typedef struct {
    int64_t elapsed_ns;  /* since the last reset */
    int64_t cpu_ns;      /* processor time of the thread */
    int64_t polled_ns;   /* for events and commands, not locks; with a core or not */
    int64_t behind_ns;   /* an event was overdue by more than the bound */
    uint64_t sleeps;
    uint64_t priority;   /* what the host let it have */
} FlashThreadUse;

/* SCHED_FIFO's highest. */
#define FLASH_THREAD_MAX_PRIORITY 99
/*
 * With priority a thread polls for no longer than this at a time.  In between
 * it looks whether it has to leave its core to others for a while.
 */
#define FLASH_THREAD_PRIORITY_SPIN_NS 10000000

/*
 * Whoever has a lock mostly has it for less time than it takes to be woken.  So
 * long the thread polls for one before it sleeps.
 */
#define FLASH_THREAD_LOCK_POLL_NS 20000

/* Whether a thread of this process may run on that core of the host. */
bool flash_thread_may_use(int cpu);
/* NULL if the host has no event descriptor or thread left. */
FlashThread *flash_thread_new(const FlashThreadConfig *config);
/* Paused from the beginning; no command moves until it goes on. */
void flash_thread_pause(FlashThread *thread, bool pause);
/*
 * Ends within the time that one run of the engine takes, and one call of
 * completed(): the caller holds no lock that this waits for.
 */
void flash_thread_stop(FlashThread *thread);
void flash_thread_free(FlashThread *thread);

/*
 * A command has been pushed, there is room again in the completion ring, or the
 * engine may want to run at another time than it said.
 */
void flash_thread_kick(FlashThread *thread);
/*
 * The same, but the caller runs the engine itself if nobody does: a command
 * that has been pushed need not wait until the host has woken the thread.
 * True if there is something to pop.
 */
bool flash_thread_run(FlashThread *thread);
/*
 * From completed(): a completion could be told so long before its time;
 * negative: after it.  The thread learns from it how much earlier than due it
 * lets an event happen, so that it can be told in time: 2.5 us at most, and at
 * first 0.  Who tells of a completion waits for its time.
 */
void flash_thread_was_early(FlashThread *thread, int64_t early_ns);
/* Around calls into the engine that go past the port. */
void flash_thread_lock(FlashThread *thread);
void flash_thread_unlock(FlashThread *thread);
/* The host's clock: it goes on while the engine's stands still. */
int64_t flash_thread_host_ns(void);
/* The engine's clock. */
int64_t flash_thread_now_ns(FlashThread *thread);

/* By one thread other than it at a time, as pushes are. */
void flash_thread_use(FlashThread *thread, FlashThreadUse *use);
void flash_thread_reset_use(FlashThread *thread);

#endif /* SCARP_FLASH_RT_THREAD_H */
