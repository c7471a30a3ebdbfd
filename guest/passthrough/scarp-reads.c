/*
 * scarp-reads [OPTION]... /dev/nvme0n1: random reads, of which some carry an
 * access latency.
 *
 * The reads go as NVMe commands through io_uring, because no other interface of
 * the kernel carries a read's access latency. The program prints the latencies
 * of reads with and without it as one line of JSON, in ns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { NVME_READ = 2, MAX_DEPTH = 1024, MAX_BYTES = 128 * 1024 };

static const char *const latencies[] = { "none", "idle", "normal", "low" };

static const char usage[] =
    "scarp-reads [-a none|idle|normal|low] [-p PERMILLE] [-n READS] [-q DEPTH] "
    "[-b BYTES] [-z SPAN] [-s SEED] /dev/nvme0n1";

typedef struct {
    unsigned access, permille, depth, bytes;
    unsigned long long reads, span, seed;
    const char *device;
} Options;

typedef struct {
    void *data;
    unsigned long long begin_ns;
    int hinted;
} Slot;

typedef struct {
    unsigned long long *ns;
    unsigned long long n;
} Latencies;

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "scarp-reads: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static unsigned long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static unsigned long long number(int option, const char *text,
                                 unsigned long long least,
                                 unsigned long long most)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most) {
        die("-%c %s: a whole number from %llu to %llu", option, text, least,
            most);
    }
    return value;
}

static Options parse(int argc, char **argv)
{
    Options o = { .permille = 1000, .depth = 1, .bytes = 4096, .reads = 1000,
                  .seed = 1 };
    int option, shared = 0;

    while ((option = getopt(argc, argv, "a:p:n:q:b:z:s:")) != -1) {
        switch (option) {
        case 'a':
            while (o.access < 4 && strcmp(latencies[o.access], optarg)) {
                o.access++;
            }
            if (o.access == 4) {
                die("-a %s: allowed are none, idle, normal, low", optarg);
            }
            break;
        case 'p':
            o.permille = number(option, optarg, 0, 1000);
            shared = 1;
            break;
        case 'n':
            o.reads = number(option, optarg, 1, 100000000);
            break;
        case 'q':
            o.depth = number(option, optarg, 1, MAX_DEPTH);
            break;
        case 'b':
            o.bytes = number(option, optarg, 512, MAX_BYTES);
            break;
        case 'z':
            o.span = number(option, optarg, 512, 1ull << 50);
            break;
        case 's':
            o.seed = number(option, optarg, 0, ~0ull >> 1);
            break;
        default:
            die("%s", usage);
        }
    }
    if (optind != argc - 1) {
        die("%s", usage);
    }
    if (shared && !o.access) {
        die("-p: needs -a idle, normal or low");
    }
    o.device = argv[optind];
    return o;
}

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n, size);

    if (!memory) {
        die("no memory");
    }
    return memory;
}

/* Opens the namespace's character device, which takes NVMe commands. */
static int open_generic(const char *device)
{
    char path[64];
    int fd;

    if (strncmp(device, "/dev/nvme", 9)) {
        die("%s: is no NVMe namespace, such as /dev/nvme0n1", device);
    }
    snprintf(path, sizeof(path), "/dev/ng%s", device + 9);
    fd = open(path, O_RDONLY);
    if (fd < 0) {
        die("%s: %s", path, strerror(errno));
    }
    return fd;
}

static unsigned long long next_random(unsigned long long *state)
{
    /* Steele's and Vigna's splitmix64 */
    unsigned long long x = *state += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static int by_value(const void *a, const void *b)
{
    unsigned long long x = *(const unsigned long long *)a;
    unsigned long long y = *(const unsigned long long *)b;

    return (x > y) - (x < y);
}

static void print(const char *name, Latencies *of, const char *end)
{
    static const struct { const char *name; unsigned permyriad; } points[] = {
        { "p50_ns", 5000 }, { "p99_ns", 9900 }, { "p99.9_ns", 9990 },
        { "max_ns", 10000 },
    };
    unsigned long long sum = 0;

    qsort(of->ns, of->n, sizeof(*of->ns), by_value);
    for (unsigned long long i = 0; i < of->n; i++) {
        sum += of->ns[i];
    }
    printf("\"%s\": {\"n\": %llu", name, of->n);
    if (of->n) {
        printf(", \"mean_ns\": %llu", sum / of->n);
        for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
            unsigned long long rank = (of->n * points[i].permyriad + 9999) /
                                      10000;

            printf(", \"%s\": %llu", points[i].name, of->ns[rank - 1]);
        }
    }
    printf("}%s", end);
}

