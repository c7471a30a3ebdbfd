/*
 * Names of the marks (rare states that checked builds count), and how often a
 * drive has met each of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/mark.h"

#ifdef SCARP_CHECKED
static const ScarpMarkField fields[] = {
#define FIELD(name, help) { #name, help },
    SCARP_MARKS(FIELD)
#undef FIELD
};

unsigned scarp_mark_count(void)
{
    return SCARP_MARK__COUNT;
}

const ScarpMarkField *scarp_mark_field(unsigned index)
{
    return &fields[index];
}

uint64_t scarp_mark_times(const ScarpDrive *drive, unsigned index)
{
    return drive->core.marks[index];
}
#else
unsigned scarp_mark_count(void)
{
    return 0;
}

const ScarpMarkField *scarp_mark_field(unsigned index G_GNUC_UNUSED)
{
    return NULL;
}

uint64_t scarp_mark_times(const ScarpDrive *drive G_GNUC_UNUSED,
                          unsigned index G_GNUC_UNUSED)
{
    return 0;
}
#endif
