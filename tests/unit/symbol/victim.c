/* SPDX-License-Identifier: MIT
 *
 * A small program with debug information, of which test_symbolizer and fuzz_symbol damage copies.
 */
static volatile int sink;

static inline __attribute__((always_inline)) int inner(int value)
{
	sink = value;
	return value + sink;
}

static inline __attribute__((always_inline)) int middle(int value)
{
	for (int i = 0; i < value; i++)
		sink += inner(i);
	return sink;
}

int work(int value);
int work(int value)
{
	return middle(value) + inner(value + 1);
}

int main(int argc, char **argv)
{
	return work(argc) & 1;
}
