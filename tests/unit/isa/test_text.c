/* SPDX-License-Identifier: MIT */
#include "isa/decoders.h"
#include "harness.h"

static char text[256], comment[256];

static void tidy(const char *raw, const char *mark)
{
	snprintf(text, sizeof(text), "%s", raw);
	snprintf(comment, sizeof(comment), "%s", text_tidy(text, mark));
}

TEST(one_line_with_single_blanks)
{
	tidy("\trep\t\tmovsb\t(%rsi), %es:(%rdi) \t", "#");
	CHECK_TEXT(text, "rep movsb (%rsi), %es:(%rdi)");
	CHECK_TEXT(comment, "");
	tidy("\tnop\n\tnop", "#");
	CHECK_TEXT(text, "nop");
	tidy("", "#");
	CHECK_TEXT(text, "");
	tidy("\t \n", "#");
	CHECK_TEXT(text, "");
}

TEST(comments_are_cut)
{
	tidy("\tadrp\tx0, 16 // 0x411000", "//");
	CHECK_TEXT(text, "adrp x0, 16");
	CHECK_TEXT(comment, "0x411000");
	tidy("\tmov\tx0, #0x10", "//");
	CHECK_TEXT(text, "mov x0, #0x10");
	tidy("\tmovl\t$5, %eax\t## imm = 0x5", "#");
	CHECK_TEXT(text, "movl $5, %eax");
	CHECK_TEXT(comment, "imm = 0x5");
	tidy("# all of it", "#");
	CHECK_TEXT(text, "# all of it");
}

TEST(only_printable_ascii)
{
	tidy("a\033[2J\177b\xc2\x9b", "#");
	CHECK_TEXT(text, "a?[2J?b??");
}

TEST(last_operand)
{
	tidy("\tadrp\tx0, 16", "//");
	text_set_last_operand(text, sizeof(text), 0x411000);
	CHECK_TEXT(text, "adrp x0, 0x411000");
	text_set_last_operand(text, 12, 0xfffffffff);
	CHECK_TEXT(text, "adrp x0, 0x");
	tidy("ret", "//");
	text_set_last_operand(text, sizeof(text), 1);
	CHECK_TEXT(text, "ret");
}

TEST(processors)
{
	CHECK(processor_find("gfx90a"));
	CHECK(processor_find("gfx90a:sramecc+:xnack-") == processor_find("gfx90a"));
	CHECK(!processor_find("gfx90"));
	CHECK(!processor_find("gfx90ab"));
	CHECK(!processor_find(""));
	CHECK(!processor_find(":"));
	CHECK_EQUAL(processor_find("gfx1250")->first_major, 22);
}

int main(void)
{
	RUN(one_line_with_single_blanks);
	RUN(comments_are_cut);
	RUN(only_printable_ascii);
	RUN(last_operand);
	RUN(processors);
	return harness_end();
}
