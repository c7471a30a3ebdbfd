/*
 * Scarp: the thread that runs an engine against a clock
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include "qemu/processor.h"
#include "flash-rt-thread.h"

#define NS_PER_S 1000000000

/*
 * The kernel keeps a thread with priority off its core for 50 ms when the
 * thread has used nearly all of a second. To avoid that, a thread that has used
 * more than MOST_USE_PERMILLE of a window gives up its priority for
 * ORDINARY_NS, in which other threads have their turn.
 */
#define WINDOW_NS 80000000
#define MOST_USE_PERMILLE 850
#define ORDINARY_NS 20000000

/* The longest polls without and with priority, if config.spin_ns is -1. */
#define USUAL_SPIN_NS 50000
#define PRIORITY_SPIN_NS 200000

/* The greatest time by which the engine may be ahead of the clock. */
#define MAX_LEAD_NS 2500

/*
 * Steps of the lead (how long before their time events are run). The lead grows
 * after a late completion, and shrinks after any other completion. So the lead
 * settles where one completion of 16 is late.
 */
#define LEAD_UP_NS 750
#define LEAD_DOWN_NS 50

/*
 * A clock that shows the same time in STILL_ROUNDS polls stands still. The
 * thread then sleeps for STILL_NS before it polls again.
 */
#define STILL_ROUNDS 10000
#define STILL_NS 100000

/* Time that the host may take to find memory for one call of stock(). */
#define STOCK_NS 20000

/* Usual time from the call of completed() until the guest sees a completion. */
#define TELL_NS 1600

/*
 * The least time idle_ns, for which the thread polls for commands before it
 * sleeps, after a sleep that a poll would have avoided.
 */
#define FIRST_POLL_NS 2000

struct FlashThread {
    FlashThreadConfig config;
    pthread_t thread;
    clockid_t cpu_clock; /* the clock of the thread's processor time */
    atomic_int lock_core; /* core on which `lock` was taken; -1: free */
    pthread_mutex_t lock; /* protects the engine, due_ns and ahead_ns */
    int64_t due_ns;       /* the engine's next event, as of its last run */
    int64_t ahead_ns;     /* the engine's time after its last run */
    int kick; /* an event descriptor */
    int priority; /* priority that the host granted at the start */
    bool running;
    atomic_bool stop;
    atomic_bool paused;
    atomic_bool sleeping; /* true: a kick has to wake the thread */
    atomic_bool again;    /* true: a kick asked for a run of the engine */

    /*
     * Only the thread uses the members below. They decide how early the thread
     * wakes before an event, and how long it polls for commands.
     */
    int64_t spin_ns; /* longest time of a poll */
    int64_t margin_ns;
    int64_t idle_ns;
    /* length of the last sleep, if a kick ended it; otherwise -1 */
    int64_t kicked_after_ns;
    int64_t lead_ns;         /* how long before their time events are run */
    int64_t window_ns;       /* begin of the window, by the host's clock */
    int64_t window_cpu_ns;   /* the thread's processor time at window_ns */
    bool ordinary;           /* the priority is given up for a while */

    /*
     * Counts. behind_ns grows in the thread that has the lock, and the other
     * counts in the drive's thread. Any thread reads them.
     */
    _Atomic int64_t polled_ns;
    _Atomic int64_t behind_ns;
    _Atomic int64_t sleeps;
    _Atomic int64_t lost_polls;
    /* counts at the last reset; elapsed_ns is the engine's time of the reset */
    FlashThreadUse reset;
};

int64_t flash_thread_now_ns(FlashThread *thread)
{
    return thread->config.clock_ns() - thread->config.zero_ns;
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;

    /* a thread that has ended has no clock */
    if (clock_gettime(clock, &now)) {
        return 0;
    }
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t flash_thread_host_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void flash_thread_lock(FlashThread *thread)
{
    pthread_mutex_lock(&thread->lock);
    atomic_store(&thread->lock_core, sched_getcpu());
}

static bool try_lock(FlashThread *thread)
{
    if (pthread_mutex_trylock(&thread->lock)) {
        return false;
    }
    atomic_store(&thread->lock_core, sched_getcpu());
    return true;
}

void flash_thread_unlock(FlashThread *thread)
{
    atomic_store(&thread->lock_core, -1);
    pthread_mutex_unlock(&thread->lock);
}

static void wake(FlashThread *thread)
{
    uint64_t one = 1;

    /*
     * A write fails only when the descriptor's counter is full. The thread
     * cannot sleep then.
     */
    if (write(thread->kick, &one, sizeof(one)) < 0) {
        assert(errno == EAGAIN);
    }
}

void flash_thread_kick(FlashThread *thread)
{
    /*
     * The caller sets `again` and then reads `sleeping`. The thread sets
     * `sleeping` and then reads `again`. So either the thread sees `again`
     * before it sleeps, or the caller sees that the thread sleeps, and wakes
     * it.
     */
    atomic_store(&thread->again, true);
    if (atomic_load(&thread->sleeping)) {
        wake(thread);
    }
}

/* Adds `more` to a counter that no other thread writes at this time. */
static void count(_Atomic int64_t *counter, int64_t more)
{
    int64_t was = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, was + more, memory_order_relaxed);
}

