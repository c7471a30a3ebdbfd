/*
 * Scarp: Device Self-test
 *
 * A test reads the namespaces, one read after the other. Its reads go through
 * the flash as a host's reads do, so they take the drive's time, and delay the
 * host's commands. An extended test reads all blocks. A short test reads a
 * sample that is spread over each namespace. A read that fails ends the test.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/units.h"
#include "system/block-backend.h"
#include "flash-admin.h"

enum {
    CODE_NONE = 0x0,
    CODE_SHORT = 0x1,
    CODE_EXTENDED = 0x2,
    CODE_ABORT = 0xf,
    RESULTS = 20,
    SEGMENT_MEDIA = 1, /* the only segment of a test */
    VALID_NSID = 1 << 0,
    VALID_FLBA = 1 << 1,
    VALID_SCT = 1 << 2,
    VALID_SC = 1 << 3,
    IN_PROGRESS = 0x011d, /* status: a self-test runs already */
};

#define EXTENDED_BYTES (128 * KiB)
#define SHORT_BYTES (4 * KiB)
#define SHORT_READS 64
/* EDSTT of Identify assumes that a test reads so many bytes in a minute. */
#define MINUTE_BYTES (60 * 100 * UINT64_C(1000000))

typedef struct QEMU_PACKED {
    uint8_t status;  /* 7:4 the code of the test, 3:0 its result */
    uint8_t segment;
    uint8_t valid;
    uint8_t rsvd;
    uint64_t hours;  /* since power on */
    uint32_t nsid;
    uint64_t lba;    /* the block that failed */
    uint8_t sct, sc; /* status of that block's read */
    uint16_t vs;
} Result;

typedef struct QEMU_PACKED {
    uint8_t code;    /* of the running test */
    uint8_t percent;
    uint8_t rsvd[2];
    Result result[RESULTS]; /* the latest first */
} Log;

QEMU_BUILD_BUG_ON(sizeof(Log) != 564);

struct FlashSelfTest {
    NvmeCtrl *ctrl;
    Log log;             /* percent is filled in when the page is read */
    uint32_t nsid;       /* as the host has named it */
    DECLARE_BITMAP(tested, NVME_MAX_NAMESPACES + 1);
    uint32_t at_nsid;    /* the namespace that is read */
    uint64_t at;         /* number of the read in that namespace */
    uint64_t done, total; /* reads of all namespaces */
    BlockAIOCB *aiocb;   /* the read under way, or NULL */
    bool paused;
    QEMUIOVector iov;
    void *buffer;        /* NULL: no test has run */
};

static void go_on(FlashSelfTest *test);

/* Returns the number of reads that the test makes in ns. */
static uint64_t reads_of(const FlashSelfTest *test, const NvmeNamespace *ns)
{
    return test->log.code == CODE_EXTENDED
               ? DIV_ROUND_UP(ns->size, EXTENDED_BYTES)
               : MIN(SHORT_READS, DIV_ROUND_UP(ns->size, SHORT_BYTES));
}

static uint64_t offset_of(const FlashSelfTest *test, const NvmeNamespace *ns)
{
    uint64_t apart = test->log.code == CODE_EXTENDED
                         ? EXTENDED_BYTES : ns->size / reads_of(test, ns);

    return QEMU_ALIGN_DOWN(test->at * apart, ns->lbasz);
}

static void add_result(FlashSelfTest *test, Result result)
{
    Log *log = &test->log;
    int64_t ms = qemu_clock_get_ms(QEMU_CLOCK_VIRTUAL) -
                 test->ctrl->starttime_ms;

    result.hours = cpu_to_le64(ms / 1000 / 60 / 60);
    memmove(&log->result[1], &log->result[0],
            sizeof(log->result) - sizeof(log->result[0]));
    log->result[0] = result;
    log->code = CODE_NONE;
}

static void end(FlashSelfTest *test, FlashSelfTestResult result)
{
    add_result(test, (Result) {
        .status = test->log.code << 4 | result,
        .valid = VALID_NSID,
        .nsid = cpu_to_le32(test->nsid),
    });
}

static void fail(FlashSelfTest *test, const NvmeNamespace *ns)
{
    uint64_t lba = offset_of(test, ns) / ns->lbasz;
    /* a read of several blocks does not tell which of them failed */
    bool exact = test->iov.size == ns->lbasz;

    add_result(test, (Result) {
        .status = test->log.code << 4 | SELF_TEST_FAILED,
        .segment = SEGMENT_MEDIA,
        .valid = VALID_NSID | VALID_SCT | VALID_SC | (exact ? VALID_FLBA : 0),
        .nsid = cpu_to_le32(test->at_nsid),
        .lba = exact ? cpu_to_le64(lba) : 0,
        .sct = NVME_UNRECOVERED_READ >> 8,
        .sc = NVME_UNRECOVERED_READ & 0xff,
    });
}

static void read_cb(void *opaque, int ret)
{
    FlashSelfTest *test = opaque;
    NvmeNamespace *ns;

    /* drop() cancels the read, and the caller of drop() goes on or ends */
    if (!test->aiocb) {
        return;
    }
    test->aiocb = NULL;
    ns = nvme_subsys_ns(test->ctrl->subsys, test->at_nsid);
    if (ret < 0 && ns) {
        fail(test, ns);
        return;
    }
    test->at++;
    test->done++;
    go_on(test);
}

