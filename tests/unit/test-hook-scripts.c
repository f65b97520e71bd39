/* tests/hook/scripts.txt: what a script does that lies on the disk is what the command does. */
#include "tests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/strv.h"
#include "hook/judge.h"
#include "hook/lock-file.h"
#include "hook/script-read.h"

#define FILES 8

static const char *const verdicts[] = {"-", "warn", "block"};

/* The files of the case at hand. */
static struct {
	const char *name;
	struct buf text;
} files[FILES];
static size_t n_files;

static const char *environment(const char *name)
{
	return streq(name, "PATH") ? "/usr/bin:/bin" : streq(name, "USER") ? "dev" : NULL;
}

static const char *from_memory(struct arena *a, const char *path, const char **ret_why)
{
	static const char root[] = "/home/dev/project/";

	(void)ret_why;
	if (strncmp(path, root, strlen(root)) == 0)
		path += strlen(root);
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	for (size_t i = 0; i < n_files; i++)
		if (streq(files[i].name, path))
			return arena_strndup(a, buf_str(&files[i].text), files[i].text.len);
	return NULL;
}

/* The worst that is said of it; *right: that, in this category. */
static enum severity judged(const char *command, const char *category, bool *right)
{
	volatile enum severity worst = SEV_NONE; /* set behind a longjmp */
	struct arena a;
	struct judge j;

	arena_init(&a, JUDGE_MEMORY);
	judge_init(&j, &a, "/home/dev/project", "/home/dev");
	j.getenv = environment;
	j.read = from_memory;
	if (setjmp(a.out) == 0)
		judge_script(&j, command, strlen(command));
	else
		fail_msg("gave up: %s: %s", a.why, command);
	for (unsigned int i = 0; i < j.n_findings; i++)
		if (j.findings[i].severity > worst)
			worst = j.findings[i].severity;
	*right = worst == SEV_NONE;
	for (unsigned int i = 0; i < j.n_findings; i++)
		if (j.findings[i].severity == worst &&
		    streq(category_info(j.findings[i].category)->name, category))
			*right = true;
	arena_done(&a);
	return worst;
}

static void check(char *want, const char *command, unsigned int *n, unsigned int *wrong)
{
	char *category = want ? strchr(want, ' ') : NULL;
	enum severity got;
	bool right;

	if (!command)
		return;
	if (category)
		*category++ = '\0';
	++*n;
	got = judged(command, category ? category : "", &right);
	if (!streq(want, verdicts[got]) || !right) {
		++*wrong;
		print_message("%s, not %s %s: %s\n", verdicts[got], want, category ? category : "",
			      command);
	}
	for (size_t i = 0; i < n_files; i++)
		buf_done(&files[i].text);
	n_files = 0;
}

static void what_a_script_on_the_disk_does_is_judged(void **state)
{
	unsigned int n = 0, wrong = 0;
	char *want = NULL, *command = NULL, *next;
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	assert_int_equal(path_read(AT_FDCWD, SOURCE_ROOT "/tests/hook/scripts.txt", &b), 0);
	assert_int_equal(buf_putc(&b, '\0'), 0);
	for (char *line = b.data; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strncmp(line, "= ", 2) == 0) {
			check(want, command, &n, &wrong);
			want = line + 2;
			command = strchr(line, '\t');
			assert_non_null(command);
			*command++ = '\0';
		} else if (strncmp(line, "> ", 2) == 0) {
			assert_true(n_files < FILES);
			files[n_files].name = line + 2;
			buf_init(&files[n_files++].text, 64 * KiB);
		} else if (command && n_files) {
			(void)buf_printf(&files[n_files - 1].text, "%s\n", line);
		}
	}
	check(want, command, &n, &wrong);
	print_message("%u commands, %u judged wrongly\n", n, wrong);
	assert_true(n >= 40);
	assert_int_equal(wrong, 0);
}

