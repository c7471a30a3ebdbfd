/*
 * Scarp: the thread that runs an engine against a clock
 *
 * The thread owns the engine's end of the port while it has its own lock.
 * Others take that with flash_thread_lock() or flash_thread_run(). The thread
 * sleeps until shortly before the engine's next event, then polls. So neither
 * the host's timers nor its scheduler decide how late the event is. The thread
 * learns how long to poll.
 *
 * It knows neither NVMe nor guests. Of QEMU it needs only what tests/bench/shim
 * has: tests/bench/bench-realtime.c drives it alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_RT_THREAD_H
#define SCARP_FLASH_RT_THREAD_H

#include "flash-port.h"

typedef struct FlashThread FlashThread;

typedef struct {
    FlashPort *port;
    int64_t (*clock_ns)(void); /* the host's clock; may stand still: pause */
    int64_t zero_ns;           /* the clock's time of the engine's zero */
    int64_t spin_ns;           /* longest poll at a time; -1: as usual */
    int64_t bound_ns;          /* lateness from which the thread is "behind" */
    int cpu;                   /* core of the host; -1: any */
    int priority;              /* SCHED_FIFO's, if the host lets it; 0: none */
    /* called first and last in the thread; may be NULL */
    void (*began)(void);
    void (*ended)(void);
    /* called after each run, with the lock held; may be NULL */
    void (*ran)(void *opaque, int64_t now_ns);
    /* called without the lock when there is something to pop; may be NULL */
    void (*completed)(void *opaque);
    /* a kick has ended its sleep; without the lock; may be NULL */
    void (*woken)(void *opaque);
    void *opaque;
} FlashThreadConfig;

typedef struct {
    int64_t elapsed_ns;  /* since the last reset */
    int64_t cpu_ns;      /* processor time of the thread */
    int64_t polled_ns;   /* polling for events and commands, not locks */
    int64_t behind_ns;   /* an event was overdue by more than the bound */
    uint64_t sleeps;
    uint64_t priority;   /* granted by the host */
    uint64_t lost_polls; /* for a lock whose holder shared the thread's core */
} FlashThreadUse;

/* A lock that the thread shares with others. */
typedef struct {
    bool (*try_lock)(void *opaque);
    void (*lock)(void *opaque);
    /* the host's core on which the holder took it; -1: unknown, or free */
    int (*core)(void *opaque);
} FlashLock;

/* SCHED_FIFO's highest priority. */
#define FLASH_THREAD_MAX_PRIORITY 99
/*
 * The longest poll of a thread with priority: in between it checks whether it
 * has to leave its core to others for a while.
 */
#define FLASH_THREAD_PRIORITY_SPIN_NS 10000000

/*
 * Time that the thread polls for a lock before it sleeps: a lock is mostly held
 * for less time than a wake-up takes.
 */
#define FLASH_THREAD_LOCK_POLL_NS 20000

/*
 * The engine's thread takes a lock, and polls before it sleeps.  A holder on
 * the thread's own core cannot run meanwhile: for such a one the thread sleeps
 * at once.
 */
void flash_thread_take(FlashThread *thread, const FlashLock *lock,
                       void *opaque);

/* True when a thread of this process may run on that core of the host. */
bool flash_thread_may_use(int cpu);
/* Makes a thread. NULL: the host has no event descriptor or thread left. */
FlashThread *flash_thread_new(const FlashThreadConfig *config);
/*
 * Pauses the thread, or lets it go on; it is paused at first, when no command
 * moves.
 */
void flash_thread_pause(FlashThread *thread, bool pause);
/*
 * Stops the thread, within the time of one run of the engine and one call of
 * completed(): the caller must hold no lock that this waits for.
 */
void flash_thread_stop(FlashThread *thread);
void flash_thread_free(FlashThread *thread);

/*
 * Wakes the thread: a command has been pushed, there is room again in the
 * completion ring, or the engine may want to run at another time than it said.
 */
void flash_thread_kick(FlashThread *thread);
/*
 * Runs the engine in the caller if no thread does: a command that has been
 * pushed need not wait until the host has woken the thread. True if there is
 * something to pop.
 */
bool flash_thread_run(FlashThread *thread);
/*
 * Tells, from completed(), how long before its time a completion could be told;
 * negative: after it. From this the thread learns how much earlier than due it
 * may run an event, so that it can be told in time: 2.5 us at most, and at
 * first 0. The caller waits for the completion's time.
 */
void flash_thread_was_early(FlashThread *thread, int64_t early_ns);
/* Brackets calls into the engine that bypass the port. */
void flash_thread_lock(FlashThread *thread);
void flash_thread_unlock(FlashThread *thread);
/* Returns the host's time, which goes on while the engine's stands still. */
int64_t flash_thread_host_ns(void);
/* Returns the engine's time. */
int64_t flash_thread_now_ns(FlashThread *thread);

/* Called by one thread at a time, other than this one, as pushes are. */
void flash_thread_use(FlashThread *thread, FlashThreadUse *use);
void flash_thread_reset_use(FlashThread *thread);

#endif /* SCARP_FLASH_RT_THREAD_H */
