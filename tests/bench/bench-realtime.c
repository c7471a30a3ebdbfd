/*
 * Scarp: the rings and the engine's thread, driven without QEMU and a guest
 *
 * bench-realtime DESCRIPTION OVERRIDES LOAD USED RATE SPIN_NS SECONDS [FILE]:
 * LOAD is reads (4 KiB, random, on an aged drive) or writes (the same, which
 * collect garbage).  USED permille of the capacity have data, and only these are
 * read and written.  With a RATE of 0 there are always DEPTH commands in flight;
 * else so many are pushed in a second.  Prints one object of JSON.  FILE gets a
 * line for every 10 ms in which commands ended: when it began (CLOCK_MONOTONIC),
 * how many, their median and greatest lateness.  It needs a RATE.
 *
 * The client's thread is the main one: it takes the place of QEMU's threads and
 * of the guest.  Unlike them it never runs the engine itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <time.h>
#include "qemu/processor.h"
#include "flash-rt-thread.h"
#include "random.h"

#define MAX_CPUS 1024
#define NS_PER_S 1000000000

enum { DEPTH = 128, MAX_LATE_NS = 10 * 1000 * 1000, UNIT = 4096,
       STRETCH_US = 10000 };

typedef struct {
    ScarpCmd cmd;
    int64_t pushed_ns;
} Slot;

typedef struct {
    uint32_t at_us; /* since the beginning */
    uint32_t late_ns;
} Sample;

typedef struct {
    ScarpDrive *drive;
    FlashPort *port;
    FlashThread *thread;
    ScarpOp op;
    uint64_t units;
    uint64_t random;
    uint64_t completed;
    int64_t max_late_ns;
    uint32_t *late; /* completions by lateness in ns */
    int64_t begin_ns;
    Sample *sample; /* of each completion, if there is a file for them */
    uint64_t n_samples, max_samples;
    Slot slot[FLASH_PORT_ENTRIES];
    unsigned free[FLASH_PORT_ENTRIES];
    unsigned n_free;
} Client;

static int64_t host_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

static uint64_t number(const char *text)
{
    guint64 value;

    if (!g_ascii_string_to_unsigned(text, 10, 0, NS_PER_S, &value, NULL)) {
        fprintf(stderr, "bench-realtime: '%s': a number from 0 to %d\n", text,
                NS_PER_S);
        exit(2);
    }
    return value;
}

static bool push(Client *client)
{
    Slot *slot;
    uint64_t unit = scarp_random(&client->random) % client->units;

    if (!client->n_free) {
        return false;
    }
    slot = &client->slot[client->free[--client->n_free]];
    slot->cmd = (ScarpCmd) {
        .op = client->op,
        .offset_bytes = unit * UNIT,
        .length_bytes = UNIT,
        .deadline_ns = SCARP_TIME_NEVER,
        .nsid = 1,
        .opaque = slot,
    };
    slot->pushed_ns = flash_thread_now_ns(client->thread);
    /* there are as many slots as entries */
    if (!flash_port_push(client->port, &slot->cmd, FLASH_PORT_WHEN_TAKEN)) {
        abort();
    }
    return true;
}

static unsigned pop_all(Client *client)
{
    unsigned popped = 0;
    ScarpCmd *cmd;

    while ((cmd = flash_port_pop(client->port))) {
        Slot *slot = cmd->opaque;
        int64_t now_ns = flash_thread_now_ns(client->thread);
        int64_t late_ns = now_ns - slot->pushed_ns -
                          (cmd->complete_ns - cmd->submit_ns);

        if (cmd->status != SCARP_STATUS_OK || late_ns < 0) {
            abort();
        }
        client->late[MIN(late_ns, MAX_LATE_NS)]++;
        client->max_late_ns = MAX(client->max_late_ns, late_ns);
        if (client->n_samples < client->max_samples) {
            client->sample[client->n_samples++] = (Sample) {
                .at_us = (now_ns - client->begin_ns) / 1000,
                .late_ns = MIN(late_ns, UINT32_MAX),
            };
        }
        client->free[client->n_free++] = slot - client->slot;
        popped++;
    }
    client->completed += popped;
    return popped;
}

