#include "cli/frame/opt.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/text/suggest.h"

#define CANDIDATES_MAX 256

static const char *const type_names[] = {
	[OPT_BOOL] = "bool", [OPT_NOT] = "not",	      [OPT_STR] = "str",
	[OPT_UINT] = "uint", [OPT_SIZE] = "size",     [OPT_DURATION] = "duration",
	[OPT_STRV] = "strv", [OPT_CHOICE] = "choice",
};
static_assert(ARRAY_SIZE(type_names) == OPT_TYPE_N, "one name per type");

const char *opt_type_name(enum opt_type t)
{
	return type_names[t];
}

bool opt_takes_value(const struct opt *o)
{
	return o->type != OPT_BOOL && o->type != OPT_NOT && !o->value;
}

/* The option as the user wrote it, for messages. */
struct shown {
	char text[80];
};

static struct shown shown_long(const char *name)
{
	struct shown s;

	(void)snprintf(s.text, sizeof(s.text), "--%s", name);
	return s;
}

static struct shown shown_short(char c)
{
	return (struct shown){.text = {'-', c, '\0'}};
}

static int parse_number(const struct opt *o, const char *value, uint64_t *ret)
{
	uint64_t max = o->max ? o->max : UINT64_MAX;
	uint64_t v = 0;
	int r;

	if (o->type == OPT_UINT)
		return parse_uint(value, o->min, max, ret);
	r = o->type == OPT_SIZE ? parse_size(value, &v) : parse_duration(value, &v);
	if (r < 0)
		return r;
	if (v < o->min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

static int number_error(const struct opt *o, const char *shown, const char *value, int r,
			struct err *err)
{
	static const char *const wanted[OPT_TYPE_N] = {
		[OPT_UINT] = "a whole number",
		[OPT_SIZE] = "a size such as 512K, 64M or 2G",
		[OPT_DURATION] = "a duration such as 500ms, 30s, 5m or 2h",
	};
	static const char *const unit[OPT_TYPE_N] = {
		[OPT_UINT] = "",
		[OPT_SIZE] = " bytes",
		[OPT_DURATION] = " ms",
	};

	if (r == -ERANGE && o->max)
		return err_usage(err, "option '%s' must be between %llu and %llu%s, not '%s'",
				 shown, (unsigned long long)o->min, (unsigned long long)o->max,
				 unit[o->type], value);
	if (r == -ERANGE && o->min)
		return err_usage(err, "option '%s' must be at least %llu%s, not '%s'", shown,
				 (unsigned long long)o->min, unit[o->type], value);
	if (r == -ERANGE)
		return err_usage(err, "option '%s': '%s' is too large", shown, value);
	return err_usage(err, "option '%s' wants %s, not '%s'", shown, wanted[o->type], value);
}

static int check_choice(const struct opt *o, const char *shown, const char *value, struct err *err)
{
	char list[256] = "";
	size_t n = 0;

	for (const char *const *c = o->choices; *c; c++) {
		if (streq(*c, value))
			return 0;
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
					      *c);
	}
	return err_usage(err, "option '%s' must be one of %s, not '%s'", shown, list, value);
}

/* Checks the value by the row's type; a number is left in *ret. */
static int check_value(const struct opt *o, const char *shown, const char *value, uint64_t *ret,
		       struct err *err)
{
	int r = 0;

	switch (o->type) {
	case OPT_UINT:
	case OPT_SIZE:
	case OPT_DURATION:
		r = parse_number(o, value, ret);
		return r < 0 ? number_error(o, shown, value, r, err) : 0;
	case OPT_CHOICE:
		return check_choice(o, shown, value, err);
	case OPT_BOOL:
	case OPT_NOT:
	case OPT_STR:
	case OPT_STRV:
	case OPT_TYPE_N:
		break;
	}
	return 0;
}

static void store_key(const struct opt *o, const char *value, struct strv *config)
{
	if (o->type == OPT_BOOL)
		value = o->value ? o->value : "true";
	else if (o->type == OPT_NOT)
		value = o->value ? o->value : "false";
	if (o->type == OPT_STRV)
		strv_pushf(config, "%s=%s", o->key, value);
	else
		strv_env_set(config, o->key, value);
}

static void store_member(const struct opt *o, void *base, const char *value, uint64_t number)
{
	void *at = (char *)base + o->offset;

	switch (o->type) {
	case OPT_BOOL:
	case OPT_NOT:
		*(bool *)at = o->type == OPT_BOOL;
		break;
	case OPT_STR:
	case OPT_CHOICE:
		*(const char **)at = value;
		break;
	case OPT_UINT:
	case OPT_SIZE:
	case OPT_DURATION:
		*(uint64_t *)at = number;
		break;
	case OPT_STRV:
		strv_push(at, value);
		break;
	case OPT_TYPE_N:
		break;
	}
}

static int store(const struct opt_sink *sink, const struct opt_set *set, const struct opt *o,
		 const char *shown, const char *value, struct err *err)
{
	uint64_t number = 0;
	int r;

	if ((o->needs & sink->have) != o->needs)
		return err_usage(err, "option '%s' does not apply to this command", shown);
	if (o->value)
		value = o->value;
	r = check_value(o, shown, value, &number, err);
	if (r < 0)
		return r;
	if (o->key)
		store_key(o, value, sink->config);
	else
		store_member(o, set->base, value, number);
	return 0;
}

void opt_init(const struct opt_set *set)
{
	struct err err = {0};

	for (size_t i = 0; i < set->n; i++) {
		const struct opt *o = &set->opts[i];
		uint64_t number = 0;
		int r;

		if (!o->def || o->key || o->value)
			continue;
		r = check_value(o, o->name, o->def, &number, &err);
		assert(r == 0);
		(void)r;
		if (o->type == OPT_BOOL || o->type == OPT_NOT)
			*(bool *)((char *)set->base + o->offset) = streq(o->def, "true");
		else
			store_member(o, set->base, o->def, number);
	}
}

void opt_done(const struct opt_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->opts[i].type == OPT_STRV && !set->opts[i].key)
			strv_done((struct strv *)((char *)set->base + set->opts[i].offset));
}