void flash_thread_take(FlashThread *thread, const FlashLock *lock,
                       void *opaque)
{
    int64_t until_ns = flash_thread_host_ns() + FLASH_THREAD_LOCK_POLL_NS;

    while (!lock->try_lock(opaque)) {
        bool shares_core = lock->core(opaque) == sched_getcpu();
        bool over = flash_thread_host_ns() >= until_ns;

        if (shares_core || over) {
            count(&thread->lost_polls, shares_core && over);
            lock->lock(opaque);
            return;
        }
        cpu_relax();
    }
}

static bool try_engine(void *opaque)
{
    return try_lock(opaque);
}

static void lock_engine(void *opaque)
{
    flash_thread_lock(opaque);
}

static int engine_core(void *opaque)
{
    FlashThread *thread = opaque;

    return atomic_load(&thread->lock_core);
}

static const FlashLock engine_lock = { try_engine, lock_engine, engine_core };

static bool is_wanted(FlashThread *thread)
{
    return atomic_load(&thread->again) || atomic_load(&thread->stop) ||
           atomic_load(&thread->paused);
}

/*
 * Sleeps for timeout_ns (-1: for ever), or until a kick. Returns true if a kick
 * ended the sleep.
 */
static bool doze(FlashThread *thread, int64_t timeout_ns)
{
    struct pollfd fd = { .fd = thread->kick, .events = POLLIN };
    struct timespec timeout = {
        .tv_sec = timeout_ns / NS_PER_S,
        .tv_nsec = timeout_ns % NS_PER_S,
    };
    uint64_t kicks;

    /* a signal may end the sleep early, which does no harm */
    if (ppoll(&fd, 1, timeout_ns < 0 ? NULL : &timeout, NULL) <= 0) {
        return false;
    }
    return read(thread->kick, &kicks, sizeof(kicks)) > 0;
}

/*
 * Polls until time_ns. Returns true if the poll ended early, because a kick
 * asked for a run, or because the clock stands still. A clock stands still
 * while another thread, which may need this core, stops the machine.
 */
static bool poll_until(FlashThread *thread, int64_t time_ns)
{
    int64_t began_ns = flash_thread_now_ns(thread), now_ns = began_ns;
    unsigned still = 0;
    bool wanted;

    while (!(wanted = is_wanted(thread)) && now_ns < time_ns) {
        int64_t before_ns = now_ns;

        cpu_relax();
        now_ns = flash_thread_now_ns(thread);
        still = now_ns == before_ns ? still + 1 : 0;
        if (still == STILL_ROUNDS) {
            doze(thread, STILL_NS);
            wanted = true;
            break;
        }
    }
    count(&thread->polled_ns, now_ns - began_ns);
    return wanted;
}

/*
 * Sets margin_ns, by which the thread wakes before an event is due. Called when
 * a sleep ended late_ns after its timeout. If late_ns is more than the longest
 * poll, no margin could have helped: the host is busy, and more polling would
 * make it busier still.
 */
static void adapt_margin(FlashThread *thread, int64_t late_ns)
{
    int64_t *margin = &thread->margin_ns;

    if (late_ns > thread->spin_ns) {
        *margin /= 2;
    } else if (late_ns > *margin) {
        *margin = late_ns + late_ns / 4;
    } else {
        *margin -= (*margin - late_ns) / 64;
    }
    *margin = MIN(*margin, thread->spin_ns);
}

/*
 * Sets idle_ns, for which the thread polls for commands before it sleeps.
 * Called when a command ended a sleep of slept_ns. If a poll of spin_ns would
 * have seen the command, idle_ns grows. Otherwise idle_ns shrinks.
 */
static void adapt_idle(FlashThread *thread, int64_t slept_ns)
{
    if (slept_ns < thread->spin_ns) {
        thread->idle_ns = MIN(MAX(2 * thread->idle_ns, FIRST_POLL_NS),
                              thread->spin_ns);
    } else {
        thread->idle_ns /= 2;
    }
}

