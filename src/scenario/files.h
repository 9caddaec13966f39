/*
 * Files: the profiles and plugins that documents name; the one place of this house with I/O.
 */
#ifndef SCENARIO_FILES_H
#define SCENARIO_FILES_H

#include "scenario/scenario.h"

/**
 * The profile in a file, read once.
 *
 * @path    as it was given, relative to the folder
 * Returns  0 and *out, borrowed until the end of files; -EINVAL and others, the text beginning
 *          with the path
 */
MUST_CHECK int files_profile(struct scenario_files *files, const char *path,
                             const struct scenario_config **out, struct err *err);

/**
 * The plugin that a shared object exports, loaded once.
 *
 * @path    absolute
 * @hash    the SHA-256 that the file must have; NULL: any
 * Returns  0 and *out, borrowed until the end of files; -EINVAL: a relative path, no file, no
 *          shared object, none that exports a plugin, another hash
 */
MUST_CHECK int files_plugin(struct scenario_files *files, const char *path, const char *hash,
                            const struct berth_plugin_file **out, struct err *err);

#endif
