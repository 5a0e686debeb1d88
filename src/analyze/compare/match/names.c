/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/names.c - the part of a kernel's name that stays when the kernel is tuned,
 * generated or compiled anew
 *
 * Runs in:  our own process, in duet diff
 * Gets:     names of kernels
 * Gives:    keys, which are equal for variants of one kernel
 * Owns:     nothing
 * Fails:    never; a name without a family has no key
 * Why operation and data type stay: a product of 16-bit numbers in place of one of 32-bit numbers
 * is a change that a reader must see. Only the loose key, at low confidence, hides it.
 */
#include "analyze/compare/match/names.h"

#include <ctype.h>
#include <string.h>

#include "analyze/compare/match/families.h"
#include "analyze/compare/match/template_name.h"
#include "base/array.h"

enum { FLAT_BYTES = 2048, HASH_MIN = 8, HASH_MAX = 64 };

struct word {
	const char *text;
	size_t size;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* The next word of a name and its place; false: the name has ended. */
static bool next_word(const char **at, struct word *ret_word)
{
	*at += strspn(*at, "_.$ ");
	ret_word->text = *at;
	ret_word->size = strcspn(*at, "_.$ ");
	*at += ret_word->size;
	return ret_word->size > 0;
}

static bool is_all(struct word word, int (*is_kind)(int character))
{
	for (size_t i = 0; i < word.size; i++)
		if (!is_kind((unsigned char)word.text[i]))
			return false;
	return word.size > 0;
}

static int is_lower_hex(int character)
{
	return isdigit(character) || (character >= 'a' && character <= 'f');
}

/* "3f2a9c01": digits and letters. A number of eight digits or a word such as "deadbeef" is none. */
static bool is_hash(struct word word)
{
	bool has_digit = false, has_letter = false;

	if (word.size < HASH_MIN || word.size > HASH_MAX || !is_all(word, is_lower_hex))
		return false;
	for (size_t i = 0; i < word.size; i++) {
		has_digit |= isdigit((unsigned char)word.text[i]) != 0;
		has_letter |= isalpha((unsigned char)word.text[i]) != 0;
	}
	return has_digit && has_letter;
}

/* Triton's description of arguments: "0d1d2de3c". */
static bool is_specialization(struct word word)
{
	if (word.size < 2 || word.text[0] != '0' || !strchr("dec", word.text[1]))
		return false;
	for (size_t i = 0; i < word.size; i++)
		if (!isdigit((unsigned char)word.text[i]) && !strchr("dec", word.text[i]))
			return false;
	return true;
}

/* One spelling for each type of data. */
static struct word common_type(struct word word)
{
	static const struct {
		const char *text, *common;
	} types[] = {
		{"fp16", "f16"}, {"half", "f16"},    {"bfloat16", "bf16"}, {"Bfloat16", "bf16"},
		{"fp32", "f32"}, {"float", "f32"},   {"double", "f64"},    {"fp64", "f64"},
		{"int8", "i8"},  {"float16", "f16"}, {"float32", "f32"},   {"float64", "f64"},
		{"FP16", "f16"}, {"FP32", "f32"},    {"BF16", "bf16"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(types); i++)
		if (strlen(types[i].text) == word.size &&
		    memcmp(types[i].text, word.text, word.size) == 0)
			return (struct word){types[i].common, strlen(types[i].common)};
	return word;
}

/* "s16816gemm" is "gemm": the numbers are the shape of an instruction. "sgemm" stays. */
static struct word without_shape(struct word word)
{
	size_t at = word.size && islower((unsigned char)word.text[0]) ? 1 : 0;
	const size_t digits = at;

