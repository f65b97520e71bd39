#include "tests.h"

#include "image/dockerfile.h"

static struct err last;

/* The bases as "a b c", or NULL with the error in `last`; the caller frees it. */
static char *bases_of(const char *text, const char *base)
{
	struct dockerfile d = {0};
	char *all;

	last = (struct err){0};
	if (dockerfile_read(text, strlen(text), base, &d, &last) < 0) {
		assert_int_equal(last.exit_code, EXIT_USAGE);
		return NULL;
	}
	all = xstrdup("");
	for (size_t i = 0; i < d.bases.n; i++) {
		cleanup_free char *before = all;

		all = xasprintf("%s%s%s", before, i ? " " : "", d.bases.v[i]);
	}
	dockerfile_done(&d);
	return all;
}

static void check(const char *want, const char *text)
{
	cleanup_free char *got = bases_of(text, NULL);

	if (!got)
		fail_msg("%s\n%s", last.msg, text);
	assert_string_equal(got, want);
}

static void check_refused(const char *part, const char *text)
{
	cleanup_free char *got = bases_of(text, NULL);

	if (got)
		fail_msg("taken, with the bases '%s':\n%s", got, text);
	if (!strstr(last.msg, part))
		fail_msg("'%s' is not in: %s", part, last.msg);
}

static void images_of_every_from_are_found_in_their_order(void **state)
{
	check("debian:12", "FROM debian:12\n");
	check("debian:12", "from debian:12 as x");
	check("b a", "FROM b\nRUN x\nFROM a AS z\n");
	check("b", "FROM b\nFROM b\n");
	check("b", "FROM b AS one\nFROM one\nFROM ONE AS two\n");
	check("", "FROM scratch\n");
	check("host:5000/a/b@sha256:00ff", "FROM host:5000/a/b@sha256:00ff\n");
	check("b", "\xef\xbb\xbf# a comment\n\nFROM b\r\nRUN x\r\n");
}

static void arguments_in_front_are_put_in(void **state)
{
	check("x:1", "ARG BASE=x:1\nFROM ${BASE}\n");
	check("x:1", "ARG A=x B=\"1\"\nFROM $A:$B\n");
	check("x:1", "ARG A=x\nARG C=$A:1\nFROM ${C:-y}\n");
	check("y", "ARG A\nFROM ${A:-y}\n");
	check("y", "FROM ${A:-y}\n");
	check("x", "ARG A=y\nARG A=x\nFROM $A\n");
	/* Those behind a FROM are for the stage alone. */
	check_refused("$A has no value", "FROM x\nARG A=y\nFROM $A\n");
	check_refused("line 2: $TARGETARCH has no value", "# a\nFROM x-$TARGETARCH\n");
	check_refused("no variable", "ARG A=x\nFROM ${A\n");
	check_refused("no variable", "ARG A=x\nFROM ${A:+y}\n");
}

static void base_that_is_asked_for_replaces_that_of_the_file(void **state)
{
	cleanup_free char *own = bases_of("ARG BASE=x\nFROM $BASE\n", "mine:1");
	cleanup_free char *bare = bases_of("ARG BASE\nFROM $BASE\n", "mine:1");
	cleanup_free char *other = bases_of("FROM y\n", "mine:1");
	struct dockerfile d = {0};
	struct err e;

	assert_string_equal(own, "mine:1");
	assert_string_equal(bare, "mine:1");
	assert_string_equal(other, "y");
	assert_int_equal(dockerfile_read("FROM y", 6, NULL, &d, &e), 0);
	assert_false(d.takes_base);
	dockerfile_done(&d);
	assert_int_equal(dockerfile_read("ARG BASE=y\nFROM $BASE", 21, NULL, &d, &e), 0);
	assert_true(d.takes_base);
	dockerfile_done(&d);
}

static void lines_that_go_on_are_one_instruction(void **state)
{
	check("x", "FROM \\\n  x\n");
	check("x", "FROM x\nRUN a \\\n# no end\n\n  FROM-like \\  \n  FROM y\nRUN b\n");
	check_refused("two backslashes", "FROM x\nRUN echo \\\\\nFROM hidden\n");
}

