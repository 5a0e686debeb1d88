/* SPDX-License-Identifier: MIT
 *
 * export/registry.c - the exporters there are, and what they share
 *
 * Runs in:  our own process
 * Gets:     names and lists of kinds   Gives: exporters
 * Owns:     nothing
 * Fails:    find gives NULL; a write that did not arrive is found at the flush
 * Why:      an explicit table is the order of `duet list formats`; 16 formats are a table of 16 lines,
 *           and one that is linked but not in it does not exist.
 */
#include "export/exporter.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "export/formats.h"

/* clang-format off */
const struct exporter *const exporters[] = {
	&export_text,
	&export_jsonl,
	&export_json,
	&export_csv,
	&export_sqlite,
	&export_perfetto,
	&export_chrome,
	&export_ctf,
	&export_folded,
	&export_svg,
	&export_speedscope,
	&export_pprof,
	&export_otlp,
	&export_otlp_metrics,
	&export_perf_script,
	&export_duet_pb,
	&export_iaprof,
	NULL,
};
/* clang-format on */

const struct exporter *exporter_next(const struct exporter *previous)
{
	size_t i = 0;

	if (!previous)
		return exporters[0];
	while (exporters[i] && exporters[i] != previous)
		i++;
	return exporters[i] ? exporters[i + 1] : NULL;
}

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; exporters[i]; i++) {
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	}
	return NULL;
}

static bool is_word(const char *list, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(list, word, length) == 0;
}

bool export_is_wanted(const char *list, const char *kind, const char *group)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");

		if (is_word(list, length, kind) || is_word(list, length, group))
			return true;
		list += length + (list[length] == ',');
	}
	return !list;
}

static bool is_kind(const char *kinds, const char *word, size_t length)
{
	static const char between[] = " ,()";

	for (kinds += strspn(kinds, between); *kinds; kinds += strspn(kinds, between)) {
		size_t own = strcspn(kinds, between);

		if (own == length && memcmp(kinds, word, length) == 0)
			return true;
		kinds += own;
	}
	return false;
}

int export_check_kinds(const struct exporter *exporter, const char *list)
{
	bool is_end = !list;

	while (!is_end) {
		size_t length = strcspn(list, ",");

		if (!is_kind(exporter->kinds, list, length))
			return error_set(-EINVAL, "format %s has no kind '%.*s'; it has: %s",
					 exporter->name, (int)length, list, exporter->kinds);
		is_end = !list[length];
		list += length + 1;
	}
	return 0;
}

int export_flush(FILE *file)
{
	int error;

	/* An earlier failure left no errno: one more byte into the same hole brings it back. */
	if (ferror(file)) {
		clearerr(file);
		putc('\n', file);
	}
	errno = 0;
	if (fflush(file) == 0 && !ferror(file))
		return 0;
	error = errno ? errno : EIO;
	return error_set(-error, "write: %s", strerror(error));
}
