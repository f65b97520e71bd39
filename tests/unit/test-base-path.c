#include "tree.h"

#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/fd.h"

static int open_tree(void)
{
	int fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Another process, which acts at the n-th open of "closed": it puts a link to ../outside there,
 * and the open has found a directory that is closed to its owner. */
static unsigned swap_at;

static bool swap_now(int dirfd, const char *name)
{
	if (!streq(name, "closed") || swap_at == 0 || --swap_at > 0)
		return false;
	assert_int_equal(renameat(dirfd, name, dirfd, "elsewhere"), 0);
	assert_int_equal(symlinkat("../outside", dirfd, name), 0);
	errno = EACCES;
	return true;
}

int openat64(int dirfd, const char *name, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (swap_now(dirfd, name))
		return -1;
	return (int)syscall(SYS_openat, dirfd, name, flags, mode);
}

static void path_under_is_equal_or_below_by_whole_components(void **state)
{
	assert_true(path_under("/a/b", "/a"));
	assert_true(path_under("/a", "/a"));
	assert_true(path_under("/a", "/"));
	assert_false(path_under("/ab", "/a"));
	assert_false(path_under("/", "/a"));
}

static void path_is_normal_refuses_what_could_lead_elsewhere(void **state)
{
	static const char *const bad[] = {"",	   "a",	     "./a",   "/a/", "//a",
					  "/a//b", "/a/./b", "/a/..", "/..", "/."};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(path_is_normal(bad[i]));
	assert_true(path_is_normal("/"));
	assert_true(path_is_normal("/a/..b/.c"));
}

static void path_join_and_dir_and_base_fit_together(void **state)
{
	cleanup_free char *a = path_join("/a", "b"), *b = path_join("/", "b");
	cleanup_free char *c = path_join("/a", "/b"), *d = path_dir("/a/b"), *e = path_dir("/a");

	assert_string_equal(a, "/a/b");
	assert_string_equal(b, "/b");
	assert_string_equal(c, "/b");
	assert_string_equal(d, "/a");
	assert_string_equal(e, "/");
	assert_string_equal(path_base("/a/b"), "b");
}

static void path_plain_takes_dots_by_their_text(void **state)
{
	static const struct {
		const char *path, *plain;
	} rows[] = {
		{"x", "/a/b/x"},
		{"./x/.", "/a/b/x"},
		{"../x", "/a/x"},
		{"", "/a/b"},
		{"..", "/a"},
		{"../..", "/"},
		{"../../../../x", "/x"},
		{"/", "/"},
		{"/x//y/", "/x/y"},
		{"x/../../y", "/a/y"},
		{"/x/..", "/"},
		{"..x", "/a/b/..x"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *plain = path_plain("/a/b", rows[i].path);

		assert_string_equal(plain, rows[i].plain);
	}
	assert_true(path_leads_out("/ws/link/x", "/etc/x", "/ws"));
	assert_false(path_leads_out("/ws/link/x", "/ws/y/x", "/ws"));
	assert_false(path_leads_out("/etc/x", "/etc/x", "/ws"));
}

static void path_open_beneath_does_not_leave_its_directory(void **state)
{
	static const char *const bad[] = {"../x", "/etc/passwd", "in/../../x",
					  "link", "linked/file", "in/up/file"};
	cleanup_fd int dir = -1, ok = -1;

	tree_file("root/in/file", 0644, "x");
	tree_file("x", 0644, "x");
	tree_link("root/link", "in/file");
	tree_link("root/linked", "in");
	tree_link("root/in/up", "..");
	ok = open_tree();
	dir = openat(ok, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	closep(&ok);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int fd = path_open_beneath(dir, bad[i], O_RDONLY, 0);

		if (fd >= 0 || (fd != -EXDEV && fd != -ELOOP))
			fail_msg("'%s' gave %d", bad[i], fd);
	}
	ok = path_open_beneath(dir, "in/file", O_RDONLY, 0);
	assert_true(ok >= 0);
	assert_true(fcntl(ok, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(path_open_beneath(dir, "none", O_RDONLY, 0), -ENOENT);
}

static void path_private_dir_takes_only_our_own_closed_directory(void **state)
{
	cleanup_free char *good = tree_path("good"), *open_ = tree_path("open");
	cleanup_free char *link = tree_path("link"), *file = tree_path("file");
	struct err e;
	struct stat st;

	assert_int_equal(path_private_dir(good, &e), 0);
	assert_int_equal(stat(good, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(path_private_dir(good, &e), 0);
	tree_dir("open");
	assert_int_equal(chmod(open_, 0750), 0);
	assert_int_equal(path_private_dir(open_, &e), -EPERM);
	tree_link("link", good);
	assert_int_equal(path_private_dir(link, &e), -ENOTDIR);
	tree_file("file", 0600, "");
	assert_int_equal(path_private_dir(file, &e), -ENOTDIR);
}

static void path_write_atomic_replaces_and_leaves_no_temporary_file(void **state)
{
	cleanup_fd int dir = open_tree();
	cleanup_free char *elsewhere = tree_path("elsewhere");
	cleanup_buf struct buf b;
	struct stat st;

	buf_init(&b, 64);
	tree_file("elsewhere", 0644, "kept");
	tree_link("f", elsewhere);
	assert_int_equal(path_write_atomic(dir, "f", "new", 3, 0600, PATH_WRITE_SYNC), 0);
	assert_int_equal(path_read(dir, "f", &b), 0);
	assert_string_equal(buf_str(&b), "new");
	assert_int_equal(fstatat(dir, "f", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	buf_clear(&b);
	assert_int_equal(path_read(dir, "elsewhere", &b), 0);
	assert_string_equal(buf_str(&b), "kept");
	assert_int_equal(path_write_atomic(dir, "no/such", "x", 1, 0600, 0), -ENOENT);
	assert_int_equal(unlinkat(dir, "f", 0), 0);
	assert_int_equal(unlinkat(dir, "elsewhere", 0), 0);
}

static void path_read_more_than_its_buffer_is_an_error(void **state)
{
	cleanup_fd int dir = open_tree();
	cleanup_buf struct buf b;

	tree_file("f", 0644, "12345");
	buf_init(&b, 5);
	assert_int_equal(path_read(dir, "f", &b), 0);
	buf_done(&b);
	buf_init(&b, 4);
	assert_int_equal(path_read(dir, "f", &b), -ENOBUFS);
}

static void path_remove_tree_follows_no_link(void **state)
{
	cleanup_free char *kept = tree_path("kept");
	cleanup_fd int dir = open_tree();
	struct stat st;
	struct err e;

	tree_file("kept/file", 0644, "x");
	tree_link("t/link", kept);
	tree_link("t/dangling", "nowhere");
	tree_link("alone", kept);
	assert_int_equal(path_remove_tree(dir, "t", &e), 0);
	assert_int_equal(path_remove_tree(dir, "alone", &e), 0);
	assert_int_equal(fstatat(dir, "t", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(dir, "kept/file", &st, 0), 0);
}

static void path_remove_tree_opens_what_its_owner_closed(void **state)
{
	cleanup_fd int dir = open_tree();
	struct stat st;
	struct err e;

	tree_file("t/a/b/file", 0000, "x");
	tree_file("t/ro/file", 0400, "x");
	tree_dir("t/-dash/ space\n");
	assert_int_equal(fchmodat(dir, "t/a/b", 0000, 0), 0);
	assert_int_equal(fchmodat(dir, "t/a", 0100, 0), 0);
	assert_int_equal(fchmodat(dir, "t/ro", 0500, 0), 0);
	assert_int_equal(fchmodat(dir, "t", 0000, 0), 0);
	assert_int_equal(path_remove_tree(dir, "t", &e), 0);
	assert_int_equal(fstatat(dir, "t", &st, AT_SYMLINK_NOFOLLOW), -1);
}

static void path_remove_tree_changes_no_mode_behind_a_link_that_appears(void **state)
{
	cleanup_fd int dir = open_tree();
	struct stat st;
	struct err e;

	tree_file("outside", 0644, "x");
	for (unsigned n = 1; n <= 3; n++) {
		tree_file("t/closed/file", 0600, "x");
		swap_at = n;
		(void)path_remove_tree(dir, "t", &e);
		swap_at = 0;
		assert_int_equal(fstatat(dir, "outside", &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
		assert_int_equal(path_remove_tree(dir, "t", &e), 0);
	}
}

static void path_open_up_opens_directories_only(void **state)
{
	cleanup_fd int dir = open_tree();
	struct stat st;

	tree_file("file", 0644, "x");
	tree_dir("d");
	tree_link("to-file", "file");
	tree_link("to-dir", "d");
	assert_int_equal(fchmodat(dir, "d", 0000, 0), 0);
	assert_true(path_open_up(dir, "to-file") < 0);
	assert_true(path_open_up(dir, "to-dir") < 0);
	assert_true(path_open_up(dir, "file") < 0);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(fstatat(dir, "d", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0000);
	assert_int_equal(path_open_up(dir, "d"), 0);
	assert_int_equal(fstatat(dir, "d", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void path_read_follows_no_link_below_a_directory(void **state)
{
	cleanup_free char *link = tree_path("link");
	cleanup_fd int dir = open_tree();
	cleanup_buf struct buf b;

	buf_init(&b, KiB);
	tree_file("file", 0644, "x");
	tree_link("link", "file");
	assert_int_equal(path_read(dir, "link", &b), -ELOOP);
	assert_int_equal(path_read(dir, "file", &b), 0);
	assert_int_equal(path_read(AT_FDCWD, link, &b), 0);
}

/* With branches on the way, names that the removal itself would choose, and few descriptors. */
static void path_remove_tree_goes_as_deep_as_it_is(void **state)
{
	struct rlimit old, few = {128, 128};
	cleanup_fd int dir = open_tree(), at = -1;
	struct stat st;
	struct err e;

	assert_int_equal(mkdirat(dir, "t", 0700), 0);
	assert_int_equal(mkdirat(dir, "t/.removed-0", 0700), 0);
	assert_int_equal(mkdirat(dir, "t/.removed-0/x", 0700), 0);
	at = openat(dir, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < 3000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		assert_int_equal(mkdirat(at, "side", 0000), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		if (i % 100 == 70)
			assert_int_equal(fchmod(at, 0500), 0);
		closep(&at);
		at = next;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(path_remove_tree(dir, "t", &e), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(fstatat(dir, "t", &st, AT_SYMLINK_NOFOLLOW), -1);
}

static void path_remove_tree_of_nothing_is_no_error(void **state)
{
	cleanup_fd int dir = open_tree();
	struct err e;

	assert_int_equal(path_remove_tree(dir, "none", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_under_is_equal_or_below_by_whole_components),
		cmocka_unit_test(path_is_normal_refuses_what_could_lead_elsewhere),
		cmocka_unit_test(path_join_and_dir_and_base_fit_together),
		cmocka_unit_test(path_plain_takes_dots_by_their_text),
		WITH_TREE(path_open_beneath_does_not_leave_its_directory),
		WITH_TREE(path_private_dir_takes_only_our_own_closed_directory),
		WITH_TREE(path_write_atomic_replaces_and_leaves_no_temporary_file),
		WITH_TREE(path_read_more_than_its_buffer_is_an_error),
		WITH_TREE(path_remove_tree_follows_no_link),
		WITH_TREE(path_remove_tree_opens_what_its_owner_closed),
		WITH_TREE(path_remove_tree_changes_no_mode_behind_a_link_that_appears),
		WITH_TREE(path_open_up_opens_directories_only),
		WITH_TREE(path_read_follows_no_link_below_a_directory),
		WITH_TREE(path_remove_tree_goes_as_deep_as_it_is),
		WITH_TREE(path_remove_tree_of_nothing_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