/* As many in flight as there are slots. */
static void closed_loop(Client *client, int64_t end_ns)
{
    while (flash_thread_now_ns(client->thread) < end_ns) {
        bool pushed = false;

        if (!pop_all(client) && !client->n_free) {
            cpu_relax();
            continue;
        }
        while (push(client)) {
            pushed = true;
        }
        if (pushed) {
            flash_thread_kick(client->thread);
        }
    }
}

static void paced(Client *client, int64_t end_ns, int64_t step_ns)
{
    int64_t due_ns = flash_thread_now_ns(client->thread);
    int64_t now_ns;

    while ((now_ns = flash_thread_now_ns(client->thread)) < end_ns) {
        bool popped = pop_all(client);

        if (now_ns >= due_ns) {
            /* what the client itself was too late for is not made up */
            due_ns = (now_ns - due_ns < step_ns ? due_ns : now_ns) + step_ns;
            if (push(client)) {
                flash_thread_kick(client->thread);
            }
        } else if (!popped) {
            cpu_relax();
        }
    }
}

static int64_t quantile(const Client *client, unsigned permille)
{
    uint64_t rank = (client->completed * permille + 999) / 1000, seen = 0;

    for (int64_t ns = 0; ns <= MAX_LATE_NS; ns++) {
        seen += client->late[ns];
        if (seen >= rank) {
            return ns;
        }
    }
    return MAX_LATE_NS;
}

static int by_lateness(const void *a, const void *b)
{
    uint32_t x = ((const Sample *)a)->late_ns, y = ((const Sample *)b)->late_ns;

    return (x > y) - (x < y);
}

/* A page that is touched first during the run would make the client late. */
static void reserve_samples(Client *client, uint64_t count)
{
    client->sample = g_new(Sample, count);
    memset(client->sample, 0xff, count * sizeof(Sample));
    client->max_samples = count;
}

/* Sorts the samples of each stretch; begin_ns is the host's. */
static void write_samples(Client *client, FILE *file, int64_t begin_ns)
{
    Sample *sample = client->sample;
    uint64_t next;

    fprintf(file, "host_ns,completions,late_p50_ns,late_max_ns\n");
    for (uint64_t i = 0; i < client->n_samples; i = next) {
        uint32_t stretch = sample[i].at_us / STRETCH_US;

        next = i + 1;
        while (next < client->n_samples &&
               sample[next].at_us / STRETCH_US == stretch) {
            next++;
        }
        qsort(sample + i, next - i, sizeof(Sample), by_lateness);
        fprintf(file, "%" PRId64 ",%" PRIu64 ",%u,%u\n",
                begin_ns + (int64_t)stretch * STRETCH_US * 1000, next - i,
                sample[i + (next - i - 1) / 2].late_ns,
                sample[next - 1].late_ns);
    }
}

static ScarpDrive *aged_drive(char **argv, uint32_t used_permille)
{
    g_autoptr(GError) error = NULL;
    ScarpConfig config = {
        .description_path = argv[1],
        .overrides = *argv[2] ? argv[2] : NULL,
        .scheme = "baseline",
        .seed = 1,
    };
    ScarpAge age = {
        .utilisation_permille = used_permille,
        .overwrite_permille = UINT32_MAX,
        .pattern = "random",
        .seed = 1,
    };
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    if (!drive || !scarp_age(drive, &age, &error)) {
        fprintf(stderr, "bench-realtime: %s\n", error->message);
        exit(1);
    }
    return drive;
}

static void print(const Client *client, const FlashThreadUse *use)
{
    const ScarpStats *stats = scarp_stats(client->drive);

    printf("{\"completed\": %" PRIu64 ", \"seconds\": %.6f, "
           "\"per_second\": %.0f, \"gc_runs\": %" PRIu64 ", "
           "\"gc_moved_units\": %" PRIu64 ", \"late_p50_ns\": %" PRId64
           ", \"late_p99_ns\": %" PRId64 ", \"late_p99_9_ns\": %" PRId64
           ", \"late_max_ns\": %" PRId64 ", \"thread_cpu_share\": %.4f, "
           "\"polled_share\": %.4f, \"behind_share\": %.4f, "
           "\"sleeps\": %" PRIu64 ", \"priority\": %" PRIu64 "}\n",
           client->completed, use->elapsed_ns / 1e9,
           client->completed * 1e9 / use->elapsed_ns, stats->gc_runs,
           stats->gc_moved_units, quantile(client, 500), quantile(client, 990),
           quantile(client, 999), client->max_late_ns,
           (double)use->cpu_ns / use->elapsed_ns,
           (double)use->polled_ns / use->elapsed_ns,
           (double)use->behind_ns / use->elapsed_ns, use->sleeps,
           use->priority);
}