/* By its name, or by the one it had in the last release. */
static const struct opt *find_long(const struct opt_sink *sink, const char *name, bool by_was,
				   const struct opt_set **ret_set)
{
	for (size_t s = 0; s < sink->n_sets; s++) {
		*ret_set = &sink->sets[s];
		for (size_t i = 0; i < sink->sets[s].n; i++) {
			const struct opt *o = &sink->sets[s].opts[i];
			const char *its = by_was ? o->was : o->name;

			if (its && streq(its, name))
				return o;
		}
	}
	return NULL;
}

static const struct opt *find_short(const struct opt_sink *sink, char c,
				    const struct opt_set **ret_set)
{
	for (size_t s = 0; s < sink->n_sets; s++) {
		*ret_set = &sink->sets[s];
		for (size_t i = 0; i < sink->sets[s].n; i++)
			if (sink->sets[s].opts[i].short_name == c)
				return &sink->sets[s].opts[i];
	}
	return NULL;
}

static const struct opt *find_renamed(const struct opt_sink *sink, const char *name,
				      const struct opt_set **ret_set)
{
	const struct opt *o = find_long(sink, name, true, ret_set);

	if (o && sink->notices)
		strv_pushf(sink->notices,
			   "'--%s' is now '--%s'; the old name works until the next release", name,
			   o->name);
	return o;
}