static void write_file(const char *dir, const char *name, const char *text, size_t n)
{
	cleanup_free char *path = path_join(dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	(void)close(fd);
}

static const char *read_one(struct arena *a, const char *dir, const char *name, const char **why)
{
	*why = NULL;
	return script_read(a, arena_printf(a, "%s/%s", dir, name), why);
}

static void a_script_is_read_and_nothing_else_is(void **state)
{
	char dir[] = "/tmp/ralph-scripts.XXXXXX", *big = xcalloc(1, SCRIPT_READ_MAX + 2);
	cleanup_free char *pipe = NULL, *remove = NULL;
	struct arena a;
	const char *why;

	assert_non_null(mkdtemp(dir));
	memset(big, '#', SCRIPT_READ_MAX + 1);
	write_file(dir, "good", "echo \0x\n", 8);
	write_file(dir, "program", "\177ELF\1\2\3", 7);
	write_file(dir, "big", big, SCRIPT_READ_MAX + 1);
	write_file(dir, "most", big, SCRIPT_READ_MAX);
	pipe = path_join(dir, "pipe");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	arena_init(&a, 8 << 20);
	if (setjmp(a.out) != 0)
		fail_msg("gave up: %s", a.why);
	assert_string_equal(read_one(&a, dir, "good", &why), "echo x\n");
	assert_int_equal(strlen(read_one(&a, dir, "most", &why)), SCRIPT_READ_MAX);
	assert_null(read_one(&a, dir, "big", &why));
	assert_non_null(why);
	/* Nothing is waited for. */
	assert_null(read_one(&a, dir, "pipe", &why));
	assert_non_null(why);
	assert_null(read_one(&a, dir, "program", &why));
	assert_null(why);
	assert_null(read_one(&a, dir, "missing", &why));
	assert_null(why);
	assert_null(read_one(&a, dir, ".", &why));
	assert_null(why);
	/* The system's are not the agent's. */
	assert_null(script_read(&a, "/usr/bin/ldd", &why));
	assert_null(why);
	arena_done(&a);
	free(big);
	for (size_t i = 0; i < 5; i++) {
		static const char *const names[] = {"good", "program", "big", "most", "pipe"};

		free(remove);
		remove = path_join(dir, names[i]);
		(void)unlink(remove);
	}
	(void)rmdir(dir);
}

/* True when the command is pointed out in this directory. */
static bool is_pointed_out(const char *dir, const char *command)
{
	volatile bool found = false;
	struct arena a;
	struct judge j;

	arena_init(&a, JUDGE_MEMORY);
	judge_init(&j, &a, dir, "/home/dev");
	j.getenv = environment;
	j.locked = lock_file_has;
	if (setjmp(a.out) == 0)
		judge_script(&j, command, strlen(command));
	else
		fail_msg("gave up: %s: %s", a.why, command);
	for (unsigned int i = 0; i < j.n_findings; i++)
		found = found || (j.findings[i].severity == SEV_WARN &&
				  j.findings[i].category == CAT_REMOTE_CODE);
	arena_done(&a);
	return found;
}

static void npx_of_what_the_lock_file_does_not_have_is_pointed_out(void **state)
{
	static const char lock[] = "{\"packages\":{\"node_modules/eslint\":{\"bin\":{\"eslint\":"
				   "\"bin/eslint.js\"}},\"node_modules/@scope/tool\":{},"
				   "\"node_modules/typescript\":{\"bin\":{\"tsc\":\"bin/tsc\"}}}}";
	char dir[] = "/tmp/ralph-lock.XXXXXX";
	cleanup_free char *below = NULL;
	struct err err = {0};

	assert_non_null(mkdtemp(dir));
	/* Without a lock file, nobody has read anything. */
	assert_true(is_pointed_out(dir, "npx eslint ."));
	write_file(dir, "package-lock.json", lock, strlen(lock));
	below = path_join(dir, "src");
	assert_int_equal(mkdir(below, 0700), 0);
	assert_false(is_pointed_out(dir, "npx eslint ."));
	assert_false(is_pointed_out(below, "npx --no-install eslint@9 ."));
	assert_false(is_pointed_out(dir, "npx @scope/tool@1.2"));
	assert_false(is_pointed_out(dir, "npx -p typescript tsc"));
	assert_false(is_pointed_out(dir, "npm exec tsc"));
	assert_false(is_pointed_out(dir, "npm test"));
	assert_true(is_pointed_out(dir, "npx eslin"));
	assert_true(is_pointed_out(dir, "npx @scope/other"));
	assert_true(is_pointed_out(below, "cd /tmp; npx eslint"));
	assert_true(is_pointed_out(dir, "npx -y -p evil tsc"));
	assert_true(is_pointed_out(dir, "npx --package=evil tsc"));
	assert_true(is_pointed_out(dir, "pnpm dlx evil"));
	assert_true(is_pointed_out(dir, "env X=1 npx evil@latest"));
	assert_int_equal(path_remove_tree(AT_FDCWD, dir, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_script_on_the_disk_does_is_judged),
		cmocka_unit_test(a_script_is_read_and_nothing_else_is),
		cmocka_unit_test(npx_of_what_the_lock_file_does_not_have_is_pointed_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
