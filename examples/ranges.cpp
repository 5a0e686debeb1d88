// SPDX-License-Identifier: MIT
//
// examples/ranges.cpp - ranges that end with their scope, in C++
//
//	c++ ranges.cpp $(pkg-config --cflags --libs duet) && ./a.out && duet report --by range scopes.duet
#include <duet.h>

#include <cmath>
#include <iostream>
#include <string>

// A recording from here to the end of the scope.
class Recorder {
    public:
	explicit Recorder(const char *output) : handle(duet_open(nullptr, output, 0))
	{
		if (duet_start(handle) < 0)
			std::cerr << "not recorded: " << duet_error(handle) << '\n';
	}
	~Recorder() { duet_close(handle); }
	Recorder(const Recorder &) = delete;
	Recorder &operator=(const Recorder &) = delete;

	duet *const handle;
};

// A range that ends with its scope, also where an exception leaves it.
class Range {
    public:
	Range(const Recorder &recorder, const std::string &name) : handle(recorder.handle)
	{
		duet_range_push(handle, "example", name.c_str());
	}
	~Range() { duet_range_pop(handle, "example"); }
	Range(const Range &) = delete;
	Range &operator=(const Range &) = delete;

    private:
	duet *const handle;
};

static double sum(const Recorder &recorder, int count)
{
	Range range(recorder, "sum");
	double result = 0;

	for (int i = 1; i <= count; i++)
		result += std::sqrt(i);
	return result;
}

int main()
{
	Recorder recorder("scopes.duet");

	for (int step = 0; step < 5; step++) {
		Range range(recorder, "step " + std::to_string(step));

		duet_counter(recorder.handle, "example.sum", nullptr,
			     static_cast<std::int64_t>(sum(recorder, 100000 * (step + 1))));
	}
}
