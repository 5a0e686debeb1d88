/* SPDX-License-Identifier: MIT
 *
 * tests/programs/python_studio.c - a program whose name begins with python and that is none: it
 * embeds one
 *
 *	main and studio_work call Python, Python calls studio_launch, which launches once.
 */
#include "launch_work.h"

void Py_Initialize(void);
int PyRun_SimpleString(const char *text);

__attribute__((visibility("default"), noinline)) void studio_launch(void);

void studio_launch(void)
{
	launch_once();
	launch_sink++;
}

static __attribute__((noinline)) int studio_work(void)
{
	int result = PyRun_SimpleString("import ctypes\n"
					"own = ctypes.CDLL(None)\n"
					"def scene(times):\n"
					"    own.studio_launch()\n"
					"sorted([1], key=scene)\n");

	launch_sink++;
	return result;
}

int main(void)
{
	int result;

	launch_open();
	Py_Initialize();
	result = studio_work();
	launch_finish();
	return result ? 99 : 0;
}
