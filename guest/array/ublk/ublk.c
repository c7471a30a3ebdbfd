/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "ublk.h"
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Runs a control command. Only one at a time may run, in any thread. */
static int control(Ublk *u, unsigned op, struct ublksrv_ctrl_cmd *cmd)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->commands);
    int code;

    io_uring_prep_rw(IORING_OP_URING_CMD, sqe, u->control, NULL, 0, 0);
    sqe->cmd_op = op;
    memcpy(sqe->cmd, cmd, sizeof(*cmd));
    code = array_ring_finish(&u->commands);
    return code < 0 ? -code : 0;
}

/*
 * Runs a control command about the device as a whole. data is what the command
 * reads or writes.
 */
static int command(Ublk *u, unsigned op, void *data, size_t length,
                   uint64_t value)
{
    struct ublksrv_ctrl_cmd cmd = {
        .dev_id = u->id, .queue_id = -1, .len = length,
        .addr = (uintptr_t)data, .data = { value },
    };

    return control(u, op, &cmd);
}

/* Opens /dev/ublkcN, which appears a moment after the device was added. */
static int open_device(uint32_t id)
{
    char path[32];
    int fd = -1;

    snprintf(path, sizeof(path), "/dev/ublkc%u", id);
    for (int i = 0; fd < 0 && i < 500; i++) {
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0) {
            usleep(10000);
        }
    }
    return fd;
}

static int attach(Ublk *u, const char **what)
{
    size_t bytes = UBLK_DEPTH * sizeof(struct ublksrv_io_desc);

    *what = "/dev/ublkc";
    u->device = open_device(u->id);
    if (u->device < 0) {
        return errno;
    }
    bytes = (bytes + 4095) / 4096 * 4096;
    u->requests = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE,
                       u->device, UBLKSRV_CMD_BUF_OFFSET);
    u->buffers = mmap(NULL, (size_t)UBLK_DEPTH * UBLK_BUFFER_BYTES,
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    *what = "memory for requests";
    return u->requests == MAP_FAILED || u->buffers == MAP_FAILED ? errno : 0;
}

int ublk_open(Ublk *u, const char **what)
{
    int code;

    u->device = -1;
    *what = "/dev/ublk-control (modprobe ublk_drv)";
    u->control = open("/dev/ublk-control", O_RDWR | O_CLOEXEC);
    if (u->control < 0) {
        return errno;
    }
    *what = "a ring for the ublk device's commands";
    code = io_uring_queue_init(2, &u->commands, IORING_SETUP_SQE128);
    return code ? -code : 0;
}

static int set_params(Ublk *u, const UblkSize *size)
{
    unsigned page_shift = __builtin_ctz(size->page_bytes);
    struct ublk_params params = {
        .len = sizeof(params),
        .types = UBLK_PARAM_TYPE_BASIC |
                 (size->read_only ? 0 : UBLK_PARAM_TYPE_DISCARD),
        .basic = {
            .attrs = UBLK_ATTR_VOLATILE_CACHE | UBLK_ATTR_FUA |
                     (size->read_only ? UBLK_ATTR_READ_ONLY : 0),
            .logical_bs_shift = 9, .physical_bs_shift = page_shift,
            .io_min_shift = page_shift, .io_opt_shift = page_shift,
            .max_sectors = UBLK_BUFFER_BYTES >> 9,
            .dev_sectors = size->bytes >> 9,
        },
        .discard = {
            .discard_granularity = size->page_bytes,
            .max_discard_sectors = 1u << 21,
            .max_discard_segments = 1,
        },
    };

    return command(u, UBLK_U_CMD_SET_PARAMS, &params, sizeof(params), 0);
}

static int add(Ublk *u, int id, const UblkSize *size, const char **what)
{
    struct ublksrv_ctrl_dev_info info = {
        .nr_hw_queues = 1, .queue_depth = UBLK_DEPTH,
        .max_io_buf_bytes = UBLK_BUFFER_BYTES, .dev_id = id,
        .ublksrv_pid = getpid(), .ublksrv_flags = size->number,
        .flags = UBLK_F_CMD_IOCTL_ENCODE | UBLK_F_USER_RECOVERY |
                 UBLK_F_USER_RECOVERY_REISSUE,
    };
    int code;

    *what = "a ublk device";
    u->id = id;
    code = command(u, UBLK_U_CMD_ADD_DEV, &info, sizeof(info), 0);
    u->id = info.dev_id;
    return code;
}

int ublk_add(Ublk *u, int id, const UblkSize *size, const char **what)
{
    int code = add(u, id, size, what);

    if (code) {
        return code;
    }
    code = set_params(u, size);
    code = code ? code : attach(u, what);
    if (code) {
        ublk_remove(u);
    }
    return code;
}

static int refused(const char **what, const char *why)
{
    *what = why;
    return UBLK_REFUSED;
}

int ublk_number(Ublk *u, uint32_t id, uint64_t *number, const char **what)
{
    struct ublksrv_ctrl_dev_info info = { 0 };
    int code;

    u->id = id;
    *what = "the ublk device";
    code = command(u, UBLK_U_CMD_GET_DEV_INFO, &info, sizeof(info), 0);
    *number = info.ublksrv_flags;
    return code;
}

