#include "tree.h"

#include "base/buf.h"
#include "base/fd.h"
#include "config/trust.h"
#include "image/dockerfile.h"
#include "image/image-build.h"
#include "image/image-cmd.h"
#include "image/image-manifest.h"
#include "image/image-source.h"
#include "image/image-tool.h"

#define GOLDEN SOURCE_ROOT "/tests/golden/images"
#define SHIPPED SOURCE_ROOT "/docker/agent-loop"

static struct err last;

/* ---- what a context is told apart by ---- */

static int manifest_of(const char *rel, struct buf *b)
{
	cleanup_free char *path = tree_path(rel);
	cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	last = (struct err){0};
	buf_init(b, IMAGE_MANIFEST_MAX);
	return image_manifest(fd, "ctx", b, &last);
}

static char *manifest(const char *rel)
{
	cleanup_buf struct buf b;

	if (manifest_of(rel, &b) < 0)
		fail_msg("%s", last.msg);
	return xstrdup(buf_str(&b));
}

static void check_refused(const char *part)
{
	cleanup_buf struct buf b;

	assert_int_equal(manifest_of("c", &b), -EINVAL);
	assert_int_equal(last.exit_code, EXIT_USAGE);
	if (!strstr(last.msg, part))
		fail_msg("'%s' is not in: %s", part, last.msg);
}

static void context_is_the_same_whatever_its_times_and_the_order_it_was_made_in(void **state)
{
	static const char *const names[] = {"b", "a/x", "a.b", "c"};
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
	cleanup_free char *one = NULL, *other = NULL, *path = NULL;

	for (size_t i = 0; i < 4; i++) {
		cleanup_free char *p = xasprintf("c/%s", names[i]);
		cleanup_free char *q = xasprintf("d/%s", names[3 - i]);

		tree_file(p, 0644, names[i]);
		tree_file(q, 0644, names[3 - i]);
	}
	path = tree_path("d/a/x");
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	one = manifest("c");
	other = manifest("d");
	assert_string_equal(one, other);
	assert_non_null(strstr(one, "d 0755 0: 1:a\n"));
}

static void context_is_another_with_every_change(void **state)
{
	cleanup_free char *path = tree_path("c/a"), *link = tree_path("c/l");
	char *seen[8] = {0};
	size_t n = 0;

	tree_file("c/a", 0644, "one");
	seen[n++] = manifest("c");
	tree_file("c/a", 0644, "two");
	seen[n++] = manifest("c");
	assert_int_equal(chmod(path, 0755), 0);
	seen[n++] = manifest("c");
	tree_file("c/b", 0644, "");
	seen[n++] = manifest("c");
	tree_dir("c/d");
	seen[n++] = manifest("c");
	assert_int_equal(symlink("a", link), 0);
	seen[n++] = manifest("c");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("b", link), 0);
	seen[n++] = manifest("c");
	/* A name that looks like two lines is still one entry. */
	tree_file("c/x\nf 0644 0: 1:y", 0644, "");
	seen[n++] = manifest("c");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[i], seen[k]);
	for (size_t i = 0; i < n; i++)
		free(seen[i]);
}

static void links_that_lead_out_are_refused(void **state)
{
	static const char *const out[] = {"/etc/passwd", "..", "../x", "d/../../x", "/"};
	cleanup_free char *link = tree_path("c/d/l"), *ok = NULL;

	tree_file("c/a", 0644, "");
	tree_dir("c/d");
	for (size_t i = 1; i < ARRAY_SIZE(out); i++) {
		cleanup_free char *top = tree_path("c/l");

		assert_int_equal(symlink(out[i], top), 0);
		check_refused("leads out");
		assert_int_equal(unlink(top), 0);
	}
	assert_int_equal(symlink("../a", link), 0);
	ok = manifest("c");
	assert_non_null(strstr(ok, "l 0777 4:../a 3:d/l\n"));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink(out[0], link), 0);
	check_refused("ctx/d/l");
}

static void pipes_and_ignore_files_are_refused(void **state)
{
	cleanup_free char *fifo = tree_path("c/p");

	tree_dir("c");
	assert_int_equal(mkfifo(fifo, 0644), 0);
	check_refused("ctx/p: is neither");
	assert_int_equal(unlink(fifo), 0);
	tree_file("c/.dockerignore", 0644, "*");
	check_refused("ctx/.dockerignore: is not heeded");
}

