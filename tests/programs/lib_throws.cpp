// SPDX-License-Identifier: MIT
//
// tests/programs/lib_throws.cpp - exceptions that leave ranges of libduet, in two threads
//
//	lib_throws FILE COUNT		records itself; prints how many exceptions were caught
#include <duet.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

class Range {
    public:
	Range(duet *handle, const char *name) : handle(handle)
	{
		::duet_range_push(handle, "throws", name);
	}
	~Range() { ::duet_range_pop(handle, "throws"); }
	Range(const Range &) = delete;
	Range &operator=(const Range &) = delete;

    private:
	duet *const handle;
};

static void fail(duet *handle, int depth)
{
	Range range(handle, "depth");

	if (depth == 0)
		throw std::runtime_error("as it should");
	fail(handle, depth - 1);
}

static void catch_all(duet *handle, int count, int *caught)
{
	for (int i = 0; i < count; i++) {
		Range range(handle, "try");

		try {
			fail(handle, 2);
		} catch (const std::runtime_error &) {
			duet_mark(handle, "throws", "caught");
			*caught += 1;
		}
	}
}

int main(int argc, char **argv)
{
	duet *handle = duet_open(nullptr, argc > 1 ? argv[1] : nullptr, 0);
	const int count = argc > 2 ? std::atoi(argv[2]) : 1;
	int caught[2] = {0, 0}, error = duet_start(handle);

	std::thread other(catch_all, handle, count, &caught[0]);
	catch_all(handle, count, &caught[1]);
	other.join();
	duet_close(handle);
	std::printf("%d %d\n", error, caught[0] + caught[1]);
	return 0;
}