/*
 * Checks that the device to be recovered is this array's, has its size and has
 * the queue that this program serves. The device may have changed since its
 * number was read. A file system mounted on it would be destroyed if another
 * array served it.
 */
static int check_device(Ublk *u, const UblkSize *size, const char **what)
{
    struct ublk_params params = { .len = sizeof(params) };
    struct ublksrv_ctrl_dev_info info = { 0 };
    int code;

    *what = "the ublk device";
    code = command(u, UBLK_U_CMD_GET_DEV_INFO, &info, sizeof(info), 0);
    code = code ? code :
                  command(u, UBLK_U_CMD_GET_PARAMS, &params, sizeof(params), 0);
    if (code) {
        return code;
    }
    if (info.ublksrv_flags != size->number) {
        return refused(what, "--recover: the ublk device is another one now");
    }
    if (params.basic.dev_sectors != size->bytes >> 9) {
        return refused(what, "--recover: the ublk device has another size than "
                       "the array");
    }
    if (info.nr_hw_queues != 1 || info.queue_depth != UBLK_DEPTH ||
        info.max_io_buf_bytes != UBLK_BUFFER_BYTES) {
        return refused(what, "--recover: the ublk device has other queues than "
                       "this program serves");
    }
    return 0;
}

int ublk_recover(Ublk *u, uint32_t id, const UblkSize *size,
                 const char **what)
{
    int code;

    u->id = id;
    code = check_device(u, size, what);
    if (code) {
        return code;
    }
    *what = "recovery of the ublk device";
    /*
     * The driver has to notice that the old server is gone. Until then: EBUSY.
     */
    for (int i = 0; i < 500; i++) {
        code = command(u, UBLK_U_CMD_START_USER_RECOVERY, NULL, 0, 0);
        if (code != EBUSY) {
            break;
        }
        usleep(10000);
    }
    return code ? code : attach(u, what);
}

/*
 * True when the device has no server. The server may have ended while it
 * served, before it started the device, or after it had stopped the device
 * without removing it. The driver lets only one process open /dev/ublkcN: if
 * that can be opened here, there is no server.
 */
static bool is_left(const struct ublksrv_ctrl_dev_info *info)
{
    char path[32];
    int fd;

    if (info->state != UBLK_S_DEV_DEAD) {
        return info->state == UBLK_S_DEV_QUIESCED;
    }
    if (info->ublksrv_pid > 0 &&
        (!kill(info->ublksrv_pid, 0) || errno != ESRCH)) {
        return false;
    }
    snprintf(path, sizeof(path), "/dev/ublkc%u", info->dev_id);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

int ublk_abandon(Ublk *u, uint32_t id, const char **what)
{
    struct ublksrv_ctrl_dev_info info = { 0 };
    int code = ublk_open(u, what);
    bool left = false;

    u->id = id;
    for (int i = 0; !code && i < 500; i++) {
        *what = "the ublk device";
        code = command(u, UBLK_U_CMD_GET_DEV_INFO, &info, sizeof(info), 0);
        left = !code && is_left(&info);
        if (code || left) {
            break;
        }
        usleep(10000);
    }
    if (code) {
        return code;
    }
    if (!left) {
        return refused(what, "--remove: the ublk device has a server: end that "
                       "by a signal (TERM)");
    }
    ublk_stop(u);
    ublk_remove(u);
    return 0;
}

int ublk_start(Ublk *u, bool recovered)
{
    return command(u, recovered ? UBLK_U_CMD_END_USER_RECOVERY :
                                  UBLK_U_CMD_START_DEV, NULL, 0, getpid());
}

int ublk_stop(Ublk *u)
{
    return command(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0);
}

void ublk_remove(Ublk *u)
{
    /*
     * The driver deletes the device when nobody has it open any more. All
     * commands of the serving ring have ended.
     */
    if (u->device >= 0) {
        close(u->device);
    }
    command(u, UBLK_U_CMD_DEL_DEV_ASYNC, NULL, 0, 0);
    io_uring_queue_exit(&u->commands);
    close(u->control);
}

static void queue_command(const Ublk *u, struct io_uring *ring, unsigned op,
                          uint16_t tag, int result)
{
    struct io_uring_sqe *sqe = array_ring_entry(ring);
    struct ublksrv_io_cmd *cmd;

    io_uring_prep_rw(IORING_OP_URING_CMD, sqe, u->device, NULL, 0, 0);
    sqe->cmd_op = op;
    sqe->user_data = tag;
    cmd = (struct ublksrv_io_cmd *)sqe->cmd;
    *cmd = (struct ublksrv_io_cmd) {
        .tag = tag, .result = result, .addr = (uintptr_t)ublk_buffer(u, tag),
    };
}

void ublk_fetch(const Ublk *u, struct io_uring *ring, uint16_t tag)
{
    queue_command(u, ring, UBLK_U_IO_FETCH_REQ, tag, 0);
}

void ublk_end(const Ublk *u, struct io_uring *ring, uint16_t tag, int result)
{
    queue_command(u, ring, UBLK_U_IO_COMMIT_AND_FETCH_REQ, tag, result);
}
