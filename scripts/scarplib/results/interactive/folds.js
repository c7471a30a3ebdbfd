// What a page says besides of a drive with an SLC cache, whose collections may be folds.

BEHIND.push("die_fold_program", "die_fold_read");
WORKS.push(["fold's read", "#DFC27D"], ["fold's program", "#A6611A"]);