static void contexts_are_bounded(void **state)
{
	cleanup_free char *big = tree_path("c/big"), *deep = xstrdup("c/d");
	cleanup_fd int fd = -1;

	tree_dir("c");
	/* A hole costs nothing to make. */
	fd = open(big, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, IMAGE_CONTEXT_BYTES_MAX + 1), 0);
	check_refused("more than 64 MiB");
	assert_int_equal(unlink(big), 0);
	for (int i = 0; i < IMAGE_CONTEXT_DEPTH_MAX + 1; i++) {
		cleanup_free char *before = deep;

		deep = xasprintf("%s/d", before);
	}
	tree_dir(deep);
	check_refused("32 levels");
}

static void more_files_than_allowed_are_refused(void **state)
{
	tree_dir("c");
	for (int i = 0; i <= IMAGE_CONTEXT_FILES_MAX; i++) {
		cleanup_free char *rel = xasprintf("c/%d", i), *path = tree_path(rel);

		assert_int_equal(mknod(path, S_IFREG | 0644, 0), 0);
	}
	check_refused("4096 files");
}

/* ---- which Dockerfile counts ---- */

static struct places places_here(void)
{
	return (struct places){.state = tree_path("state"), .data = tree_path("data")};
}

static void done_here(struct places *p)
{
	free(p->state);
	free(p->data);
}

#define cleanup_here cleanup_(done_here)

static void project_has_its_own_and_another_agents_is_the_shipped_one(void **state)
{
	cleanup_here struct places p = places_here();
	cleanup_image_source struct image_source s = IMAGE_SOURCE_INIT, t = IMAGE_SOURCE_INIT;
	cleanup_free char *ws = tree_path("ws");
	struct err e = {0};

	tree_file("data/docker/agent-loop/claude/Dockerfile", 0644, "FROM shipped\n");
	tree_dir("ws/.ralph");
	assert_int_equal(image_source_find(&p, "claude", ws, &s, &e), 0);
	assert_null(s.project);
	assert_true(s.trusted);
	assert_string_equal(buf_str(&s.text), "FROM shipped\n");
	tree_file("ws/.ralph/Dockerfile", 0644, "FROM own\n");
	assert_int_equal(image_source_find(&p, "claude", ws, &t, &e), 0);
	assert_string_equal(buf_str(&t.text), "FROM own\n");
	assert_false(t.trusted);
}

static void trust_is_of_dockerfile_and_context_as_they_are(void **state)
{
	cleanup_here struct places p = places_here();
	cleanup_free char *ws = tree_path("ws");
	struct err e = {0};

	tree_file("ws/.ralph/Dockerfile", 0644, "FROM own\n");
	for (int i = 0; i < 3; i++) {
		cleanup_image_source struct image_source s = IMAGE_SOURCE_INIT;

		/* 0: nothing was agreed to; 1: it was, and is copied; 2: a file more. */
		if (i == 2)
			tree_file("ws/.ralph/image/x", 0644, "x");
		assert_int_equal(image_source_project(&p, ws, &s, &e), 0);
		assert_int_equal(s.trusted, i == 1);
		assert_int_equal(s.changed, i == 2);
		assert_int_equal(image_source_copy(&p, &s, &e), 0);
		assert_int_equal(s.trusted, i == 1);
		if (i == 0)
			assert_int_equal(image_source_trust(&p, &s, &e), 0);
	}
}

static void copy_is_what_was_found_with_its_modes_and_is_removed(void **state)
{
	cleanup_here struct places p = places_here();
	cleanup_free char *ws = tree_path("ws"), *file = NULL, *before = NULL, *was = NULL;
	struct image_source s = IMAGE_SOURCE_INIT;
	struct err e = {0};
	struct stat st;

	tree_file("ws/.ralph/Dockerfile", 0644, "FROM own\n");
	tree_file("ws/.ralph/image/bin/tool", 0755, "x");
	assert_int_equal(image_source_project(&p, ws, &s, &e), 0);
	before = xstrdup(buf_str(&s.manifest));
	assert_int_equal(image_source_copy(&p, &s, &e), 0);
	assert_string_equal(buf_str(&s.manifest), before);
	file = path_join(s.copy, "context/bin/tool");
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	was = xstrdup(s.copy);
	image_source_done(&s);
	assert_int_equal(lstat(was, &st), -1);
}