int main(int argc, char **argv)
{
    Client *client = g_new0(Client, 1);
    FlashThreadConfig config = { .clock_ns = host_ns,
                                 .bound_ns = 20000, .cpu = -1 };
    FlashThreadUse use;
    unsigned cores = 0;
    uint64_t used_permille, rate, spin_ns, seconds;
    int64_t begin_host_ns, end_ns;
    FILE *file = NULL;

    if (argc != 8 && argc != 9) {
        fprintf(stderr, "usage: bench-realtime DESCRIPTION OVERRIDES "
                "reads|writes USED RATE SPIN_NS SECONDS [FILE]\n");
        return 2;
    }
    if (strcmp(argv[3], "reads") && strcmp(argv[3], "writes")) {
        fprintf(stderr, "bench-realtime: '%s': reads or writes\n", argv[3]);
        return 2;
    }
    used_permille = number(argv[4]);
    if (used_permille < 1 || used_permille > 1000) {
        fprintf(stderr, "bench-realtime: '%s': 1 to 1000 permille\n", argv[4]);
        return 2;
    }
    rate = number(argv[5]);
    spin_ns = number(argv[6]);
    seconds = number(argv[7]);
    if (argc == 9) {
        if (!rate) {
            fprintf(stderr, "bench-realtime: '%s': needs a RATE\n", argv[8]);
            return 2;
        }
        file = fopen(argv[8], "w");
        if (!file) {
            fprintf(stderr, "bench-realtime: %s: %s\n", argv[8],
                    strerror(errno));
            return 1;
        }
        reserve_samples(client, rate * seconds + FLASH_PORT_ENTRIES);
    }
    client->drive = aged_drive(argv, used_permille);
    client->op = strcmp(argv[3], "writes") ? SCARP_OP_READ : SCARP_OP_WRITE;
    client->units = scarp_drive_logical_bytes(client->drive) / UNIT *
                    used_permille / 1000;
    client->random = 1;
    client->late = g_new0(uint32_t, MAX_LATE_NS + 1);
    client->n_free = rate ? FLASH_PORT_ENTRIES : DEPTH;
    for (unsigned i = 0; i < client->n_free; i++) {
        client->free[i] = i;
    }
    client->port = flash_port_new(client->drive);

    config.port = client->port;
    config.spin_ns = spin_ns;
    /* as scarp has it: the client keeps a core */
    for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
        cores += flash_thread_may_use(cpu);
    }
    config.priority = cores > 1;
    config.zero_ns = host_ns() - scarp_now_ns(client->drive);
    client->thread = flash_thread_new(&config);
    if (!client->thread) {
        fprintf(stderr, "bench-realtime: no event descriptor or thread left\n");
        return 1;
    }
    flash_thread_pause(client->thread, false);
    flash_thread_reset_use(client->thread);
    begin_host_ns = host_ns();
    client->begin_ns = flash_thread_now_ns(client->thread);
    end_ns = client->begin_ns + seconds * NS_PER_S;
    if (rate) {
        paced(client, end_ns, NS_PER_S / rate);
    } else {
        closed_loop(client, end_ns);
    }
    flash_thread_use(client->thread, &use);
    /*
     * Stop first: the statistics are read without the lock.  What is in flight is
     * not counted.
     */
    flash_thread_stop(client->thread);
    print(client, &use);
    if (file) {
        write_samples(client, file, begin_host_ns);
        if (fclose(file)) {
            fprintf(stderr, "bench-realtime: %s: %s\n", argv[8],
                    strerror(errno));
            return 1;
        }
    }
    return 0;
}
