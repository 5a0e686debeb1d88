/* SPDX-License-Identifier: MIT
 *
 * cli/remote/bundle.c - this duet with its guests and libraries, to be copied to another machine
 *
 * Runs in:  our own process
 * Gets:     the running program's file, its guests, and the libraries in its memory
 * Gives:    a tar archive with the layout of an installation: bin/duet, lib/duet/GUEST, and the
 *           libraries in lib/duet/bundled, where the program's RPATH finds them
 * Owns:     the archive
 * Fails:    -errno with the name of the file
 * Why:      the libraries that the dynamic linker has loaded are exactly those that the program
 *           needs, with the paths where it found them. glibc is left out: two versions of it
 *           cannot be mixed
 */
#include "cli/remote/bundle.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "cli/guest_path.h"
#include "cli/remote/glibc.h"
#include "cli/remote/tar.h"

/* Libraries of glibc and of the kernel. */
static const char *const not_bundled[] = {
	"libc.so.6",      "libdl.so.2",  "libm.so.6",     "libpthread.so.0",
	"libresolv.so.2", "librt.so.1",  "linux-vdso.so", "linux-gate.so",
	"ld-linux",       "libasan.so.", "libubsan.so.",
};

static const char *const guests[] = {
	"libduet-amd.so",    "libduet-level_zero.so", "libduet-nvidia.so",
	"libduet-opencl.so", "libduet-ranges.so",
};

/* Level Zero's loader takes a layer by the name of its file. */
static const char *const links[] = {
	"lib/duet/level_zero/tracing/libze_tracing_layer.so.1",
	"lib/duet/level_zero/validation/libze_validation_layer.so.1",
};

static int add_file(struct bundle *bundle, const char *name, const char *path)
{
	auto_free char *bytes = NULL;
	unsigned minor;
	size_t size;
	int error = read_file(path, 0, &bytes, &size);

	if (error)
		return error;
	minor = glibc_needed(bytes, size);
	if (minor > bundle->glibc_minor)
		bundle->glibc_minor = minor;
	error = tar_append(&bundle->tar, name, 0755, bytes, size, NULL);
	return error ? error_set(error, "'%s': %s", path, strerror(-error)) : 0;
}

static bool is_bundled(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(not_bundled); i++)
		if (strncmp(name, not_bundled[i], strlen(not_bundled[i])) == 0)
			return false;
	return true;
}

/* Called for the program, whose name is empty, and each loaded library. */
static int add_library(struct dl_phdr_info *about, size_t size, void *context)
{
	const char *path = about->dlpi_name;
	char name[NAME_MAX + 32];

	if (!path || path[0] != '/' || !is_bundled(path_base(path)))
		return 0;
	snprintf(name, sizeof(name), "lib/duet/bundled/%s", path_base(path));
	return add_file(context, name, path);
}

static int add_guests(struct bundle *bundle)
{
	char path[PATH_MAX], name[128];
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(guests) && !error; i++) {
		if (!guest_path(guests[i], path))
			continue;
		snprintf(name, sizeof(name), "lib/duet/%s", guests[i]);
		error = add_file(bundle, name, path);
	}
	for (size_t i = 0; i < ARRAY_COUNT(links) && !error; i++)
		if (guest_path("libduet-level_zero.so", path))
			error = tar_append(&bundle->tar, links[i], 0777, "", 0,
					   "../../libduet-level_zero.so");
	return error;
}

int bundle_init(struct bundle *bundle, const char *version)
{
	int error;

	*bundle = (struct bundle){0};
	error = add_file(bundle, "bin/duet", "/proc/self/exe");
	if (!error)
		error = dl_iterate_phdr(add_library, bundle);
	if (!error)
		error = add_guests(bundle);
	tar_end(&bundle->tar);
	if (!error && bundle->tar.error)
		error = error_set(-ENOMEM, "out of memory");
	if (error)
		return error;
	snprintf(bundle->name, sizeof(bundle->name), "%s-%016llx", version,
		 (unsigned long long)XXH3_64bits(bundle->tar.text, bundle->tar.length));
	return 0;
}

void bundle_fini(struct bundle *bundle)
{
	string_builder_fini(&bundle->tar);
}

int bundle_compress(const struct bundle *bundle, struct string_builder *ret_bytes)
{
	enum { GZIP = 16 + MAX_WBITS, MEMORY = 8, LEVEL = 6 };
	z_stream stream = {.next_in = (Bytef *)bundle->tar.text,
			   .avail_in = (uInt)bundle->tar.length};
	uint8_t piece[1 << 16];
	int status;

	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return error_set(-ENOMEM, "out of memory");
	do {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		status = deflate(&stream, Z_FINISH);
		string_builder_append_bytes(ret_bytes, piece, sizeof(piece) - stream.avail_out);
	} while (status == Z_OK);
	deflateEnd(&stream);
	if (status != Z_STREAM_END)
		return error_set(-EIO, "compression failed");
	return ret_bytes->error ? error_set(-ENOMEM, "out of memory") : 0;
}