static int unknown_long(const struct opt_sink *sink, const char *name, struct err *err)
{
	const char *candidates[CANDIDATES_MAX];
	const char *near;
	size_t n = 0;

	for (size_t s = 0; s < sink->n_sets; s++) {
		for (size_t i = 0; i < sink->sets[s].n && n < CANDIDATES_MAX; i++) {
			const struct opt *o = &sink->sets[s].opts[i];

			if (!(o->flags & OPT_HIDDEN) && (o->needs & sink->have) == o->needs)
				candidates[n++] = o->name;
		}
	}
	near = suggest(name, candidates, n);
	if (near)
		return err_usage(err, "unknown option '--%s'; did you mean '--%s'?", name, near);
	return err_usage(err, "unknown option '--%s'%s%s", name, sink->hint ? "; " : "",
			 sink->hint ? sink->hint : "");
}

static int unknown_short(const struct opt_sink *sink, char c, struct err *err)
{
	return err_usage(err, "unknown option '-%c'%s%s", c, sink->hint ? "; " : "",
			 sink->hint ? sink->hint : "");
}

static int missing_value(const struct opt *o, const char *shown, struct err *err)
{
	return err_usage(err, "option '%s' needs a value: %s %s", shown, shown,
			 o->arg ? o->arg : "VALUE");
}

/* arg is what follows "--"; next the word after it or NULL. 1: next was taken as the value. */
static int parse_long(const struct opt_sink *sink, const char *arg, const char *next,
		      struct err *err)
{
	size_t len = strcspn(arg, "=");
	const char *value = arg[len] ? arg + len + 1 : NULL;
	cleanup_free char *name = xstrndup(arg, len);
	struct shown shown = shown_long(name);
	const struct opt_set *set = NULL;
	const struct opt *o = find_long(sink, name, false, &set);
	int r;

	if (!o)
		o = find_renamed(sink, name, &set);
	if (!o)
		return unknown_long(sink, name, err);
	if (!opt_takes_value(o)) {
		if (value)
			return err_usage(err, "option '%s' takes no value", shown.text);
		return store(sink, set, o, shown.text, NULL, err);
	}
	if (value)
		return store(sink, set, o, shown.text, value, err);
	if (!next)
		return missing_value(o, shown.text, err);
	r = store(sink, set, o, shown.text, next, err);
	return r < 0 ? r : 1;
}

/* cluster is what follows "-": booleans in a row, and at its end an option with its value. */
static int parse_short(const struct opt_sink *sink, const char *cluster, const char *next,
		       struct err *err)
{
	for (; *cluster; cluster++) {
		struct shown shown = shown_short(*cluster);
		const struct opt_set *set = NULL;
		const struct opt *o = find_short(sink, *cluster, &set);
		int r;

		if (!o)
			return unknown_short(sink, *cluster, err);
		if (!opt_takes_value(o)) {
			r = store(sink, set, o, shown.text, NULL, err);
			if (r < 0)
				return r;
			continue;
		}
		if (cluster[1])
			return store(sink, set, o, shown.text, cluster + 1, err);
		if (!next)
			return missing_value(o, shown.text, err);
		r = store(sink, set, o, shown.text, next, err);
		return r < 0 ? r : 1;
	}
	return 0;
}

int opt_parse(struct opt_sink *sink, int *argc, char **argv, struct err *err)
{
	int n = 0;
	int i = 0;

	sink->dashdash = -1;
	while (i < *argc) {
		char *arg = argv[i++];
		const char *next = i < *argc ? argv[i] : NULL;
		int r;

		if (streq(arg, "--")) {
			sink->dashdash = n;
			break;
		}
		if (arg[0] != '-' || arg[1] == '\0') {
			argv[n++] = arg;
			if (sink->posix || (sink->ends && sink->ends(arg)))
				break;
			continue;
		}
		r = arg[1] == '-' ? parse_long(sink, arg + 2, next, err)
				  : parse_short(sink, arg + 1, next, err);
		if (r < 0)
			return r;
		i += r;
	}
	while (i < *argc)
		argv[n++] = argv[i++];
	argv[n] = NULL;
	*argc = n;
	return 0;
}