	while (at < word.size && isdigit((unsigned char)word.text[at]))
		at++;
	if (at < digits + 3 || at == word.size)
		return word;
	return (struct word){word.text + at, word.size - at};
}

static void append_word(struct key_text *key, struct word word)
{
	key_text_append(key, " ", 1);
	key_text_append(key, word.text, word.size);
}

static bool is_word_in(const char *patterns, struct word word)
{
	return patterns_cover(patterns, word.text, word.size);
}

/* ---- families of names of words -------------------------------------------------------------- */

/* "tn" for Tensile's "Alik_Bljk" and for "tn", "TN", "TNT"; size 0: the word does not name a
 * layout. */
static struct word layout_of(struct word word)
{
	static const struct {
		const char *words, *layout;
	} layouts[] = {
		{"nn NN NNN NNT Ailk", "nn"},
		{"nt NT NTN NTT", "nt"},
		{"tn TN TNN TNT Alik", "tn"},
		{"tt TT TTN TTT", "tt"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(layouts); i++)
		if (is_word_in(layouts[i].words, word))
			return (struct word){layouts[i].layout, 2};
	return (struct word){NULL, 0};
}

/* The key of all matrix products of one layout. */
static bool append_product(struct key_text *key, const char *name)
{
	struct word word, layout = {NULL, 0};

	while (next_word(&name, &word)) {
		const struct word found = layout_of(word);

		if (found.size)
			layout = found;
		if (is_word_in("Bjlk", word) && layout.size)
			layout = (struct word){layout.text[0] == 't' ? "tt" : "nt", 2};
	}
	if (!layout.size)
		return false;
	key_text_append(key, "product", 7);
	append_word(key, layout);
	return true;
}

static bool is_dropped(const struct flat_family *family, struct word word, bool is_loose)
{
	return is_hash(word) || is_specialization(word) || is_word_in(family->dropped, word) ||
	       (is_loose && is_word_in(family->loose, word));
}

/* Returns whether a word is left besides the first, which many families share. */
static bool append_words(struct key_text *key, const struct flat_family *family, const char *name,
			 bool is_loose)
{
	struct word word;
	size_t words = 0;

	while (next_word(&name, &word)) {
		if (family->stop && is_word_in(family->stop, word))
			break;
		word = common_type(word);
		if (is_dropped(family, word, is_loose))
			continue;
		append_word(key, family->keeps_numbers ? word : without_shape(word));
		words++;
	}
	return words > (size_t)(strcmp(family->pattern, "triton") == 0);
}

static int flat_key(const char *name, bool is_loose, struct key_text *key, const char **ret_pattern)
{
	const struct flat_family *family = flat_family_find(name);

	if (!family || (is_loose && !family->loose))
		return 0;
	if (is_loose && family->is_matrix_product) {
		*ret_pattern = "matrix product";
		return append_product(key, name);
	}
	key_text_append(key, family->pattern, strlen(family->pattern));
	*ret_pattern = family->pattern;
	return append_words(key, family, name, is_loose);
}

/* ---- names without a family ------------------------------------------------------------------ */

/* Drops hashes, and one number at the end: "scale_a7f9e001_12". */
static int numbered_key(const char *name, struct key_text *key, const char **ret_pattern)
{
	struct word word, pending = {NULL, 0};
	size_t hashes = 0, words = 0;
	const char *at = name;

	if (strpbrk(name, "<( :"))
		return 0;
	while (next_word(&at, &word)) {
		if (is_hash(word)) {
			hashes++;
			continue;
		}
		if (pending.size)
			append_word(key, pending);
		pending = word;
		words++;
	}
	if (pending.size && words > 1 && is_all(pending, isdigit)) {
		*ret_pattern = hashes ? "hash" : "counter";
		return 1;
	}
	if (!hashes || !words)
		return 0;
	append_word(key, pending);
	*ret_pattern = "hash";
	return 1;
}

/* ---- C++ names ------------------------------------------------------------------------------- */

/* Template arguments that are numbers, such as "Li256E", are left out. */
static void append_without_literals(struct key_text *key, const char *at)
{
	while (*at) {
		const char *end = at;

		if (end[0] == 'L' && islower((unsigned char)end[1]))
			end += 2;
		while (end > at && (isdigit((unsigned char)*end) || *end == 'n'))
			end++;
		if (end > at + 2 && *end == 'E')
			at = end + 1;
		else
			key_text_append(key, at++, 1);
	}
}

/* Mangled names that could not be demangled: "_ZN5aiter3addIDF16bLi4EE" is "aiter::add" with what
 * is left of its arguments. */
static bool append_mangled(struct key_text *key, const char *name)
{
	const char *at = name + 2;
	size_t words = 0;

	if (strncmp(name, "_Z", 2) != 0)
		return false;
	at += *at == 'N';
	at += *at == 'L';
	while (isdigit((unsigned char)*at)) {
		size_t size = 0;

		while (isdigit((unsigned char)*at) && size < FLAT_BYTES)
			size = size * 10 + (size_t)(*at++ - '0');
		if (strnlen(at, size) < size)
			return false;
		if (words++)
			key_text_append(key, "::", 2);
		key_text_append(key, at, size);
		at += size;
	}
	append_without_literals(key, at);
	return words > 0;
}

static const char *last_component(const char *function)
{
	const char *last = function;

	for (const char *at = function; (at = strstr(at, "::")); at += 2)
		last = at + 2;
	return last;
}

static bool is_in_namespace(const char *function, const char *word)
{
	const char *at = strstr(function, word);

	return at && strstr(at, "::");
}

/* Functions that moved between namespaces from release to release: all of FlashAttention and
 * cuDNN. */
static int moved_key(const char *function, struct key_text *key, const char **ret_pattern)
{
	const char *last = last_component(function);

	if (patterns_cover("flash_fwd* flash_bwd* *flash_attn*", last, strlen(last)))
		*ret_pattern = "flash attention";
	else if (is_in_namespace(function, "cudnn") ||
		 patterns_cover("*_alg#_engine *grad_engine *convolve_sgemm", last, strlen(last)))
		*ret_pattern = "cudnn";
	else
		return 0;
	key_text_append(key, last, strlen(last));
	return 1;
}

static void append_carried(const struct template_name *parsed, const struct carrier_family *family,
			   const char *function, bool is_loose, struct key_text *key)
{
	const char *kind = family->kind ? family->kind : function;

	key_text_append(key, family->pattern, strlen(family->pattern));
	if (!is_loose || strcmp(family->pattern, "pytorch elementwise") != 0 ||
	    (family->kind && strcmp(family->kind, "reduce") == 0)) {
		key_text_append(key, " ", 1);
		key_text_append(key, kind, strlen(kind));
	}
	key_text_append(key, " ", 1);
	template_name_append_arguments(
		parsed, is_loose ? TEMPLATE_TYPES : TEMPLATE_TYPES | TEMPLATE_SCALARS, key);
}

static int carrier_key(const struct template_name *parsed, const char *function, bool is_loose,
		       struct key_text *key, const char **ret_pattern)
{
	const struct carrier_family *family = carrier_family_find(function);

