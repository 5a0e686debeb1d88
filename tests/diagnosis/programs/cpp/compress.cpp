/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/cpp/compress.cpp - a library's function computes below the user's
 */
#include "diagnosis.h"

#include <vector>
#include <zlib.h>

static void pack_frame(uint64_t ns);

PLANT(.name = "compress", .kinds = "computing", .words = "pack_frame", .act = pack_frame);

NOINLINE static void pack_frame(uint64_t ns)
{
	static std::vector<unsigned char> frame(1 << 14), packed(1 << 15);

	for (size_t i = 0; i < frame.size(); i++)
		frame[i] = static_cast<unsigned char>(i * i >> 7);
	PLANT_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
		uLongf size = packed.size();

		check(compress2(packed.data(), &size, frame.data(), frame.size(), 6) == Z_OK, "compress2");
	}
	PLANT_END();
}