static void start(struct io_uring *ring, Slot *slot, const Options *o, int fd,
                  int nsid, unsigned sector, unsigned long long *random)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    struct nvme_uring_cmd *cmd = (struct nvme_uring_cmd *)sqe->cmd;
    unsigned long long place = next_random(random) % (o->span / o->bytes);
    unsigned long long lba = place * o->bytes / sector;

    slot->hinted = o->access && next_random(random) % 1000 < o->permille;
    memset(sqe, 0, 2 * sizeof(*sqe));
    sqe->opcode = IORING_OP_URING_CMD;
    sqe->fd = fd;
    sqe->cmd_op = NVME_URING_CMD_IO;
    io_uring_sqe_set_data(sqe, slot);
    cmd->opcode = NVME_READ;
    cmd->nsid = nsid;
    cmd->addr = (unsigned long)slot->data;
    cmd->data_len = o->bytes;
    cmd->cdw10 = lba;
    cmd->cdw11 = lba >> 32;
    cmd->cdw12 = o->bytes / sector - 1;
    cmd->cdw13 = slot->hinted ? o->access << 4 : 0; /* access latency */
    slot->begin_ns = now_ns();
}

int main(int argc, char **argv)
{
    Options o = parse(argc, argv);
    int fd = open_generic(o.device), block = open(o.device, O_RDONLY);
    unsigned long long begun = 0, ended = 0, random = o.seed, size;
    struct io_uring ring;
    Latencies of[2] = { 0 };
    int sector, nsid, status;

    if (block < 0 || ioctl(block, BLKSSZGET, &sector) ||
        ioctl(block, BLKGETSIZE64, &size)) {
        die("%s: %s", o.device, strerror(errno));
    }
    nsid = ioctl(fd, NVME_IOCTL_ID);
    if (nsid < 0) {
        die("%s: its namespace: %s", o.device, strerror(errno));
    }
    if (o.span > size) {
        die("-z %llu: at most %llu", o.span, size);
    }
    if (!o.span) {
        o.span = size;
    }
    if (o.bytes % sector || o.bytes > o.span) {
        die("-b %u: a multiple of %d, and at most %llu", o.bytes, sector,
            o.span);
    }
    status = io_uring_queue_init(o.depth, &ring, IORING_SETUP_SQE128 |
                                                 IORING_SETUP_CQE32);
    if (status) {
        die("io_uring: %s", strerror(-status));
    }
    for (int i = 0; i < 2; i++) {
        of[i].ns = zeroed(o.reads, sizeof(*of[i].ns));
    }
    for (; begun < o.depth && begun < o.reads; begun++) {
        Slot *slot = zeroed(1, sizeof(*slot));

        if (posix_memalign(&slot->data, 4096, o.bytes)) {
            die("no memory");
        }
        start(&ring, slot, &o, fd, nsid, sector, &random);
    }
    while (ended < o.reads) {
        struct io_uring_cqe *cqe;
        Slot *slot;

        status = io_uring_submit_and_wait(&ring, 1);
        if (status < 0 && status != -EINTR) {
            die("io_uring: %s", strerror(-status));
        }
        while (!io_uring_peek_cqe(&ring, &cqe)) {
            slot = io_uring_cqe_get_data(cqe);
            if (cqe->res) {
                die("a read ended with status %d", cqe->res);
            }
            of[slot->hinted].ns[of[slot->hinted].n++] =
                now_ns() - slot->begin_ns;
            io_uring_cqe_seen(&ring, cqe);
            ended++;
            if (begun < o.reads) {
                begun++;
                start(&ring, slot, &o, fd, nsid, sector, &random);
            }
        }
    }
    printf("{");
    print("none", &of[0], o.access ? ", " : "");
    if (o.access) {
        print(latencies[o.access], &of[1], "");
    }
    printf("}\n");
    if (fflush(stdout) || ferror(stdout)) {
        die("the results: %s", strerror(errno));
    }
    return 0;
}