static void links_in_the_place_of_a_dockerfile_or_context_are_refused(void **state)
{
	cleanup_here struct places p = places_here();
	cleanup_free char *ws = tree_path("ws"), *file = tree_path("ws/.ralph/Dockerfile");
	cleanup_free char *context = tree_path("ws/.ralph/image"), *dir = tree_path("ws/.ralph");
	struct image_source s = IMAGE_SOURCE_INIT;
	struct err e = {0};

	tree_file("outside/Dockerfile", 0644, "FROM x\n");
	tree_dir("ws/.ralph");
	assert_int_equal(symlink("../../outside/Dockerfile", file), 0);
	assert_int_equal(image_source_find(&p, "claude", ws, &s, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "symbolic link"));
	image_source_done(&s);
	assert_int_equal(unlink(file), 0);
	tree_file("ws/.ralph/Dockerfile", 0644, "FROM x\n");
	assert_int_equal(symlink("../../outside", context), 0);
	assert_int_equal(image_source_find(&p, "claude", ws, &s, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "symbolic link"));
	image_source_done(&s);
	assert_int_equal(unlink(context), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(symlink("../outside", dir), 0);
	assert_int_equal(image_source_find(&p, "claude", ws, &s, &e), -EINVAL);
	image_source_done(&s);
}

/* ---- the Dockerfiles that come with ralph ---- */

static char *read_file(const char *path)
{
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	if (path_read(AT_FDCWD, path, &b) < 0)
		fail_msg("cannot read %s", path);
	return buf_take(&b);
}

/* Without the lines that are each agent's own. */
static char *shared_part(const char *text)
{
	cleanup_strv struct strv lines = {0};
	char *all = xstrdup("");

	strv_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		cleanup_free char *before = all;
		const char *l = lines.v[i];

		all = strncmp(l, "ARG BASE=", 9) == 0 || strncmp(l, "ARG AGENT=", 10) == 0 ||
				      strncmp(l, "# ", 2) == 0
			      ? xstrdup(before)
			      : xasprintf("%s%s\n", before, l);
	}
	return all;
}

static void every_agent_has_a_dockerfile_and_they_differ_in_base_and_version_alone(void **state)
{
	static const char *const agents[] = {
#define AGENT(x) #x,
#include "agent/agents.def"
#undef AGENT
	};
	static const char *const packages[] = {"build-essential", "jq",	   "ripgrep",
					       "fd-find",	  " git ", "openssh-client"};
	cleanup_free char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		cleanup_free char *path = xasprintf(SHIPPED "/%s/Dockerfile", agents[i]);
		cleanup_free char *text = read_file(path), *shared = shared_part(text);
		cleanup_free char *tail =
			strlen(text) > 12 ? xstrdup(text + strlen(text) - 12) : NULL;
		struct dockerfile d = {0};
		struct err e = {0};

		if (dockerfile_read(text, strlen(text), NULL, &d, &e) < 0)
			fail_msg("%s: %s", path, e.msg);
		assert_true(d.takes_base);
		assert_int_equal(d.bases.n, 1);
		assert_non_null(strstr(d.bases.v[0], "docker/sandbox-templates:"));
		dockerfile_done(&d);
		for (size_t k = 0; k < ARRAY_SIZE(packages); k++)
			assert_non_null(strstr(text, packages[k]));
		assert_string_equal(tail, "\nUSER agent\n");
		/* A version, not a range or a tag. */
		assert_non_null(strstr(text, "\nARG AGENT="));
		assert_null(strstr(text, "@latest"));
		if (!first)
			first = xstrdup(shared);
		assert_string_equal(first, shared);
	}
}

/* ---- what engines are asked, and what they say ---- */

static void put(struct buf *out, struct strv *argv)
{
	for (size_t i = 0; i < argv->n; i++)
		(void)buf_printf(out, "%s%s\n", i ? "\t" : "", argv->v[i]);
	strv_done(argv);
}