static void begin_window(FlashThread *thread, int64_t host_ns)
{
    thread->window_ns = host_ns;
    thread->window_cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * With `ordinary`, gives up the thread's priority, otherwise takes it again. If
 * the host no longer allows the priority, the thread asks again after another
 * window.
 */
static void set_ordinary(FlashThread *thread, bool ordinary)
{
    struct sched_param param = {
        .sched_priority = ordinary ? 0 : thread->config.priority,
    };

    if (!pthread_setschedparam(pthread_self(),
                               ordinary ? SCHED_OTHER : SCHED_FIFO, &param)) {
        thread->ordinary = ordinary;
    }
    begin_window(thread, flash_thread_host_ns());
}

/* Sleeps until time_ns minus the margin, or until a kick. */
static void sleep_until(FlashThread *thread, int64_t time_ns)
{
    int64_t began_ns = flash_thread_now_ns(thread);
    int64_t timeout_ns = -1;
    int64_t slept_ns;
    bool kicked;

    if (time_ns != SCARP_TIME_NEVER) {
        timeout_ns = time_ns - thread->margin_ns - began_ns;
        if (timeout_ns <= 0) {
            return;
        }
    }
    atomic_store(&thread->sleeping, true);
    if (is_wanted(thread)) {
        atomic_store(&thread->sleeping, false);
        return;
    }
    count(&thread->sleeps, 1);
    if (thread->ordinary && (timeout_ns < 0 || timeout_ns > ORDINARY_NS)) {
        /*
         * Other threads have had time on this CPU. With its real-time priority
         * back, the thread wakes sooner.
         */
        set_ordinary(thread, false);
    }
    kicked = doze(thread, timeout_ns);
    slept_ns = flash_thread_now_ns(thread) - began_ns;
    if (kicked) {
        thread->kicked_after_ns = slept_ns;
        if (thread->config.woken) {
            thread->config.woken(thread->config.opaque);
        }
    } else if (slept_ns >= timeout_ns) {
        /*
         * if the clock stood still during the sleep, the margin is not adapted
         */
        adapt_margin(thread, slept_ns - timeout_ns);
    }
    atomic_store(&thread->sleeping, false);
}

/*
 * Lets the engine allocate memory ahead (scarp_stock_memory()) until shortly
 * before until_ns. Stops when another thread has the lock. That thread runs the
 * engine, and its run may bring work for this thread.
 */
static void stock(FlashThread *thread, int64_t until_ns)
{
    bool more = true;

    while (more && !is_wanted(thread) &&
           flash_thread_now_ns(thread) < until_ns - STOCK_NS &&
           try_lock(thread)) {
        more = flash_port_stock(thread->config.port);
        flash_thread_unlock(thread);
    }
}

static void wait_for(FlashThread *thread, int64_t due_ns)
{
    int64_t now_ns = flash_thread_now_ns(thread);

    if (due_ns != SCARP_TIME_NEVER) {
        due_ns -= thread->lead_ns;
    }
    if (due_ns <= now_ns) {
        return;
    }
    if (thread->idle_ns &&
        poll_until(thread, MIN(due_ns, now_ns + thread->idle_ns))) {
        return;
    }
    stock(thread, due_ns);
    sleep_until(thread, due_ns);
    if (due_ns != SCARP_TIME_NEVER &&
        due_ns - flash_thread_now_ns(thread) <= thread->margin_ns) {
        poll_until(thread, due_ns);
    }
}

/*
 * Polls until until_ns, which is about a microsecond away, and looks for
 * nothing else. The poll also ends if the clock stands still.
 */
static void hold_back(FlashThread *thread, int64_t until_ns)
{
    int64_t began_ns = flash_thread_now_ns(thread), now_ns = began_ns;

    for (unsigned i = 0; now_ns < until_ns && i < STILL_ROUNDS; i++) {
        cpu_relax();
        now_ns = flash_thread_now_ns(thread);
    }
    count(&thread->polled_ns, now_ns - began_ns);
}

/*
 * Runs the engine up to the clock's time, and further to events of the next
 * lead_ns. The caller has the lock. Returns the number of commands that were in
 * the submission ring.
 */
static unsigned run_locked(FlashThread *thread, int64_t lead_ns)
{
    const FlashThreadConfig *config = &thread->config;
    int64_t now_ns;
    unsigned pushed;

    /*
     * Commands that are pushed after this line arrive later than now_ns, so the
     * next run takes them.
     */
    pushed = flash_port_pushed(config->port);
    now_ns = flash_thread_now_ns(thread);
    if (thread->due_ns < now_ns - config->bound_ns) {
        count(&thread->behind_ns, now_ns - thread->due_ns);
    }
    thread->due_ns = flash_port_run(config->port, now_ns, pushed);
    /*
     * Events within lead_ns are run before their time, one by one. The engine
     * goes no further than such an event, because a command that comes next
     * begins at the engine's time. The loop also ends at the first completion,
     * which is to be reported to the guest before the engine goes on.
     */
    thread->ahead_ns = now_ns;
    while (thread->due_ns <= now_ns + lead_ns &&
           !flash_port_has_completed(config->port)) {
        thread->ahead_ns = thread->due_ns;
        thread->due_ns = flash_port_run(config->port, thread->due_ns, 0);
    }
    if (config->ran) {
        config->ran(config->opaque, now_ns);
    }
    return pushed;
}

/*
 * Runs the engine. Returns the time of its next event, and sets *ahead_ns to
 * the time that the engine has reached.
 */
static int64_t run(FlashThread *thread, int64_t *ahead_ns)
{
    unsigned pushed = 0;
    int64_t due_ns;

    flash_thread_take(thread, &engine_lock, thread);
    /*
     * Another thread may have called flash_thread_pause() while this thread
     * waited for the lock. The engine must not run after that call.
     */
    if (!atomic_load(&thread->paused)) {
        pushed = run_locked(thread, thread->lead_ns);
    }
    due_ns = thread->due_ns;
    *ahead_ns = thread->ahead_ns;
    flash_thread_unlock(thread);
    /* the length of a sleep counts only if a command ended it */
    if (pushed && thread->kicked_after_ns >= 0) {
        adapt_idle(thread, thread->kicked_after_ns);
    }
    thread->kicked_after_ns = -1;
    return due_ns;
}

bool flash_thread_run(FlashThread *thread)
{
    int64_t waits_until_ns, due_ns;

    if (!try_lock(thread)) {
        flash_thread_kick(thread);
        return false;
    }
    waits_until_ns = due_ns = thread->due_ns;
    if (!atomic_load(&thread->paused) && !atomic_load(&thread->stop)) {
        run_locked(thread, 0);
        due_ns = thread->due_ns;
    }
    flash_thread_unlock(thread);
    if (due_ns < waits_until_ns) {
        flash_thread_kick(thread);
    }
    return flash_port_has_completed(thread->config.port);
}

static void adapt_priority(FlashThread *thread)
{
    int64_t host_ns, window_ns, used_ns;

    if (!thread->priority) {
        return;
    }
    host_ns = flash_thread_host_ns();
    window_ns = host_ns - thread->window_ns;
    if (window_ns < (thread->ordinary ? ORDINARY_NS : WINDOW_NS)) {
        return;
    }
    used_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - thread->window_cpu_ns;
    if (thread->ordinary) {
        set_ordinary(thread, false);
    } else if (used_ns > window_ns / 1000 * MOST_USE_PERMILLE) {
        set_ordinary(thread, true);
    } else {
        begin_window(thread, host_ns);
    }
}

static void *thread_main(void *opaque)
{
    FlashThread *thread = opaque;
    int64_t due_ns, ahead_ns;

    /* by default the kernel may wake the thread 50 us late, to save power */
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    begin_window(thread, flash_thread_host_ns());
    if (thread->config.began) {
        thread->config.began();
    }
    while (!atomic_load(&thread->stop)) {
        if (atomic_load(&thread->paused)) {
            doze(thread, -1);
            continue;
        }
        /*
         * cleared before the run, which takes all commands pushed before the
         * kick
         */
        atomic_exchange(&thread->again, false);
        due_ns = run(thread, &ahead_ns);
        if (thread->config.completed &&
            flash_port_has_completed(thread->config.port)) {
            /*
             * completed() takes the big lock, which other threads may use until
             * then
             */
            hold_back(thread, ahead_ns - TELL_NS);
            thread->config.completed(thread->config.opaque);
        }
        wait_for(thread, due_ns);
        adapt_priority(thread);
    }
    if (thread->config.ended) {
        thread->config.ended();
    }
    return NULL;
}

void flash_thread_was_early(FlashThread *thread, int64_t early_ns)
{
    int64_t lead_ns = thread->lead_ns;

    /*
     * If a completion is late by more than MAX_LEAD_NS, the lead is not too
     * short: the thread was off its core.
     */
    if (early_ns > -MAX_LEAD_NS) {
        lead_ns += early_ns < 0 ? LEAD_UP_NS : -LEAD_DOWN_NS;
        thread->lead_ns = MIN(MAX(lead_ns, 0), MAX_LEAD_NS);
    }
}

bool flash_thread_may_use(int cpu)
{
    cpu_set_t allowed;

    return cpu >= 0 && cpu < CPU_SETSIZE &&
           !sched_getaffinity(0, sizeof(allowed), &allowed) &&
           CPU_ISSET(cpu, &allowed);
}

static bool create(FlashThread *thread, int priority)
{
    struct sched_param param = { .sched_priority = priority };
    pthread_attr_t attr;
    cpu_set_t cpus;
    int failed;

    thread->priority = priority;
    if (thread->config.spin_ns < 0) {
        thread->spin_ns = priority ? PRIORITY_SPIN_NS : USUAL_SPIN_NS;
    }
    thread->margin_ns = thread->spin_ns;
    pthread_attr_init(&attr);
    if (priority) {
        pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
        pthread_attr_setschedparam(&attr, &param);
    }
    if (thread->config.cpu >= 0) {
        CPU_ZERO(&cpus);
        CPU_SET(thread->config.cpu, &cpus);
        pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
    }
    failed = pthread_create(&thread->thread, &attr, thread_main, thread);
    pthread_attr_destroy(&attr);
    return !failed;
}

/*
 * Starts the thread with all signals blocked, except those of its own faults.
 * Other threads of the process handle signals.
 */
static bool start(FlashThread *thread)
{
    int priority = thread->config.priority;
    sigset_t all, before;
    bool runs;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* if the host refuses the priority, the thread runs without it */
    runs = create(thread, priority) || (priority && create(thread, 0));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (runs) {
        int failed;

        pthread_setname_np(thread->thread, "nvme-flash");
        failed = pthread_getcpuclockid(thread->thread, &thread->cpu_clock);
        assert(!failed);
    }
    return runs;
}

FlashThread *flash_thread_new(const FlashThreadConfig *config)
{
    FlashThread *thread = g_new0(FlashThread, 1);

    thread->config = *config;
    thread->due_ns = SCARP_TIME_NEVER;
    thread->spin_ns = config->spin_ns;
    thread->kicked_after_ns = -1;
    thread->paused = true;
    thread->lock_core = -1;
    thread->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (thread->kick < 0) {
        g_free(thread);
        return NULL;
    }
    pthread_mutex_init(&thread->lock, NULL);
    thread->reset.elapsed_ns = flash_thread_now_ns(thread);
    thread->running = start(thread);
    if (!thread->running) {
        flash_thread_free(thread);
        return NULL;
    }
    return thread;
}

void flash_thread_pause(FlashThread *thread, bool pause)
{
    atomic_store(&thread->paused, pause);
    wake(thread);
    if (pause) {
        /* the lock is free only when no run of the engine is under way */
        flash_thread_lock(thread);
        flash_thread_unlock(thread);
    }
}

void flash_thread_stop(FlashThread *thread)
{
    if (thread->running) {
        atomic_store(&thread->stop, true);
        wake(thread);
        pthread_join(thread->thread, NULL);
        thread->running = false;
    }
}

void flash_thread_free(FlashThread *thread)
{
    flash_thread_stop(thread);
    close(thread->kick);
    pthread_mutex_destroy(&thread->lock);
    g_free(thread);
}

/* ---- Costs of the thread ------------------------------------------------- */

static void use_so_far(FlashThread *thread, FlashThreadUse *use)
{
    *use = (FlashThreadUse) {
        .elapsed_ns = flash_thread_now_ns(thread),
        .cpu_ns = read_clock(thread->cpu_clock),
        .polled_ns = atomic_load(&thread->polled_ns),
        .behind_ns = atomic_load(&thread->behind_ns),
        .sleeps = atomic_load(&thread->sleeps),
        .priority = thread->priority,
        .lost_polls = atomic_load(&thread->lost_polls),
    };
}

void flash_thread_use(FlashThread *thread, FlashThreadUse *use)
{
    const FlashThreadUse *reset = &thread->reset;

    use_so_far(thread, use);
    use->elapsed_ns -= reset->elapsed_ns;
    use->cpu_ns = MAX(use->cpu_ns - reset->cpu_ns, 0);
    use->polled_ns -= reset->polled_ns;
    use->behind_ns -= reset->behind_ns;
    use->sleeps -= reset->sleeps;
    use->lost_polls -= reset->lost_polls;
}

void flash_thread_reset_use(FlashThread *thread)
{
    use_so_far(thread, &thread->reset);
}
