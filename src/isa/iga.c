/* SPDX-License-Identifier: MIT
 *
 * isa/iga.c - load Intel's disassembler for its GPUs, from any installed version
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     bytes of code
 * Gives:    IGA's text
 * Owns:     a context of the library; the library stays loaded
 * Fails:    -ENOENT with a sentence, -ENOMEM
 * Why dlopen: the library (IGA) comes with Intel's compiler, whose release determines the supported
 *           GPUs, and is useless without such a GPU. Its C interface has been the same since it was
 *           published in 2018.
 */
#include "isa/decoders.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { FORMAT_LOADS_AND_STORES = 0x40, MAX_PLATFORMS = 64 };

/* the used part of iga.h of Intel's compiler */
struct context_options {
	size_t size;
	uint32_t platform;
};

struct decode_options {
	uint32_t size;
	uint32_t format;
	uint32_t reserved[2];
	uint32_t decoder;
	uint32_t base;
};

typedef const char *version_function(void);
typedef int platforms_function(size_t size, uint32_t *platforms, size_t *ret_size);
typedef int create_function(const struct context_options *options, void **ret_context);
typedef const char *label_function(int32_t distance, void *context);
typedef int decode_function(void *context, const struct decode_options *options, const void *bytes,
			    label_function *label, void *label_context, char **ret_text);
typedef int release_function(void *context);

struct iga {
	void *context; /* iga_context_t */
	decode_function *decode;
	release_function *release;
	uint64_t address; /* address of the instruction */
	char label[24];
	char name[128];
};

struct search {
	uint32_t platform;
	const char *name; /* name of the platform */
	struct iga *iga;
	char *why; /* the first refusal, from the newest library */
};

static bool knows_platform(platforms_function *list, uint32_t platform)
{
	uint32_t platforms[MAX_PLATFORMS];
	size_t size = 0;

	if (list(0, NULL, &size) || size > sizeof(platforms) || list(size, platforms, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(*platforms); i++)
		if (platforms[i] == platform)
			return true;
	return false;
}

static bool create_context(struct search *search, void *library, const char *name)
{
	const struct context_options options = {sizeof(options), search->platform};
	version_function *version = (version_function *)dlsym(library, "iga_version_string");
	platforms_function *list = (platforms_function *)dlsym(library, "iga_platforms_list");
	create_function *create = (create_function *)dlsym(library, "iga_context_create");
	struct iga *iga = search->iga;

	iga->decode = (decode_function *)dlsym(library, "iga_context_disassemble_instruction");
	iga->release = (release_function *)dlsym(library, "iga_context_release");
	if (!version || !list || !create || !iga->decode || !iga->release)
		return text_refuse(search->why, "%s is not an IGA library with a C interface",
				   name);
	if (!knows_platform(list, search->platform))
		return text_refuse(search->why,
				   "%s does not support %s; install a newer one (libigc2 has "
				   "libiga64.so.2). Instructions are shown without operands",
				   name, search->name);
	if (create(&options, &iga->context))
		return text_refuse(search->why, "%s has no disassembler for %s", name,
				   search->name);
	snprintf(iga->name, sizeof(iga->name), "IGA %s (%s)", version(), name);
	return true;
}

static bool try_library(struct search *search, const char *name, bool is_chosen)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return is_chosen ? text_refuse(search->why, "DUET_IGA names no library: %s",
					       dlerror())
				 : false;
	return create_context(search, library, name);
}

static bool try_all(struct search *search)
{
	const char *chosen = getenv("DUET_IGA");
	char name[32];

	if (chosen && *chosen)
		return try_library(search, chosen, true);
	for (int number = IGA_NEWEST; number >= IGA_OLDEST; number--) {
		snprintf(name, sizeof(name), "libiga64.so.%d", number);
		if (try_library(search, name, false))
			return true;
	}
	if (try_library(search, "libiga64.so", false))
		return true;
	return text_refuse(
		search->why,
		"no IGA library was found (libiga64.so.%d to libiga64.so.%d): instructions "
		"of Intel GPUs are shown without operands; install one (Debian 12: libigc1, "
		"up to Xe HPC; libigc2 of newer ones: Xe2 and Xe3 too), or name one in "
		"DUET_IGA",
		IGA_NEWEST, IGA_OLDEST);
}

int iga_open(uint32_t platform, const char *name, struct iga **ret_iga, char *ret_why)
{
	struct search search = {.platform = platform, .name = name, .why = ret_why};

	search.iga = calloc(1, sizeof(*search.iga));
	if (!search.iga)
		return -ENOMEM;
	ret_why[0] = '\0';
	if (!try_all(&search)) {
		free(search.iga);
		return -ENOENT;
	}
	*ret_iga = search.iga;
	return 0;
}

void iga_close(struct iga *iga)
{
	if (!iga)
		return;
	iga->release(iga->context);
	free(iga);
}

const char *iga_name(const struct iga *iga)
{
	return iga->name;
}

/* IGA may call this twice for one instruction, and copies the first result before the second call.
 */
static const char *format_label(int32_t distance, void *context)
{
	struct iga *iga = context;

	snprintf(iga->label, sizeof(iga->label), "0x%" PRIx64,
		 iga->address + (uint64_t)(int64_t)distance);
	return iga->label;
}

const char *iga_decode(struct iga *iga, const uint8_t *bytes, uint64_t address)
{
	const struct decode_options options = {.size = sizeof(options),
					       .format = FORMAT_LOADS_AND_STORES};
	char *text = NULL;

	iga->address = address;
	if (iga->decode(iga->context, &options, bytes, format_label, iga, &text))
		return NULL;
	return text;
}
