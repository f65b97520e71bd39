#include "tests.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/cgroup.h"

static char tree[] = "/tmp/ralph-test-cgroup-XXXXXX";

static void put(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", tree, dir);
	(void)mkdir(path, 0755);
	(void)snprintf(path, sizeof(path), "%s/%s/%s", tree, dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void get(const char *name, char *ret, size_t size)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", tree, name);
	f = fopen(path, "re");
	assert_non_null(f);
	ret[fread(ret, 1, size - 1, f)] = '\0';
	(void)fclose(f);
}

static int make_tree(void **state)
{
	(void)strncpy(tree + sizeof(tree) - 7, "XXXXXX", 7);
	return mkdtemp(tree) ? 0 : -1;
}

static int remove_tree(void **state)
{
	struct err e;

	return path_remove_tree(AT_FDCWD, tree, &e);
}

/* A v2 mount at the tree with one directory per level of "a/b". */
static void level(const char *dir, const char *have, const char *enabled, const char *procs)
{
	put(dir, "cgroup.controllers", have);
	put(dir, "cgroup.subtree_control", enabled);
	put(dir, "cgroup.procs", procs);
	put(dir, "cgroup.type", "domain\n");
}

static void probe(const char *own, bool (*manager)(void), struct cgroup_support *ret)
{
	char cgroup[256], mounts[512];
	struct cgroup_source src = {.proc_cgroup = cgroup, .mountinfo = mounts, .manager = manager};
	struct err e = {0};

	(void)snprintf(cgroup, sizeof(cgroup), "0::%s\n", own);
	(void)snprintf(mounts, sizeof(mounts), "30 20 0:27 / %s rw - cgroup2 cgroup2 rw\n", tree);
	assert_int_equal(cgroup_probe(&src, ret, &e), 0);
}

static bool no_manager(void)
{
	return false;
}

static bool a_manager(void)
{
	return true;
}

static void v2_own_cgroup_with_processes_goes_to_the_parent_that_delegates(void **state)
{
	struct cgroup_support s = {0};
	char want[300];
	char *text;

	level(".", "cpu memory pids\n", "cpu memory pids\n", "");
	level("app", "cpu memory pids\n", "memory pids\n", "");
	level("app/me", "memory pids\n", "", "77\n");
	probe("/app/me", no_manager, &s);
	assert_int_equal(s.method, CGROUP_V2);
	assert_int_equal(s.n_places, 1);
	(void)snprintf(want, sizeof(want), "%s/app", tree);
	assert_string_equal(s.place[0].dir, want);
	text = cgroup_support_text(&s);
	assert_string_equal(text, "cgroup v2 (memory, pids, cpu)");
	free(text);
	cgroup_support_done(&s);
}

static void v2_without_the_pids_controller_is_not_taken(void **state)
{
	struct cgroup_support s = {0};

	level(".", "cpu memory\n", "cpu memory\n", "");
	probe("/", no_manager, &s);
	assert_int_equal(s.method, CGROUP_NONE);
	cgroup_support_done(&s);
}

static void v2_that_cannot_be_had_asks_the_service_manager(void **state)
{
	struct cgroup_support s = {0};
	cleanup_free char *text = NULL;
	char dir[128];

	level(".", "cpu memory pids\n", "", "1\n");
	put("user.slice", "x", "");
	(void)snprintf(dir, sizeof(dir), "user.slice/user-%u.slice", geteuid());
	put(dir, "x", "");
	(void)snprintf(dir, sizeof(dir), "user.slice/user-%u.slice/user@%u.service", geteuid(),
		       geteuid());
	put(dir, "cgroup.controllers", "memory pids\n");
	probe("/", no_manager, &s);
	assert_int_equal(s.method, CGROUP_NONE);
	probe("/", a_manager, &s);
	assert_int_equal(s.method, CGROUP_SCOPE);
	text = cgroup_support_text(&s);
	assert_string_equal(text, "cgroup v2 scope (memory, pids)");
	cgroup_support_done(&s);
}

static void a_process_outside_the_namespace_of_the_mount_gets_none(void **state)
{
	struct cgroup_support s = {0};

	level(".", "cpu memory pids\n", "cpu memory pids\n", "");
	probe("/../other", no_manager, &s);
	assert_int_equal(s.method, CGROUP_NONE);
	cgroup_support_done(&s);
}

static void create_enables_what_is_missing_and_leaves_nothing_when_it_fails(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup_limits l = {.memory = 1 << 20, .pids = 10, .cpu = 100};
	struct cgroup c = {0};
	struct err e = {0};
	char text[128], path[300];

	level(".", "cpu memory pids\n", "memory\n", "");
	probe("/", no_manager, &s);
	assert_int_equal(s.method, CGROUP_V2);
	/* A plain directory has no memory.max, so the limit cannot be set. */
	assert_true(cgroup_create(&s, "ralph-x", &l, &c, &e) < 0);
	assert_non_null(strstr(e.msg, "memory.max"));
	get("cgroup.subtree_control", text, sizeof(text));
	assert_int_equal(strncmp(text, "+pids +cpu", 10), 0);
	(void)snprintf(path, sizeof(path), "%s/ralph-x", tree);
	assert_int_equal(faccessat(AT_FDCWD, path, F_OK, 0), -1);
	cgroup_support_done(&s);
}

static void settings_of_v2_and_v1_hold_the_same_limits(void **state)
{
	struct cgroup_limits l = {.memory = 4096, .pids = 7, .cpu = 150};
	struct cgroup_setting s[CGROUP_SETTINGS_MAX];

	assert_int_equal(cgroup_settings(&l, true, CGROUP_ALL, s), 4);
	assert_string_equal(s[0].file, "memory.max");
	assert_string_equal(s[0].value, "4096");
	assert_string_equal(s[1].file, "memory.swap.max");
	assert_string_equal(s[1].value, "0");
	assert_string_equal(s[3].file, "cpu.max");
	assert_string_equal(s[3].value, "150000 100000");
	assert_int_equal(cgroup_settings(&l, false, CGROUP_CPU | CGROUP_PIDS, s), 3);
	assert_string_equal(s[0].file, "pids.max");
	assert_string_equal(s[2].file, "cpu.cfs_quota_us");
	assert_string_equal(s[2].value, "150000");
}

static void a_name_that_leaves_the_place_is_refused(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup_limits l = {0};
	struct cgroup c = {0};
	struct err e = {0};

	assert_int_equal(cgroup_create(&s, "../x", &l, &c, &e), -EINVAL);
	assert_int_equal(cgroup_create(&s, "", &l, &c, &e), -EINVAL);
	assert_int_equal(cgroup_stale_remove(&s, "..", 0, &e), -EINVAL);
}

static void the_enclosing_memory_limit_is_the_smallest_above(void **state)
{
	char cgroup[] = "0::/a/b\n", mounts[512];
	struct cgroup_source src = {.proc_cgroup = cgroup, .mountinfo = mounts};

	(void)snprintf(mounts, sizeof(mounts), "30 20 0:27 / %s rw - cgroup2 cgroup2 rw\n", tree);
	put("a", "memory.max", "1000000\n");
	put("a/b", "memory.max", "max\n");
	assert_int_equal(cgroup_memory_limit(&src), 1000000);
}

static void a_mount_of_a_subtree_is_read_from_its_root(void **state)
{
	char cgroup[] = "5:memory:/box/1\n", mounts[512], want[300];
	struct cgroup_source src = {.proc_cgroup = cgroup, .mountinfo = mounts};
	struct cgroup_support s = {0};
	struct err e = {0};

	(void)snprintf(mounts, sizeof(mounts),
		       "30 20 0:27 /box %s rw shared:3 - cgroup cgroup rw,memory\n", tree);
	put("1", "cgroup.procs", "");
	assert_int_equal(cgroup_probe(&src, &s, &e), 0);
	assert_int_equal(s.method, CGROUP_V1);
	(void)snprintf(want, sizeof(want), "%s/1", tree);
	assert_string_equal(s.place[0].dir, want);
	cgroup_support_done(&s);
}

/* The tests from here on need cgroups that limits can be set in. */
static char unit_name[64];

static bool real(struct cgroup_support *s)
{
	struct err e = {0};

	(void)snprintf(unit_name, sizeof(unit_name), "ralph-unit-%d", (int)getpid());
	assert_int_equal(cgroup_probe(NULL, s, &e), 0);
	if (s->method == CGROUP_V1 || s->method == CGROUP_V2)
		return (s->controllers & (CGROUP_MEMORY | CGROUP_PIDS)) ==
		       (CGROUP_MEMORY | CGROUP_PIDS);
	cgroup_support_done(s);
	return false;
}

static int run_inside(const struct cgroup *c, int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (size_t i = 0; i < c->n; i++)
			if (write(c->at[i].enter, "0", 1) != 1)
				_exit(99);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int balloon(void)
{
	volatile char *p =
		mmap(NULL, 256 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < 256 * MiB; i += 4096)
		p[i] = 1;
	return 0;
}

static int count_forks(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return i;
		if (pid == 0)
			for (;;)
				(void)pause();
	}
	return 20;
}

static void create(const struct cgroup_support *s, struct cgroup_limits l, struct cgroup *c)
{
	struct err e = {0};

	if (cgroup_create(s, unit_name, &l, c, &e) < 0)
		fail_msg("%s", e.msg);
}

static void destroy(struct cgroup *c, const struct cgroup_support *s)
{
	struct err e = {0};
	char path[600];

	assert_int_equal(cgroup_kill(c, 2000), 0);
	assert_int_equal(cgroup_remove(c, 2000, &e), 0);
	assert_int_equal(cgroup_remove(c, 2000, &e), 0);
	for (size_t i = 0; i < s->n_places; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", s->place[i].dir, unit_name);
		assert_int_equal(faccessat(AT_FDCWD, path, F_OK, 0), -1);
	}
	cgroup_done(c);
}

static void a_memory_balloon_dies_at_the_limit(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup c = {0};

	if (!real(&s))
		skip();
	create(&s, (struct cgroup_limits){.memory = 32 * MiB, .pids = 100}, &c);
	assert_int_equal(run_inside(&c, balloon), 128 + SIGKILL);
	destroy(&c, &s);
	cgroup_support_done(&s);
}

static void a_fork_bomb_is_refused_at_the_limit_and_killed_whole(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup c = {0};

	if (!real(&s))
		skip();
	create(&s, (struct cgroup_limits){.memory = 64 * MiB, .pids = 5}, &c);
	assert_int_equal(run_inside(&c, count_forks), 4);
	destroy(&c, &s); /* its orphans still run: remove works only when kill did */
	cgroup_support_done(&s);
}

static void what_a_crash_left_is_found_by_name_and_removed(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup c = {0}, again = {0};
	struct cgroup_limits l = {.pids = 5};
	struct err e = {0};

	if (!real(&s))
		skip();
	create(&s, l, &c);
	assert_int_equal(run_inside(&c, count_forks), 4);
	assert_int_equal(cgroup_create(&s, unit_name, &l, &again, &e), -EEXIST);
	assert_int_equal(cgroup_stale_remove(&s, unit_name, 2000, &e), 0);
	assert_int_equal(cgroup_stale_remove(&s, unit_name, 2000, &e), 0);
	destroy(&c, &s);
	cgroup_support_done(&s);
}

static void an_empty_one_of_the_same_name_is_taken_over(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup c = {0}, again = {0};
	struct cgroup_limits l = {.pids = 5};

	if (!real(&s))
		skip();
	create(&s, l, &c);
	create(&s, l, &again);
	destroy(&again, &s);
	cgroup_done(&c);
	cgroup_support_done(&s);
}

/* A place of the second version, without controllers, which may lie beside those of the first. */
static bool unified(struct cgroup_support *ret)
{
	static const char *const dirs[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (statfs(dirs[i], &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
		    faccessat(AT_FDCWD, dirs[i], W_OK, 0) < 0)
			continue;
		*ret = (struct cgroup_support){.method = CGROUP_V2, .n_places = 1};
		ret->place[0] = (struct cgroup_place){.dir = xstrdup(dirs[i]), .v2 = true};
		return true;
	}
	return false;
}

static bool is_there(const struct cgroup_support *s, const char *name)
{
	cleanup_free char *path = path_join(s->place[0].dir, name);

	return faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

/* It is inside when this returns. */
static pid_t sleeper(const struct cgroup *c)
{
	int ready[2];
	pid_t pid;
	char x;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (c && write(c->at[0].enter, "0", 1) != 1)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &x, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void one_made_ahead_is_taken_by_its_supervisor_and_swept_when_that_has_ended(void **state)
{
	struct cgroup_support s = {0};
	struct cgroup own = {0}, others = {0}, taken = {0};
	const struct cgroup_limits none = {0};
	cleanup_free char *own_name = cgroup_ahead_name(getpid()), *other_name = NULL;
	pid_t supervisor, inside;
	struct err e = {0};

	if (!unified(&s))
		skip();
	supervisor = sleeper(NULL);
	other_name = cgroup_ahead_name(supervisor);
	assert_int_equal(cgroup_create(&s, own_name, &none, &own, &e), 0);
	assert_int_equal(cgroup_create(&s, other_name, &none, &others, &e), 0);
	assert_int_equal(cgroup_take(&s, own_name, &none, &taken, &e), 0);
	assert_true(cgroup_clone_fd(&taken) >= 0);
	cgroup_ahead_sweep(&s);
	assert_true(is_there(&s, own_name) && is_there(&s, other_name));

	/* Its supervisor has ended: it stays as long as somebody lives in it. */
	inside = sleeper(&others);
	end(supervisor);
	cgroup_ahead_sweep(&s);
	assert_true(is_there(&s, other_name));
	end(inside);
	cgroup_ahead_sweep(&s);
	assert_true(is_there(&s, own_name));
	assert_false(is_there(&s, other_name));
	assert_int_equal(cgroup_remove(&taken, 2000, &e), 0);
	assert_int_equal(cgroup_take(&s, own_name, &none, &taken, &e), -ENOENT);
	cgroup_done(&taken);
	cgroup_done(&own);
	cgroup_done(&others);
	cgroup_support_done(&s);
}

static void nothing_is_made_ahead_where_no_cgroup_can_be_had_or_a_manager_makes_it(void **state)
{
	char mounts[512], dir[128];
	struct cgroup_source src = {.proc_cgroup = (char *)(uintptr_t) "0::/\n",
				    .mountinfo = mounts,
				    .manager = no_manager};
	struct cgroup c = {0};
	struct err e = {0};

	(void)snprintf(mounts, sizeof(mounts), "30 20 0:27 / %s rw - cgroup2 cgroup2 rw\n", tree);
	level(".", "cpu memory pids\n", "", "1\n");
	assert_int_equal(cgroup_ahead(&src, getpid(), &c, &e), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(cgroup_clone_fd(&c), -1);
	put("user.slice", "x", "");
	(void)snprintf(dir, sizeof(dir), "user.slice/user-%u.slice", geteuid());
	put(dir, "x", "");
	(void)snprintf(dir, sizeof(dir), "user.slice/user-%u.slice/user@%u.service", geteuid(),
		       geteuid());
	put(dir, "cgroup.controllers", "memory pids\n");
	src.manager = a_manager;
	assert_int_equal(cgroup_ahead(&src, getpid(), &c, &e), -ENOTSUP);
}

static void scope_arguments_hold_the_limits_and_end_with_dashes(void **state)
{
	struct cgroup_limits l = {.memory = 4096, .pids = 7, .cpu = 150};
	cleanup_strv struct strv v = {0};

	cgroup_scope_argv("ralph-x", &l, &v);
	assert_true(strv_has(&v, "--unit=ralph-x"));
	assert_true(strv_has(&v, "--property=MemoryMax=4096"));
	assert_true(strv_has(&v, "--property=TasksMax=7"));
	assert_true(strv_has(&v, "--property=CPUQuota=150%"));
	assert_string_equal(v.v[v.n - 1], "--");
}

#define WITH_TREE(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(v2_own_cgroup_with_processes_goes_to_the_parent_that_delegates),
		WITH_TREE(v2_without_the_pids_controller_is_not_taken),
		WITH_TREE(v2_that_cannot_be_had_asks_the_service_manager),
		WITH_TREE(a_process_outside_the_namespace_of_the_mount_gets_none),
		WITH_TREE(create_enables_what_is_missing_and_leaves_nothing_when_it_fails),
		WITH_TREE(the_enclosing_memory_limit_is_the_smallest_above),
		WITH_TREE(a_mount_of_a_subtree_is_read_from_its_root),
		WITH_TREE(nothing_is_made_ahead_where_no_cgroup_can_be_had_or_a_manager_makes_it),
		cmocka_unit_test(
			one_made_ahead_is_taken_by_its_supervisor_and_swept_when_that_has_ended),
		cmocka_unit_test(settings_of_v2_and_v1_hold_the_same_limits),
		cmocka_unit_test(a_name_that_leaves_the_place_is_refused),
		cmocka_unit_test(scope_arguments_hold_the_limits_and_end_with_dashes),
		cmocka_unit_test(a_memory_balloon_dies_at_the_limit),
		cmocka_unit_test(a_fork_bomb_is_refused_at_the_limit_and_killed_whole),
		cmocka_unit_test(what_a_crash_left_is_found_by_name_and_removed),
		cmocka_unit_test(an_empty_one_of_the_same_name_is_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
