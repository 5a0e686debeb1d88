/* SPDX-License-Identifier: MIT
 *
 * tests/programs/storm_cpp.cpp - the hops of storm.c that throw, catch and clean up
 */
extern "C" {
#include "storm.h"
}

namespace
{
enum { HOP_CATCH = 11, HOP_THROW = 12, HOP_DESTRUCTOR = 13 };
}

extern "C" {

/* C++ frames and C frames lie between here and hop_catch. */
STORM_FRAME void hop_throw(struct storm_path *path)
{
	path->launch(path, STORM_END, path->hops);
	if (path->catchers)
		throw 7;
	path->returns = path->returns + 1;
}

STORM_FRAME void hop_catch(struct storm_path *path)
{
	const uint32_t hops = path->hops, catchers = path->catchers;

	try {
		path->catchers = catchers + 1;
		storm_go_on(path);
		path->catchers = catchers;
	} catch (int) {
		path->catchers = catchers;
		path->launch(path, STORM_CAUGHT, hops);
	}
	path->returns = path->returns + 1;
}

STORM_FRAME void clean_up(struct storm_path *path, uint32_t hops)
{
	path->launch(path, STORM_UNWINDING, hops);
	path->returns = path->returns + 1;
}
}

namespace
{
struct Guard {
	struct storm_path *path;
	uint32_t hops;
	bool returned;

	inline __attribute__((always_inline)) ~Guard()
	{
		if (!returned)
			clean_up(path, hops);
	}
};
}

extern "C" {

STORM_FRAME void hop_destructor(struct storm_path *path)
{
	Guard guard = {path, path->hops, false};

	storm_go_on(path);
	guard.returned = true;
}

__attribute__((visibility("default"))) void storm_fill_table(storm_hop **table)
{
	table[HOP_CATCH] = hop_catch;
	table[HOP_THROW] = hop_throw;
	table[HOP_DESTRUCTOR] = hop_destructor;
}
}
