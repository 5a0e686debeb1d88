/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_cupti.c - finds libcupti, says what its calls returned, reads its
 * clock
 *
 * Runs in:  the captured program and the programs that sample beside it
 * Gets:     what is mapped, CAPTURE_CUPTI, CUDA_HOME
 * Gives:    struct capture_cupti
 * Owns:     nothing; the library is never unloaded
 * Fails:    with -ENOENT
 * Why:      two libcupti in one process break each other, so the one that is mapped comes first
 */
#include "capture_cupti.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
				      "libcupti.so"};
/* below a folder site-packages */
static const char *const wheels[] = {"nvidia/cu13/lib/libcupti.so.13",
				     "nvidia/cuda_cupti/lib/libcupti.so.13",
				     "nvidia/cuda_cupti/lib/libcupti.so.12"};
static const char *const folders[] = {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib"};

static bool open_path(struct capture_cupti *cupti, const char *path, int flags)
{
	cupti->handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags);
	if (cupti->handle)
		snprintf(cupti->path, sizeof(cupti->path), "%s", path);
	return cupti->handle;
}

/* The path of the next mapping whose file's path has the word; NULL: no more. */
static char *next_mapped(FILE *maps, const char *word, char *line, size_t bytes)
{
	while (fgets(line, (int)bytes, maps)) {
		char *path = strchr(line, '/');

		if (!path || !strstr(path, word))
			continue;
		path[strcspn(path, "\n")] = 0;
		return path;
	}
	return NULL;
}

static bool open_mapped(struct capture_cupti *cupti)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024], *path;

	if (!maps)
		return false;
	while (!cupti->handle && (path = next_mapped(maps, "/libcupti.so", line, sizeof(line))))
		open_path(cupti, path, RTLD_NOLOAD);
	fclose(maps);
	return cupti->handle;
}

static bool open_wheel(struct capture_cupti *cupti)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024], place[1200], *path;

	if (!maps)
		return false;
	while (!cupti->handle &&
	       (path = next_mapped(maps, "/site-packages/", line, sizeof(line)))) {
		*strstr(path, "/site-packages/") = 0;
		for (uint32_t i = 0; !cupti->handle && i < sizeof(wheels) / sizeof(*wheels); i++) {
			snprintf(place, sizeof(place), "%s/site-packages/%s", path, wheels[i]);
			open_path(cupti, place, 0);
		}
	}
	fclose(maps);
	return cupti->handle;
}

static bool open_toolkit(struct capture_cupti *cupti)
{
	const char *homes[] = {getenv("CUDA_HOME"), "/usr/local/cuda"};
	char place[1200];

	for (uint32_t home = 0; home < 2; home++)
		for (uint32_t folder = 0; homes[home] && folder < 3; folder++)
			for (uint32_t name = 0; name < sizeof(sonames) / sizeof(*sonames); name++) {
				snprintf(place, sizeof(place), "%s/%s/%s", homes[home],
					 folders[folder], sonames[name]);
				if (open_path(cupti, place, 0))
					return true;
			}
	return false;
}

static bool open_anywhere(struct capture_cupti *cupti)
{
	const char *named = getenv("CAPTURE_CUPTI");

	if (open_mapped(cupti))
		return true;
	if (named && *named && open_path(cupti, named, 0))
		return true;
	if (open_wheel(cupti))
		return true;
	for (uint32_t i = 0; i < sizeof(sonames) / sizeof(*sonames); i++)
		if (open_path(cupti, sonames[i], 0))
			return true;
	return open_toolkit(cupti);
}

int capture_cupti_open(struct capture_cupti *ret_cupti)
{
	struct capture_cupti cupti = {0};

	if (!open_anywhere(&cupti))
		return -ENOENT;
#define FIND(need, name, parameters) *(void **)&cupti.call.name = dlsym(cupti.handle, #name);
	CUPTI_ALL_FUNCTIONS(FIND)
#undef FIND
	if (!cupti.call.cuptiGetVersion || cupti.call.cuptiGetVersion(&cupti.version) != 0)
		return -ENOENT;
	cupti.major = cupti.version >= 100000 ? cupti.version / 10000
		      : cupti.version >= 19   ? 12
					      : 11;
	*ret_cupti = cupti;
	return 0;
}

const char *capture_cupti_text(const struct capture_cupti *cupti, cupti_result result)
{
	const char *text = NULL;

	if (result == CAPTURE_ABSENT)
		return "this libcupti has no such function";
	if (cupti->call.cuptiGetResultString &&
	    cupti->call.cuptiGetResultString(result, &text) == 0 && text)
		return text;
	return "?";
}

bool capture_cupti_said(const struct capture_cupti *cupti, struct capture_file *file,
			const char *call, cupti_result result)
{
	static atomic_uint failures;
	char key[96];

	if (result == 0)
		return true;
	if (atomic_fetch_add(&failures, 1) < CAPTURE_FAILURES) {
		snprintf(key, sizeof(key), "failed.%s", call);
		capture_fact(file, key, "%d %s", (int)result, capture_cupti_text(cupti, result));
	}
	return false;
}

static uint64_t stamp_monotonic(void)
{
	return capture_now_ns();
}

static uint64_t stamp_biased(void)
{
	return capture_now_ns() + CAPTURE_BIAS_NS;
}

bool capture_stamp_parse(const char *text, enum capture_stamp *ret_stamp)
{
	static const char *const words[] = {"default", "monotonic", "biased"};

	for (uint32_t i = 0; i < 3; i++)
		if (!strcmp(text, words[i])) {
			*ret_stamp = (enum capture_stamp)i;
			return true;
		}
	return false;
}

bool capture_stamp_register(const struct capture_cupti *cupti, struct capture_file *file,
			    enum capture_stamp stamp)
{
	static const char *const words[] = {"default", "monotonic", "biased"};
	bool done;

	if (stamp == CAPTURE_STAMP_DEFAULT) {
		capture_fact(file, "stamp", "default");
		return true;
	}
	done = CUPTI_CALL(cupti, file, cuptiActivityRegisterTimestampCallback,
			  stamp == CAPTURE_STAMP_BIASED ? stamp_biased : stamp_monotonic);
	capture_fact(file, "stamp", "%s", done ? words[stamp] : "refused");
	capture_fact(file, "stamp.bias_ns", "%llu",
		     stamp == CAPTURE_STAMP_BIASED ? (unsigned long long)CAPTURE_BIAS_NS : 0ull);
	return done;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void capture_clocks_read(const struct capture_cupti *cupti, struct capture_clocks *ret_clocks)
{
	ret_clocks->cupti = 0;
	ret_clocks->monotonic_before = capture_now_ns();
	if (cupti->call.cuptiGetTimestamp && cupti->call.cuptiGetTimestamp(&ret_clocks->cupti) != 0)
		ret_clocks->cupti = 0;
	ret_clocks->monotonic_after = capture_now_ns();
	ret_clocks->realtime = read_clock(CLOCK_REALTIME);
	ret_clocks->boottime = read_clock(CLOCK_BOOTTIME);
	ret_clocks->monotonic_last = capture_now_ns();
}

void capture_clocks_write(const struct capture_cupti *cupti, struct capture_file *file,
			  uint32_t count)
{
	struct capture_clocks rows[100];

	if (count > 100)
		count = 100;
	for (uint32_t i = 0; i < count; i++)
		capture_clocks_read(cupti, &rows[i]);
	capture_write(file, CAPTURE_CLOCKS, 0, &(struct capture_part){rows, count * sizeof(*rows)},
		      1);
}
