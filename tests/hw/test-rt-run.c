/*
 * When the thread of a drive on the host's clock runs the engine, and with which
 * priority, to the nanosecond.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rt-world.h"

static void event(int64_t ns)
{
    world.event_ns[world.n_events++] = ns;
}

/* ---- Running the engine --------------------------------------------------- */

/* Ahead to the events within the lead, but past no end of a command. */
static void test_run_ahead(void)
{
    FlashThread *thread = begin();
    int64_t ahead_ns;

    thread->lead_ns = 2000;
    event(50);
    event(2200);
    event(2201);
    world.pushed = 3;
    g_assert_cmpint(run(thread, &ahead_ns), ==, 2201);
    /* a look for the lock, then the one at which it runs */
    g_assert_cmpuint(world.n_runs, ==, 2);
    g_assert_cmpint(world.ran_ns[0], ==, 200);
    g_assert_cmpint(world.ran_ns[1], ==, 2200);
    g_assert_cmpint(ahead_ns, ==, 2200);
    g_assert_cmpuint(world.most[0], ==, 3);
    g_assert_cmpuint(world.most[1], ==, 0);
    end();

    thread = begin();
    thread->lead_ns = 2000;
    event(300);
    event(400);
    world.ends_ns = 300;
    g_assert_cmpint(run(thread, &ahead_ns), ==, 400);
    g_assert_cmpint(ahead_ns, ==, 300);
    end();

    /* nothing to run ahead to */
    thread = begin();
    thread->lead_ns = 2000;
    g_assert_cmpint(run(thread, &ahead_ns), ==, SCARP_TIME_NEVER);
    g_assert_cmpint(ahead_ns, ==, 200);
    end();
}

/* Who pauses it relies on no further run. */
static void test_run_paused(void)
{
    FlashThread *thread = begin();
    int64_t ahead_ns;

    flash_thread_pause(thread, true);
    event(50);
    run(thread, &ahead_ns);
    g_assert_false(flash_thread_run(thread));
    g_assert_cmpuint(world.n_runs, ==, 0);
    flash_thread_pause(thread, false);
    g_assert_false(flash_thread_run(thread));
    g_assert_cmpuint(world.n_runs, ==, 1);
    end();
}

/* Only what is later than the bound is behind, and by all that it is late. */
static void test_behind(void)
{
    FlashThread *thread = begin();
    int64_t ahead_ns;
    FlashThreadUse use;

    thread->due_ns = 1000;
    world.now_ns = ZERO_NS + 1000 + BOUND_NS - 2 * LOOK_NS;
    run(thread, &ahead_ns);
    flash_thread_use(thread, &use);
    g_assert_cmpint(use.behind_ns, ==, 0);

    thread->due_ns = 1000;
    world.now_ns = ZERO_NS + 1001 + BOUND_NS - 2 * LOOK_NS;
    run(thread, &ahead_ns);
    flash_thread_use(thread, &use);
    g_assert_cmpint(use.behind_ns, ==, BOUND_NS + 1);
    flash_thread_reset_use(thread);
    flash_thread_use(thread, &use);
    g_assert_cmpint(use.behind_ns, ==, 0);
    g_assert_cmpint(use.elapsed_ns, ==, LOOK_NS);
    end();
}

/* Only a kick that brought commands says when others come. */
static void test_run_teaches(void)
{
    FlashThread *thread = begin();
    int64_t ahead_ns;

    thread->kicked_after_ns = 1000;
    run(thread, &ahead_ns);
    g_assert_cmpint(thread->idle_ns, ==, 0);
    g_assert_cmpint(thread->kicked_after_ns, ==, -1);
    world.pushed = 1;
    run(thread, &ahead_ns); /* it was not kicked */
    g_assert_cmpint(thread->idle_ns, ==, 0);
    thread->kicked_after_ns = 1000;
    world.pushed = 1;
    run(thread, &ahead_ns);
    g_assert_cmpint(thread->idle_ns, ==, FIRST_POLL_NS);
    end();
}

/* Who pushes runs the engine, or leaves it to the thread that does. */
static void test_run_by_others(void)
{
    FlashThread *thread = begin();

    /* the thread would sleep past the event: it is told of it */
    event(90000);
    world.pushed = 1;
    g_assert_false(flash_thread_run(thread));
    g_assert_true(atomic_load(&thread->again));
    atomic_store(&thread->again, false);

    /* now it waits for that event already */
    g_assert_false(flash_thread_run(thread));
    g_assert_false(atomic_load(&thread->again));

    world.free_ns = world.now_ns + 1000;
    world.completed = true; /* which is for the thread to tell */
    g_assert_false(flash_thread_run(thread));
    g_assert_true(atomic_load(&thread->again));
    g_assert_cmpuint(world.blocked, ==, 0);
    world.free_ns = 0;
    g_assert_true(flash_thread_run(thread));
    end();
}

/* ---- Priority ------------------------------------------------------------- */

