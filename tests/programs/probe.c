/* SPDX-License-Identifier: MIT
 *
 * tests/programs/probe.c - the smallest program, to see whether a compiler's options work
 */
int main(void)
{
	return 0;
}