static void command_lines_are_as_they_were(void **state)
{
	static const char *const refs[] = {"a:1", "b:2"};
	static const char *const programs[] = {"docker", "podman"};
	char *bases_v[] = {"base:1", "tools:2", NULL};
	const struct strv bases = {.v = bases_v, .n = 2};
	struct image_build b = {
		.ref = "agent-loop-sandbox-claude:v0",
		.agent = "claude",
		.bases = &bases,
		.dockerfile = "/state/copy/Dockerfile",
		.context = "/state/copy/context",
		.uid = 1000,
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		cleanup_free char *path = xasprintf(GOLDEN "/%s.plan", programs[i]), *want = NULL;
		cleanup_buf struct buf out;
		struct strv argv = {0};

		buf_init(&out, 64 * KiB);
		b.source = b.base = NULL;
		b.fresh = false;
		image_cmd_build(programs[i], &b, &argv);
		put(&out, &argv);
		b.source = "/home/u/project";
		b.base = "mine:3";
		b.fresh = true;
		image_cmd_build(programs[i], &b, &argv);
		put(&out, &argv);
		image_cmd_inspect(programs[i], refs, 2, &argv);
		put(&out, &argv);
		image_cmd_list(programs[i], &argv);
		put(&out, &argv);
		image_cmd_pull(programs[i], "base:1", &argv);
		put(&out, &argv);
		image_cmd_remove(programs[i], "a:1", &argv);
		put(&out, &argv);
		if (getenv("RALPH_GOLDEN") && streq(getenv("RALPH_GOLDEN"), "update"))
			assert_int_equal(
				path_write_atomic(AT_FDCWD, path, buf_str(&out), out.len, 0644, 0),
				0);
		want = read_file(path);
		if (!streq(want, buf_str(&out)))
			fail_msg("%s has changed:\n%s", path, buf_str(&out));
	}
}

static void step_is(const char *line, unsigned at, unsigned of, const char *text)
{
	struct image_step s = {0};

	if (!image_step_parse(line, &s))
		fail_msg("no step: %s", line);
	assert_int_equal(s.at, at);
	assert_int_equal(s.of, of);
	assert_string_equal(s.text, text);
}

static void steps_of_every_builder_are_known(void **state)
{
	static const char *const none[] = {"",
					   "Step",
					   "Step x/2 : RUN",
					   "#7 DONE 0.1s",
					   "#3 [internal] load x",
					   " ---> 0123",
					   "#7 [2/2 RUN",
					   "Step 1/2 RUN",
					   "#7 0.123 [1/2] x",
					   "[1/2] RUN x",
					   "STEP 1/: x",
					   "#x [1/2] RUN",
					   "#7 [a b] RUN x",
					   "Step 1/2"};
	struct image_step s;

	step_is("Step 3/9 : RUN apt-get update", 3, 9, "RUN apt-get update");
	step_is("STEP 3/9: RUN x", 3, 9, "RUN x");
	step_is("[1/2] STEP 3/9: FROM a AS b", 3, 9, "FROM a AS b");
	step_is("#7 [3/9] RUN x", 3, 9, "RUN x");
	step_is("#12 [builder 3/9] COPY a b", 3, 9, "COPY a b");
	step_is("Step 99999999999999999999/9 : x", 999999, 9, "x");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (image_step_parse(none[i], &s))
			fail_msg("a step: %s", none[i]);
}

static void times_of_engines_are_read(void **state)
{
	assert_int_equal(image_time("2026-11-16T01:56:55.146246095Z"), 1794794215);
	assert_int_equal(image_time("2026-11-16T02:56:55+01:00"), 1794794215);
	assert_int_equal(image_time("2026-11-15T19:56:55.1-06:00"), 1794794215);
	assert_int_equal(image_time("1970-01-01T00:00:00Z"), 0);
	assert_int_equal(image_time("0001-01-01T00:00:00Z"), 0);
	assert_int_equal(image_time("2026-11-16"), 0);
	assert_int_equal(image_time("2026-11-16T01:56:55"), 0);
	assert_int_equal(image_time(NULL), 0);
}

static void last_words_are_harmless(void **state)
{
	char text[] = "first\nsecond \033[91mred\n\n  \n", empty[] = " \n";

	assert_string_equal(image_last_line(text), "second ?[91mred");
	assert_string_equal(image_last_line(empty), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(context_is_the_same_whatever_its_times_and_the_order_it_was_made_in),
		WITH_TREE(context_is_another_with_every_change),
		WITH_TREE(links_that_lead_out_are_refused),
		WITH_TREE(pipes_and_ignore_files_are_refused),
		WITH_TREE(contexts_are_bounded),
		WITH_TREE(more_files_than_allowed_are_refused),
		WITH_TREE(project_has_its_own_and_another_agents_is_the_shipped_one),
		WITH_TREE(trust_is_of_dockerfile_and_context_as_they_are),
		WITH_TREE(copy_is_what_was_found_with_its_modes_and_is_removed),
		WITH_TREE(links_in_the_place_of_a_dockerfile_or_context_are_refused),
		cmocka_unit_test(
			every_agent_has_a_dockerfile_and_they_differ_in_base_and_version_alone),
		cmocka_unit_test(command_lines_are_as_they_were),
		cmocka_unit_test(steps_of_every_builder_are_known),
		cmocka_unit_test(times_of_engines_are_read),
		cmocka_unit_test(last_words_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