/* Who has used 85 % of 80 ms lets others have their turn for 20. */
static void test_priority(void)
{
    begin_with((FlashThreadConfig) { .spin_ns = -1, .priority = 7 });
    g_assert_cmpint(world.policy, ==, SCHED_FIFO);
    g_assert_cmpint(scene->spin_ns, ==, PRIORITY_SPIN_NS);
    begin_window(scene, world.now_ns);
    world.asked = 0;

    /* too early to say */
    world.cpu_ns = 79000000;
    world.now_ns = scene->window_ns + WINDOW_NS - LOOK_NS - 1;
    adapt_priority(scene);
    g_assert_cmpuint(world.asked, ==, 0);
    g_assert_cmpint(scene->window_cpu_ns, ==, 0);

    /* exactly so much is not more */
    world.cpu_ns = 68000000;
    world.now_ns = scene->window_ns + WINDOW_NS - LOOK_NS;
    adapt_priority(scene);
    g_assert_cmpuint(world.asked, ==, 0);
    g_assert_cmpint(scene->window_cpu_ns, ==, 68000000);

    world.cpu_ns += 68000001;
    world.now_ns = scene->window_ns + WINDOW_NS - LOOK_NS;
    adapt_priority(scene);
    g_assert_cmpuint(world.asked, ==, 1);
    g_assert_cmpint(world.policy, ==, SCHED_OTHER);
    g_assert_cmpint(world.priority, ==, 0);

    world.now_ns = scene->window_ns + ORDINARY_NS - LOOK_NS - 1;
    adapt_priority(scene);
    g_assert_cmpuint(world.asked, ==, 1);
    world.now_ns = scene->window_ns + ORDINARY_NS - LOOK_NS;
    adapt_priority(scene);
    g_assert_cmpuint(world.asked, ==, 2);
    g_assert_cmpint(world.policy, ==, SCHED_FIFO);
    g_assert_cmpint(world.priority, ==, 7);
    end();
}

/* A long sleep is others' turn, too; a short one is not. */
static void test_priority_sleeps(void)
{
    begin_with((FlashThreadConfig) { .spin_ns = -1, .priority = 7 });
    scene->margin_ns = 0;
    set_ordinary(scene, true);
    world.asked = 0;
    sleep_until(scene, engine_ns() + LOOK_NS + ORDINARY_NS);
    g_assert_cmpuint(world.asked, ==, 0);
    scene->margin_ns = 0;
    sleep_until(scene, engine_ns() + LOOK_NS + ORDINARY_NS + 1);
    g_assert_cmpuint(world.asked, ==, 1);
    g_assert_cmpint(world.priority, ==, 7);
    set_ordinary(scene, true);
    world.kicked_ns = 10;
    sleep_until(scene, SCARP_TIME_NEVER);
    g_assert_cmpint(world.priority, ==, 7);

    /* a host that has changed its mind is asked again, later */
    set_ordinary(scene, true);
    world.forbidden = true;
    sleep_until(scene, SCARP_TIME_NEVER);
    g_assert_true(scene->ordinary);
    end();
}

/* It is for the host to say who may have any. */
static void test_priority_refused(void)
{
    FlashThread *thread;
    FlashThreadUse use;
    FlashThreadConfig config = {
        .clock_ns = engine_clock, .spin_ns = -1, .cpu = -1, .priority = 7,
    };

    memset(&world, 0, sizeof(world));
    world.forbidden = true;
    thread = flash_thread_new(&config);
    g_assert_nonnull(thread);
    g_assert_cmpuint(world.asked, ==, 2);
    flash_thread_use(thread, &use);
    g_assert_cmpuint(use.priority, ==, 0);
    g_assert_cmpint(thread->spin_ns, ==, USUAL_SPIN_NS);
    world.now_ns += 1000000000;
    world.asked = 0;
    adapt_priority(thread);
    g_assert_cmpuint(world.asked, ==, 0);
    flash_thread_free(thread);
}

/* ---- The whole of it ------------------------------------------------------ */

static int64_t told_ns[MOST_EVENTS];
static unsigned n_told;

static void tell(void *opaque)
{
    told_ns[n_told++] = flash_thread_now_ns(scene);
    world.completed = false;
    if (world.n_events) {
        world.ends_ns = world.event_ns[0];
    } else {
        atomic_store(&scene->stop, true);
    }
}

/*
 * Ten reads, 1 ms apart, on a host that wakes it 9 us late: it gets up so much
 * earlier.  After the first it is in time but for its own looks at clocks.
 */
static void test_in_time(void)
{
    FlashThreadUse use;

    begin_with((FlashThreadConfig) { .spin_ns = SPIN_NS, .completed = tell });
    scene->margin_ns = 1000;
    n_told = 0;
    for (int i = 1; i <= 10; i++) {
        event(i * 1000000);
    }
    world.ends_ns = world.event_ns[0];
    world.late_ns = 9000;
    thread_main(scene);
    g_assert_cmpuint(n_told, ==, 10);
    g_assert_cmpint(told_ns[0], >=, 1000000 + 8000);
    for (unsigned i = 1; i < n_told; i++) {
        int64_t late_ns = told_ns[i] - (i + 1) * 1000000;

        g_assert_cmpint(late_ns, >=, 0);
        g_assert_cmpint(late_ns, <=, 10 * LOOK_NS);
    }
    /* and it slept for most of the time */
    flash_thread_use(scene, &use);
    g_assert_cmpint(use.polled_ns, <, 10 * 5000);
    g_assert_cmpuint(use.sleeps, ==, 10);
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rt-thread/run/ahead", test_run_ahead);
    g_test_add_func("/rt-thread/run/paused", test_run_paused);
    g_test_add_func("/rt-thread/run/behind", test_behind);
    g_test_add_func("/rt-thread/run/teaches", test_run_teaches);
    g_test_add_func("/rt-thread/run/others", test_run_by_others);
    g_test_add_func("/rt-thread/priority", test_priority);
    g_test_add_func("/rt-thread/priority/sleeps", test_priority_sleeps);
    g_test_add_func("/rt-thread/priority/refused", test_priority_refused);
    g_test_add_func("/rt-thread/in-time", test_in_time);
    return g_test_run();
}
