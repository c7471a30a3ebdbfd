/*
 * A drive under load, and what its slowest reads waited for: docs/library.md.
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>
#include <scarp.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    ScarpConfig config = { .description_path = argv[argc - 1], .seed = 1,
                           .scheme = argc > 2 ? argv[1] : "baseline" };
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = UINT32_MAX, .seed = 1 };
    GError *error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);
    GRand *random = g_rand_new_with_seed(1);
    ScarpCmd slot[8], *cmd;
    ScarpTail tail;

    if (!drive || !scarp_age(drive, &age, &error)) {
        fprintf(stderr, "tail: %s\n", error->message);
        return 1;
    }
    for (int i = 0; i < 20000; i++) {
        cmd = i < 8 ? &slot[i] : scarp_reap(drive);
        while (!cmd && scarp_run_until_done(drive, SCARP_TIME_LAST)) {
            cmd = scarp_reap(drive);
        }
        *cmd = (ScarpCmd) { .length_bytes = 4096,
                            .op = i % 3 ? SCARP_OP_READ : SCARP_OP_WRITE,
                            .deadline_ns = SCARP_TIME_NEVER };
        cmd->offset_bytes = (uint64_t)g_rand_int(random) * 4096 %
                            scarp_drive_logical_bytes(drive);
        scarp_submit(drive, cmd, scarp_now_ns(drive));
    }
    scarp_latency_tail(drive, SCARP_OP_READ, 10000, &tail);
    printf("The slowest %" PRIu64 " reads, of at least %" PRIu64 " us:\n",
           tail.n, tail.at_least_ns / 1000);
    for (int i = 0; i < SCARP_CAUSE__COUNT; i++) {
        printf("%8" PRIu64 " us of each: %s\n",
               tail.cause_ns[i] / tail.n / 1000, scarp_cause_name(i));
    }
    scarp_drive_free(drive);
    g_rand_free(random);
}
