/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_trigger.c - a libFuzzer target: any text as an expression of a trigger
 *
 * An accepted expression has the parts that its subject needs, and is accepted again as it was
 * kept. A refused one says at which column.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "live/trigger/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_expr(const struct trigger_expr *expr)
{
	bool has_name = expr->subject == TRIGGER_RANGE || expr->subject == TRIGGER_KERNEL ||
			expr->subject == TRIGGER_METRIC;
	struct trigger_expr again;

	require(expr->subject < TRIGGER_SUBJECTS && expr->comparison < TRIGGER_COMPARISONS);
	require((*expr->name != '\0') == has_name);
	require(isfinite(expr->number) && expr->number >= 0);
	require((expr->signal != 0) == (expr->subject == TRIGGER_SIGNAL));
	if (expr->limit == TRIGGER_LIMIT_MULTIPLE)
		require(expr->number > 0 &&
			(expr->is_mean || (expr->quantile > 0 && expr->quantile < 1)));
	if (expr->limit == TRIGGER_LIMIT_TIME)
		require(expr->number >= 1);
	require(trigger_expr_parse(expr->text, &again) == 0);
	require(again.subject == expr->subject && strcmp(again.name, expr->name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct trigger_expr expr;
	char *text = malloc(size + 1);

	require(text != NULL);
	if (size)
		memcpy(text, bytes, size);
	text[size] = '\0';
	if (trigger_expr_parse(text, &expr) == 0)
		check_expr(&expr);
	else
		require(strstr(error_text(), "column ") || strstr(error_text(), "longer than"));
	error_clear();
	free(text);
	return 0;
}
