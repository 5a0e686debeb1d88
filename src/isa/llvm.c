/* SPDX-License-Identifier: MIT
 *
 * isa/llvm.c - load a disassembler of LLVM, from any installed version
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     bytes of code
 * Gives:    LLVM's text
 * Owns:     the disassembler; the library stays loaded
 * Fails:    -ENOENT with a sentence, -ENOMEM
 * Why dlopen: libLLVM is 110 MB and its name differs in each release, but a machine with PoCL, Mesa
 *           or ROCm has some release of it. Its C interface has been the same since version 3.
 */
#include "isa/decoders.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

enum { OPTION_HEX_IMMEDIATES = 2, SYMBOL_VERSIONS_LAST = 16 };

/* the used part of llvm-c/Disassembler.h, llvm-c/Target.h and llvm-c/Core.h */
typedef const char *lookup_function(void *self, uint64_t value, uint64_t *reference_type,
				    uint64_t address, const char **reference_name);
typedef void initialize_function(void);
typedef void version_function(unsigned int *major, unsigned int *minor, unsigned int *patch);
typedef void *create_function(const char *triple, const char *processor, const char *features,
			      void *self, int tag_type, void *get_operands,
			      lookup_function *lookup);
typedef int options_function(void *context, uint64_t options);
typedef size_t decode_function(void *context, const uint8_t *bytes, uint64_t size, uint64_t address,
			       char *text, size_t text_size);
typedef void dispose_function(void *context);

struct llvm {
	void *context; /* LLVMDisasmContextRef */
	decode_function *decode;
	dispose_function *dispose;
	char name[128];
};

struct search {
	const struct llvm_target *target;
	const struct processor *processor;
	struct llvm *llvm;
	char *why; /* the first refusal, from the newest library */
};

/* Protects LLVM's global table of targets: each initialization writes it and each creation reads
 * it. */
static pthread_mutex_t targets_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
	const char *format;
	int first_major;
} names[] = {
	{"libLLVM.so.%d.1", 18}, /* upstream and all distributions, since 18 */
	{"libLLVM-%d.so.1", 11}, /* Debian, Ubuntu */
	{"libLLVM-%d.so", 11},   /* Fedora, SUSE, Arch */
};

/* With a lookup that finds nothing LLVM prints the target of a branch as an absolute address;
 * without one, as a distance. The type selects the kind of comment: none. */
static const char *find_no_symbol(void *self, uint64_t value, uint64_t *reference_type,
				  uint64_t address, const char **reference_name)
{
	*reference_type = 0;
	*reference_name = NULL;
	return NULL;
}

/* LLVMGetVersion came with 16. Before that the exported names contain the major version. 0:
 * neither. */
static int find_version(void *library, const char *name, struct llvm *llvm)
{
	version_function *get_version = (version_function *)dlsym(library, "LLVMGetVersion");
	unsigned int major, minor, patch;
	char version[16];

	if (get_version) {
		get_version(&major, &minor, &patch);
		snprintf(llvm->name, sizeof(llvm->name), "LLVM %u.%u.%u (%s)", major, minor, patch,
			 name);
		return (int)major;
	}
	for (int i = LLVM_OLDEST; i < SYMBOL_VERSIONS_LAST; i++) {
		snprintf(version, sizeof(version), "LLVM_%d", i);
		if (!dlvsym(library, "LLVMCreateDisasmCPUFeatures", version))
			continue;
		snprintf(llvm->name, sizeof(llvm->name), "LLVM %d (%s)", i, name);
		return i;
	}
	return 0;
}

static bool initialize_target(void *library, const char *target)
{
	static const char *const parts[] = {"TargetInfo", "TargetMC", "Disassembler"};
	initialize_function *functions[ARRAY_COUNT(parts)];
	char name[64];

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		snprintf(name, sizeof(name), "LLVMInitialize%s%s", target, parts[i]);
		functions[i] = (initialize_function *)dlsym(library, name);
		if (!functions[i])
			return false;
	}
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		functions[i]();
	return true;
}

static const char *find_features(const struct llvm_target *target, int major)
{
	const struct llvm_features *features = target->features;

	while (features->first_major > major)
		features++;
	return features->names;
}