/* Cancels the read under way, if there is one. */
static void drop(FlashSelfTest *test)
{
    BlockAIOCB *aiocb = g_steal_pointer(&test->aiocb);

    if (aiocb) {
        blk_aio_cancel(aiocb);
    }
}

/* Starts the test's next read, or ends the test if none is left. */
static void go_on(FlashSelfTest *test)
{
    while ((test->at_nsid = find_next_bit(test->tested, NVME_MAX_NAMESPACES + 1,
                                          test->at_nsid)) <=
           NVME_MAX_NAMESPACES) {
        NvmeNamespace *ns = nvme_subsys_ns(test->ctrl->subsys, test->at_nsid);
        uint64_t offset, most = test->log.code == CODE_EXTENDED
                                    ? EXTENDED_BYTES : SHORT_BYTES;

        if (ns && test->at < reads_of(test, ns)) {
            offset = offset_of(test, ns);
            qemu_iovec_init_buf(&test->iov, test->buffer,
                                MIN(most, ns->size - offset));
            test->aiocb = nvme_ns_aio_preadv(ns, offset, &test->iov, 0, 0,
                                             read_cb, test);
            return;
        }
        test->at_nsid++;
        test->at = 0;
    }
    end(test, SELF_TEST_PASSED);
}

/* ---- The command --------------------------------------------------------- */

/*
 * Sets test->tested to the namespaces to read, which are none for nsid 0.
 * Returns the status of the command.
 */
static uint16_t choose(FlashSelfTest *test, uint32_t nsid)
{
    NvmeNamespace *ns;
    uint16_t status;

    bitmap_zero(test->tested, NVME_MAX_NAMESPACES + 1);
    if (nsid && nsid != NVME_NSID_BROADCAST) {
        ns = flash_admin_ns(test->ctrl, nsid, &status);
        if (!ns) {
            return status;
        }
        set_bit(nsid, test->tested);
    }
    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        ns = nvme_ns(test->ctrl, i);
        if (ns && nsid == NVME_NSID_BROADCAST) {
            set_bit(i, test->tested);
        }
        if (ns && test_bit(i, test->tested) && ns->status) {
            return ns->status;
        }
    }
    return NVME_SUCCESS;
}

static uint16_t begin(FlashSelfTest *test, uint32_t nsid, uint8_t code)
{
    uint16_t status = choose(test, nsid);

    if (status) {
        return status;
    }
    if (!test->buffer) {
        test->buffer = g_malloc(EXTENDED_BYTES);
    }
    test->log.code = code;
    test->nsid = nsid;
    test->at_nsid = 1;
    test->at = test->done = test->total = 0;
    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        if (test_bit(i, test->tested)) {
            test->total += reads_of(test, nvme_ns(test->ctrl, i));
        }
    }
    go_on(test);
    return NVME_SUCCESS;
}

uint16_t flash_self_test_command(FlashSelfTest *test, uint32_t nsid,
                                 uint8_t code)
{
    switch (code) {
    case CODE_SHORT:
    case CODE_EXTENDED:
        return test->log.code ? IN_PROGRESS | NVME_DNR
                              : begin(test, nsid, code);
    case CODE_ABORT:
        flash_self_test_stop(test, NULL, SELF_TEST_ABORTED);
        return NVME_SUCCESS;
    default:
        return NVME_INVALID_FIELD | NVME_DNR;
    }
}

/* ---- Ends and pauses of a test ------------------------------------------- */

void flash_self_test_stop(FlashSelfTest *test, const NvmeNamespace *ns,
                          FlashSelfTestResult result)
{
    if (test->log.code && (!ns || test_bit(ns->params.nsid, test->tested))) {
        drop(test);
        test->paused = false;
        end(test, result);
    }
}

void flash_self_test_pause(FlashSelfTest *test)
{
    if (test->log.code == CODE_EXTENDED) {
        drop(test);
        test->paused = true;
    } else {
        flash_self_test_stop(test, NULL, SELF_TEST_RESET);
    }
}

void flash_self_test_resume(FlashSelfTest *test)
{
    if (test->paused) {
        test->paused = false;
        go_on(test);
    }
}

/* ---- Identify and the log page ------------------------------------------- */

uint16_t flash_self_test_minutes(NvmeCtrl *n)
{
    uint64_t bytes = 0;

    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_reachable_ns(n, i);

        if (ns) {
            bytes += ns->size;
        }
    }
    return MIN(MAX(DIV_ROUND_UP(bytes, MINUTE_BYTES), 1), UINT16_MAX);
}

GByteArray *flash_self_test_log(const FlashSelfTest *test)
{
    Log log = test->log;

    if (log.code) {
        log.percent = test->done * 100 / test->total;
    }
    return flash_log_page(&log, sizeof(log));
}

FlashSelfTest *flash_self_test_new(NvmeCtrl *n)
{
    FlashSelfTest *test = g_new0(FlashSelfTest, 1);

    test->ctrl = n;
    for (int i = 0; i < RESULTS; i++) {
        test->log.result[i].status = 0xf; /* no result */
    }
    return test;
}

void flash_self_test_free(FlashSelfTest *test)
{
    drop(test);
    g_free(test->buffer);
    g_free(test);
}
