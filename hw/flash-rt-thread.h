/*
 * Scarp: the thread that runs an engine against a clock
 *
 * The thread is the owner of the engine's port (flash-port.h) while it has its
 * own lock. Other threads take that lock with flash_thread_lock() or
 * flash_thread_run(). The thread sleeps until shortly before the engine's next
 * event, and then polls the clock. So the event is not late because of the
 * host's timers or scheduler. The thread learns how long to poll.
 *
 * This file knows neither NVMe nor guests. Of QEMU it needs only what
 * tests/bench/shim has: tests/bench/bench-realtime.c runs the thread without
 * QEMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_RT_THREAD_H
#define SCARP_FLASH_RT_THREAD_H

#include "flash-port.h"

typedef struct FlashThread FlashThread;

typedef struct {
    FlashPort *port;
    /* the host's clock, which stands still while QEMU is stopped */
    int64_t (*clock_ns)(void);
    int64_t zero_ns;           /* clock_ns() at time 0 of the engine */
    int64_t spin_ns;           /* longest time of a poll; -1: the default */
    int64_t bound_ns;          /* behind_ns counts events that are later */
    int cpu;                   /* core of the host; -1: any */
    int priority;              /* of SCHED_FIFO, if the host lets; 0: none */
    /* called first and last in the thread; each may be NULL */
    void (*began)(void);
    void (*ended)(void);
    /* called after each run of the engine, with the lock; may be NULL */
    void (*ran)(void *opaque, int64_t now_ns);
    /*
     * called without the lock when the client can pop a command, or when an
     * awaited state was reached; may be NULL
     */
    void (*completed)(void *opaque);
    /* called without the lock after a kick woke the thread; may be NULL */
    void (*woken)(void *opaque);
    void *opaque;
} FlashThreadConfig;

typedef struct {
    int64_t elapsed_ns;  /* time since the last reset */
    int64_t cpu_ns;      /* processor time of the thread */
    int64_t polled_ns;   /* time for which the thread polled the clock */
    int64_t behind_ns;   /* sum of the lateness of events past bound_ns */
    uint64_t sleeps;
    uint64_t priority;   /* priority that the host granted */
    /* polls that ran out while the lock's owner was on the thread's core */
    uint64_t lost_polls;
} FlashThreadUse;

/* A lock that the drive's thread shares with other threads. */
typedef struct {
    bool (*try_lock)(void *opaque);
    void (*lock)(void *opaque);
    /*
     * the core on which the lock was taken; -1: not known, or the lock is free
     */
    int (*core)(void *opaque);
} FlashLock;

/* SCHED_FIFO's highest priority. */
#define FLASH_THREAD_MAX_PRIORITY 99
/*
 * The greatest spin_ns of a thread with priority. Only between its polls can
 * such a thread give up its priority, so that other threads of its core run.
 */
#define FLASH_THREAD_PRIORITY_SPIN_NS 10000000

/*
 * The time for which the thread polls for a lock before it sleeps. A lock is
 * mostly free again sooner than a sleeping thread would wake.
 */
#define FLASH_THREAD_LOCK_POLL_NS 20000

/*
 * Takes `lock` for the engine's thread, which calls this function. The thread
 * polls for a while before it sleeps. If the lock's owner is on the thread's
 * own core, the owner cannot run while the thread polls, so the thread sleeps
 * at once.
 */
void flash_thread_take(FlashThread *thread, const FlashLock *lock,
                       void *opaque);

/* True when this process may run threads on core `cpu` of the host. */
bool flash_thread_may_use(int cpu);
/*
 * Makes a thread. Returns NULL if the host has no event descriptor or no thread
 * left.
 */
FlashThread *flash_thread_new(const FlashThreadConfig *config);
/*
 * Pauses the thread, or lets it go on. When a pause returns, no run of the
 * engine is under way. A new thread is paused.
 */
void flash_thread_pause(FlashThread *thread, bool pause);
/*
 * Stops the thread. Waits for a run of the engine and a call of completed()
 * that are under way, so the caller must hold no lock that they wait for.
 */
void flash_thread_stop(FlashThread *thread);
void flash_thread_free(FlashThread *thread);

/*
 * Wakes the thread, because the client pushed a command or emptied the
 * completion ring, or because the time of the engine's next event may have
 * changed since the engine's last run.
 */
void flash_thread_kick(FlashThread *thread);
/*
 * Runs the engine in the calling thread, so that a pushed command need not wait
 * until the host has woken the drive's thread. If another thread has the
 * thread's lock, kicks the drive's thread instead, and returns false. Otherwise
 * returns true if the client can pop a completed command.
 */
bool flash_thread_run(FlashThread *thread);
/*
 * Called from completed(), for a completion that the thread was ready to report
 * early_ns before its time (negative: after its time). The caller itself waits
 * for the completion's time.
 *
 * The thread learns its lead from early_ns, so that later completions are
 * reported in time. The lead is how long before their time the thread runs
 * events: 0 at first, and 2.5 us at most.
 */
void flash_thread_was_early(FlashThread *thread, int64_t early_ns);
/*
 * Takes, and gives back, the thread's lock, for calls into the engine that do
 * not go through the port.
 */
void flash_thread_lock(FlashThread *thread);
void flash_thread_unlock(FlashThread *thread);
/*
 * Returns the host's time, which goes on while the engine's time stands still.
 */
int64_t flash_thread_host_ns(void);
/* Returns the engine's time. */
int64_t flash_thread_now_ns(FlashThread *thread);

/*
 * Return, and restart, the counts of the thread's use. Only one thread at a
 * time may call these functions: the thread that pushes commands, never the
 * drive's own.
 */
void flash_thread_use(FlashThread *thread, FlashThreadUse *use);
void flash_thread_reset_use(FlashThread *thread);

#endif /* SCARP_FLASH_RT_THREAD_H */