	if (!family)
		return 0;
	if (family->is_flat) {
		char text[FLAT_BYTES];
		struct key_text argument = {.text = text, .size = sizeof(text)};

		template_name_append_arguments(parsed, TEMPLATE_TYPES | TEMPLATE_SCALARS,
					       &argument);
		key_text_finish(&argument);
		text[strcspn(text, ",")] = '\0';
		return flat_key(text, is_loose, key, ret_pattern);
	}
	*ret_pattern = family->pattern;
	append_carried(parsed, family, function, is_loose, key);
	return 1;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int make_key(const char *name, bool is_loose, struct key_text *key, const char **ret_pattern)
{
	struct template_name parsed;
	char function[FLAT_BYTES];
	struct key_text text = {.text = function, .size = sizeof(function)};
	int found;

	template_name_read(&parsed, name);
	template_name_append(&parsed, TEMPLATE_NONE, &text);
	key_text_finish(&text);
	found = carrier_key(&parsed, function, is_loose, key, ret_pattern);
	if (!found && !is_loose)
		found = moved_key(function, key, ret_pattern);
	if (!found)
		found = flat_key(function, is_loose, key, ret_pattern);
	if (found || is_loose)
		return found;
	key->length = 0;
	key->hash = 0;
	if (append_mangled(key, name)) {
		*ret_pattern = "mangled";
		return 1;
	}
	return numbered_key(name, key, ret_pattern);
}

static int family_key(const char *name, bool is_loose, char *ret_key, size_t size,
		      const char **ret_pattern)
{
	char buffer[KERNEL_KEY_BYTES];
	struct key_text key = {.text = buffer,
			       .size = size < sizeof(buffer) ? size : sizeof(buffer)};
	const char *pattern = NULL;

	if (!*name || !make_key(name, is_loose, &key, &pattern) || !key.length)
		return 0;
	key_text_finish(&key);
	memcpy(ret_key, buffer, strlen(buffer) + 1);
	*ret_pattern = pattern;
	return 1;
}

int kernel_family(const char *name, char *ret_key, size_t size, const char **ret_pattern)
{
	return family_key(name, false, ret_key, size, ret_pattern);
}

int kernel_family_loose(const char *name, char *ret_key, size_t size, const char **ret_pattern)
{
	return family_key(name, true, ret_key, size, ret_pattern);
}

double kernel_family_confidence(const char *pattern)
{
	return family_confidence(pattern);
}

bool kernel_plain_name(const char *name, enum plain_detail detail, char *ret_plain, size_t size)
{
	struct template_name parsed;
	struct key_text key = {.text = ret_plain, .size = size};
	char function[FLAT_BYTES];
	struct key_text text = {.text = function, .size = sizeof(function)};

	if (!*name)
		return false;
	template_name_read(&parsed, name);
	template_name_append(&parsed, TEMPLATE_NONE, &text);
	key_text_finish(&text);
	if (carrier_family_find(function))
		return false;
	template_name_append(
		&parsed, detail == PLAIN_TYPES ? TEMPLATE_TYPES | TEMPLATE_SCALARS : TEMPLATE_NONE,
		&key);
	key_text_finish(&key);
	return key.length > 0;
}
