/*
 * libFuzzer: any text as a generator: an error of one line, or requests that
 * lie on the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fuzz.h"
#include "trace.h"

#include <string.h>

/*
 * Of a large drive a table of ranks takes longest, so only some of the texts
 * are of one.
 */
static uint64_t drive_bytes(size_t size)
{
    return size % 32 ? 1 << 20 : 1 << 28;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    uint64_t bytes = drive_bytes(size);
    Workload *workload = gen_new(text, bytes, 1, &error);
    TraceRecord record;

    g_assert_true(!workload == !!error);
    g_assert_true(!error || g_utf8_validate(text, -1, NULL) == false ||
                  strchr(text, '\n') || !strchr(error->message, '\n'));
    for (int i = 0; workload && i < 100; i++) {
        if (!workload->next(workload, &record, NULL)) {
            break;
        }
        g_assert_cmpuint(record.offset_bytes + record.length_bytes, <=,
                         bytes);
    }
    if (workload) {
        workload->free(workload);
    }
    return 0;
}
