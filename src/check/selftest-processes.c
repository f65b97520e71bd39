/* Rows about processes, privileges and system calls, and the programs an agent needs. */
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "check/selftest.h"

#define STAT_MAX 4096

static void own_namespaces(struct selftest *t, const struct sandbox_spec *spec)
{
	static const char *const names[] = {"ipc", "mnt", "net", "pid", "user", "uts", "cgroup"};
	struct selftest_row *row =
		selftest_add(t, "processes", "namespaces of the host", "own-namespaces");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup_free char *path = xasprintf("/proc/self/ns/%s", names[i]);
		char text[64];
		ssize_t n = readlink(path, text, sizeof(text) - 1);

		/* gVisor has no cgroup namespaces. */
		if (n < 0 || (selftest_own_kernel(spec) && streq(names[i], "cgroup")))
			continue;
		text[n] = '\0';
		strv_push(&row->argv, names[i]);
		strv_push(&row->argv, text);
	}
}

/* This process stands for all of the host; it is known by its number and its time of birth. */
static void host_process(struct selftest *t)
{
	cleanup_strv struct strv fields = {0};
	cleanup_buf struct buf b;
	struct selftest_row *row;
	char *at;

	buf_init(&b, STAT_MAX);
	if (path_read(AT_FDCWD, "/proc/self/stat", &b) < 0)
		return;
	at = strrchr(buf_str(&b), ')');
	if (at)
		strv_split(&fields, at + 1, ' ');
	if (fields.n < 20)
		return;
	row = selftest_add(t, "processes", "processes of the host", "host-process");
	strv_pushf(&row->argv, "%d", (int)getpid());
	strv_push(&row->argv, fields.v[19]);
}

static void limits(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row = selftest_add(t, "processes", "more than the limits", "limits");
	struct rlimit core;

	for (size_t i = 0; i < spec->limits.n_rlimits; i++) {
		strv_pushf(&row->argv, "%d", spec->limits.rlimits[i].resource);
		strv_pushf(&row->argv, "%llu", (unsigned long long)spec->limits.rlimits[i].value);
	}
	/* If the hard limit allows no core file, no core handler can be reached. */
	if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max > 0)
		(void)selftest_add(t, "processes", "a core handler of the host", "crash");
}

void selftest_processes(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row;

	own_namespaces(t, spec);
	host_process(t);
	row = selftest_add(t, "processes", "the guards: pid 1 and the minder", "guards");
	strv_push(&row->argv, "@parent");
	/* With a kernel of its own the guard is outside; those inside hold nothing to be read. */
	if (selftest_own_kernel(spec))
		strv_push(&row->argv, "readable");
	(void)selftest_add(t, "processes", "capabilities", "capabilities");
	(void)selftest_add(t, "processes", "privileges by executing", "no-new-privs");
	(void)selftest_add(t, "processes", "another user", "identity");
	limits(t, spec);
	(void)selftest_add(t, "calls", "dangerous system calls", "refused-calls");
	(void)selftest_add(t, "calls", "new namespaces", "namespaces");
	(void)selftest_add(t, "calls", "typing into terminals", "typing");
	/* Another kernel is asked, and not the host's. */
	if (!selftest_own_kernel(spec))
		(void)selftest_add(t, "calls", "calls of a foreign ABI", "foreign-abis");
	(void)selftest_add(t, "calls", "the user's terminal", "terminal");
	row = selftest_add_work(t, "terminals", "terminals");
	if (selftest_own_kernel(spec))
		strv_push(&row->argv, "no-tty"); /* gVisor cannot open /dev/tty */
}

/* Small things that fail when a tool cannot find its own parts; none needs a network. */
void selftest_programs(struct selftest *t)
{
	static const struct {
		const char *what, *program, *script;
	} all[] = {
		{"git commit", "git",
		 "git init -q . && echo x >f && git add f && git -c user.name=x "
		 "-c user.email=x@example.invalid -c commit.gpgsign=false commit -q -m x && "
		 "git worktree add -q ../w-$$ 2>/dev/null && rm -rf ../w-$$ && git log -1 "
		 "--oneline"},
		{"python3", "python3",
		 "python3 -c 'import json, socket, sqlite3, ssl, subprocess; "
		 "subprocess.run([\"true\"], check=True)'"},
		{"node", "node", "node -e 'require(\"child_process\").execFileSync(\"true\")'"},
		{"npm", "npm",
		 "echo '{\"name\":\"x\",\"version\":\"1.0.0\"}' >package.json && npm pkg get name"},
		{"C compiler", "cc",
		 "echo 'int main(void) { return 0; }' >a.c && cc -o a a.c && ./a"},
		{"C++ compiler", "c++",
		 "echo 'int main() { return 0; }' >a.cc && c++ -o a a.cc && ./a"},
		{"Rust compiler", "rustc", "echo 'fn main() {}' >a.rs && rustc -o a a.rs && ./a"},
		{"Go compiler", "go", "echo 'package a' >a.go && go tool compile -o a.o a.go"},
		{"make", "make", "printf 'a:\\n\\ttouch a\\n' >Makefile && make -s && test -e a"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct selftest_row *row = selftest_add_work(t, all[i].what, "script");

		strv_push(&row->argv, all[i].program);
		strv_push(&row->argv, all[i].script);
	}
}