static bool knows_processor(struct search *search, const char *name, int major)
{
	const struct processor *processor = search->processor;

	if (!processor)
		return true;
	if (major < processor->first_major)
		return text_refuse(search->why, "%s: LLVM %d or newer is needed to decode %s", name,
				   processor->first_major, processor->name);
	if (processor->last_major && major > processor->last_major)
		return text_refuse(search->why, "%s: LLVM %d or older is needed to decode %s", name,
				   processor->last_major, processor->name);
	return true;
}

static bool create_context(struct search *search, void *library, const char *name, int major)
{
	struct llvm *llvm = search->llvm;
	create_function *create = (create_function *)dlsym(library, "LLVMCreateDisasmCPUFeatures");
	options_function *set_options = (options_function *)dlsym(library, "LLVMSetDisasmOptions");

	llvm->decode = (decode_function *)dlsym(library, "LLVMDisasmInstruction");
	llvm->dispose = (dispose_function *)dlsym(library, "LLVMDisasmDispose");
	if (!create || !set_options || !llvm->decode || !llvm->dispose)
		return text_refuse(search->why, "%s is not an LLVM library with a C interface",
				   name);
	if (!initialize_target(library, search->target->name))
		return text_refuse(search->why, "%s was built without the target %s", name,
				   search->target->name);
	/* no self: AMDGPU misinterprets it as a pointer to its own vector, not as the lookup's
	 * argument */
	llvm->context =
		create(search->target->triple, search->processor ? search->processor->name : "",
		       find_features(search->target, major), NULL, 0, NULL, find_no_symbol);
	if (!llvm->context)
		return text_refuse(search->why, "%s has no disassembler for %s", name,
				   search->target->triple);
	set_options(llvm->context, OPTION_HEX_IMMEDIATES);
	return true;
}

/* A refused library stays loaded too: in some releases LLVM's own statics do not survive being
 * unloaded. */
static bool try_library(struct search *search, const char *name, bool is_chosen)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	int major;

	if (!library)
		return is_chosen ? text_refuse(search->why, "DUET_LLVM names no library: %s",
					       dlerror())
				 : false;
	major = find_version(library, name, search->llvm);
	if (major < LLVM_OLDEST)
		return text_refuse(search->why, "%s is not LLVM %d or newer", name, LLVM_OLDEST);
	return knows_processor(search, name, major) && create_context(search, library, name, major);
}

static bool try_major(struct search *search, int major)
{
	char name[32];

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		snprintf(name, sizeof(name), names[i].format, major);
		if (major >= names[i].first_major && try_library(search, name, false))
			return true;
	}
	return false;
}

static bool try_all(struct search *search)
{
	const char *chosen = getenv("DUET_LLVM");

	if (chosen && *chosen)
		return try_library(search, chosen, true);
	for (int major = LLVM_NEWEST; major >= LLVM_OLDEST; major--)
		if (try_major(search, major))
			return true;
	if (try_library(search, "libLLVM.so", false))
		return true;
	return text_refuse(
		search->why,
		"no LLVM library was found (libLLVM.so.%d.1 to libLLVM-%d.so.1): install "
		"one (Debian 12: "
		"libllvm14), or name one in DUET_LLVM",
		LLVM_NEWEST, LLVM_OLDEST);
}

int llvm_open(const struct llvm_target *target, const struct processor *processor,
	      struct llvm **ret_llvm, char *ret_why)
{
	struct search search = {.target = target, .processor = processor, .why = ret_why};
	bool is_found;

	search.llvm = calloc(1, sizeof(*search.llvm));
	if (!search.llvm)
		return -ENOMEM;
	ret_why[0] = 0;
	pthread_mutex_lock(&targets_lock);
	is_found = try_all(&search);
	pthread_mutex_unlock(&targets_lock);
	if (!is_found) {
		free(search.llvm);
		return -ENOENT;
	}
	*ret_llvm = search.llvm;
	return 0;
}

void llvm_close(struct llvm *llvm)
{
	if (!llvm)
		return;
	llvm->dispose(llvm->context);
	free(llvm);
}

const char *llvm_name(const struct llvm *llvm)
{
	return llvm->name;
}

size_t llvm_decode(struct llvm *llvm, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text, size_t text_size)
{
	size_t length = llvm->decode(llvm->context, bytes, size, address, text, text_size);

	return length <= size ? length : 0;
}