static void here_documents_hold_no_instructions(void **state)
{
	check("x", "FROM x\nRUN <<EOF\nCOPY --from=z\nEOF\nRUN y\n");
	check("x", "FROM x\nCOPY <<-\"A\" <<B /x/\nCOPY --from=q\nA\nUSER\nB\nRUN y\n");
	check("x", "FROM x\nRUN echo $((1<<3)) <<< FROM\n");
	/* Builders that know none would take these for instructions. */
	check_refused("begins with FROM", "FROM x\nRUN cat <<EOF\nFROM hidden\nEOF\n");
	check_refused("does not end", "FROM x\nRUN cat <<EOF\nfoo\n");
}

static void what_would_not_be_looked_at_is_refused(void **state)
{
	static const char *const syntax[] = {
		"# syntax=evil/frontend\nFROM x\n",
		"#syntax = evil/frontend\nFROM x\n",
		"  #\tSyNtAx=evil/frontend\nFROM x\n",
		"\xef\xbb\xbf# syntax=evil/frontend\nFROM x\n",
		"#!/bin/x\n# escape=\\\n\n# syntax=evil/frontend\nFROM x\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(syntax); i++)
		check_refused("# syntax=", syntax[i]);
	check("x", "FROM x\n# syntax=later\n");
	check_refused("# escape=", "# escape=`\nFROM x\n");
	check("x", "# escape=\\\nFROM x\n");
	check_refused("--platform=linux/arm64", "FROM --platform=linux/arm64 x\n");
	check_refused("takes files from 'other'", "FROM x\nCOPY --from=other /a /a\n");
	check_refused("takes files from 'x'", "FROM x AS x\nCOPY --chown=1 --from=x /a /a\n");
	check_refused("takes files from '$A'", "FROM x AS a\nFROM a\nCOPY --from=$A /a /a\n");
	check_refused("takes files from 'y'",
		      "FROM x\nRUN --mount=type=bind,from=y,target=/y true\n");
	check("x", "FROM x AS a\nFROM a\nCOPY --from=a /a /a\nRUN --mount=from=0,target=/y true\n");
	check_refused("takes files from '1'", "FROM x AS a\nFROM a\nCOPY --from=1 /a /a\n");
}

static void nonsense_is_refused_and_named(void **state)
{
	static const char nul[] = "FROM x\n\0FROM y\n";
	struct dockerfile d = {0};
	char *large = xcalloc(1, DOCKERFILE_MAX + 2);
	struct err e = {0};

	check_refused("has no FROM", "");
	check_refused("has no FROM", "# nothing\n");
	check_refused("in front of the first FROM", "RUN x\nFROM y\n");
	check_refused("line 1: is no FROM", "FROM\n");
	check_refused("is no FROM", "FROM a b\n");
	check_refused("is no FROM", "FROM a AS b c\n");
	/* It becomes an argument. */
	check_refused("is no name of an image", "ARG A=-v\nFROM $A\n");
	check_refused("is no name of an image", "ARG A=--privileged\nFROM \"$A\"\n");
	check_refused("is no name of an image", "FROM a;b\n");
	check_refused("is empty", "ARG A=\nFROM $A\n");
	assert_int_equal(dockerfile_read(nul, sizeof(nul) - 1, NULL, &d, &e), -EINVAL);
	memset(large, '\n', DOCKERFILE_MAX + 1);
	assert_int_equal(dockerfile_read(large, DOCKERFILE_MAX + 1, NULL, &d, &e), -EINVAL);
	free(large);
}

static void many_stages_are_bounded(void **state)
{
	char *text = xstrdup("FROM a0\n");

	for (int i = 1; i < 20; i++) {
		cleanup_free char *before = text;

		text = xasprintf("%sFROM a%d\n", before, i);
	}
	check_refused("more than 16 images", text);
	free(text);
	text = xstrdup("FROM a AS b\n");
	for (int i = 1; i < 80; i++) {
		cleanup_free char *before = text;

		text = xasprintf("%sFROM b\n", before);
	}
	check_refused("more than 64 stages", text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_of_every_from_are_found_in_their_order),
		cmocka_unit_test(arguments_in_front_are_put_in),
		cmocka_unit_test(base_that_is_asked_for_replaces_that_of_the_file),
		cmocka_unit_test(lines_that_go_on_are_one_instruction),
		cmocka_unit_test(here_documents_hold_no_instructions),
		cmocka_unit_test(what_would_not_be_looked_at_is_refused),
		cmocka_unit_test(nonsense_is_refused_and_named),
		cmocka_unit_test(many_stages_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
