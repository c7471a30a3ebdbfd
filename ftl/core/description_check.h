/*
 * Names and a check that the sources of descriptions share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DESCRIPTION_CHECK_H
#define SCARP_DESCRIPTION_CHECK_H

#include "core/description.h"

/* Names of the values of ftl.mapping, [ScarpMappingKind]. */
extern const char *const scarp_mapping_names[MAPPING__COUNT];
/* Names of the values of ftl.paired_pages, [ScarpPaired]. */
extern const char *const scarp_paired_names[PAIRED__COUNT];
/* Names of the values of slc.full, [ScarpSlcFull]. */
extern const char *const scarp_slc_full_names[SLC_FULL__COUNT];

/*
 * True when the values can work together. Otherwise *error names the key that
 * is wrong, and says why.
 */
bool scarp_description_check(const ScarpDescription *d, GError **error);
/* A key that only some drives use, and its default. */
typedef struct {
    const char *name;
    uint64_t value, unused;
} ScarpUnusedKey;

/* Sets *error to "name=value: why", and returns false. */
bool scarp_refuse_key(GError **error, const char *name, uint64_t value,
                      const char *why);
/*
 * True when each of the n keys has its default. Otherwise *error names the
 * first other key, and says `why` this drive cannot use it.
 */
bool scarp_check_unused(const ScarpUnusedKey *key, size_t n, const char *why,
                        GError **error);
/* Checks the keys of the SLC cache (core/description_slc.c). */
bool scarp_description_check_slc(const ScarpDescription *d, GError **error);
/* Checks the keys of the drive's temperature (core/description_heat.c). */
bool scarp_description_check_heat(const ScarpDescription *d, GError **error);
/* Checks the keys of reclaim units (core/description_ru.c). */
bool scarp_description_check_ru(const ScarpDescription *d, GError **error);

#endif /* SCARP_DESCRIPTION_CHECK_H */
