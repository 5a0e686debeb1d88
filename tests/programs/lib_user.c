/* SPDX-License-Identifier: MIT
 *
 * tests/programs/lib_user.c - the least that a program does with libduet, in C99 and C++98 alike
 */
#include <duet.h>

int main(int argc, char **argv)
{
	struct duet *duet = duet_open(0, argc > 1 ? argv[1] : 0, 0);
	int error = duet_start(duet);

	duet_range_push(duet, 0, "user");
	duet_range_pop(duet, 0);
	if (error == 0)
		error = duet_stop(duet);
	duet_close(duet);
	return error ? 1 : 0;
}
