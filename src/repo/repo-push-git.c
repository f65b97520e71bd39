#include "repo/repo-push.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/find-program.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/escape.h"
#include "git/tree-path.h"

#define PUSH_MS (15 * 60 * 1000)
#define SAID_MAX (16 * KiB) /* limit of git's output kept for errors */

extern char **environ;

/* Environment variables that git and its helpers need to reach a remote and log in. */
static const char *const passed[] = {
	"HOME",
	"USER",
	"LOGNAME",
	"LANG",
	"TMPDIR",
	"XDG_CONFIG_HOME",
	"XDG_RUNTIME_DIR",
	"SSH_AUTH_SOCK",
	"DBUS_SESSION_BUS_ADDRESS",
	"GNUPGHOME",
	NETWORK_ENV,
	ALL_PROXY_ENV,
	"GIT_SSL_CAINFO",
	"GIT_SSH",
	"GIT_SSH_COMMAND",
	"GIT_CONFIG_GLOBAL",
	"GIT_CONFIG_NOSYSTEM",
	"GIT_CONFIG_SYSTEM",
};

/* Settings that allow only the transport and the login to run programs, and that forbid prompts. */
static const char *const fixed[][2] = {
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.askPass", ""},
	{"credential.interactive", "never"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"push.recurseSubmodules", "no"},
	{"push.followTags", "false"},
};

static void make_env(const struct push *p, struct strv *env)
{
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		const char *value = getenv(passed[i]);

		if (value)
			strv_env_set(env, passed[i], value);
	}
	strv_env_set(env, "PATH", p->path);
	strv_env_set(env, "GIT_TERMINAL_PROMPT", "0");
	strv_env_set(env, "GIT_ASKPASS", "");
	strv_env_set(env, "SSH_ASKPASS", "");
	strv_env_set(env, "SSH_ASKPASS_REQUIRE", "never");
	strv_env_set(env, "GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
	strv_env_set(env, "LC_ALL", "C"); /* ralph parses git's errors */
	strv_pushf(env, "GIT_CONFIG_COUNT=%zu", ARRAY_SIZE(fixed));
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		strv_pushf(env, "GIT_CONFIG_KEY_%zu=%s", i, fixed[i][0]);
		strv_pushf(env, "GIT_CONFIG_VALUE_%zu=%s", i, fixed[i][1]);
	}
}

/* section.sub.key → [section "sub"] key = "value" */
static int put_setting(struct buf *b, const char *name, const char *value)
{
	const char *dot = strchr(name, '.'), *last = strrchr(name, '.');

	(void)buf_printf(b, "[%.*s", (int)(dot - name), name);
	if (last != dot) {
		(void)buf_puts(b, " \"");
		for (const char *p = dot + 1; p < last; p++)
			(void)buf_printf(b, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
		(void)buf_putc(b, '"');
	}
	(void)buf_printf(b, "]\n\t%s = \"", last + 1);
	for (const char *p = value; *p; p++)
		(void)(*p == '\n' ? buf_puts(b, "\\n")
				  : buf_printf(b, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p));
	return buf_puts(b, "\"\n");
}

static int put_file(int dir, const char *name, const char *text)
{
	return path_write_atomic(dir, name, text, strlen(text), 0600, 0);
}

/* Makes an empty repository that borrows the objects: it has none of the user's settings, hooks
 * or references. */
static int make_repository(const struct push *p, int dir)
{
	cleanup_free char *alternates = xasprintf("%s\n", p->objects);
	cleanup_buf struct buf config;
	const char *key;
	json_t *value;
	int r = 0;

	buf_init(&config, 1 * MiB);
	(void)buf_puts(&config, "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
	json_object_foreach ((json_t *)(uintptr_t)p->settings, key, value)
		if (strchr(key, '.'))
			(void)put_setting(&config, key, json_string_value(value));
	if (config.full)
		return -E2BIG;
	if (mkdirat(dir, "objects", 0700) < 0 || mkdirat(dir, "objects/info", 0700) < 0 ||
	    mkdirat(dir, "refs", 0700) < 0)
		return -errno;
	r = put_file(dir, "HEAD", "ref: refs/heads/none\n");
	if (r == 0)
		r = put_file(dir, "config", buf_str(&config));
	if (r == 0)
		r = put_file(dir, "objects/info/alternates", alternates);
	if (r == 0 && p->shallow)
		r = put_file(dir, "shallow", p->shallow);
	return r;
}

struct said {
	struct buf text;
	int out;
};

/* Copies git's output to the user as it arrives, escaped, and keeps its end. */
static void hear(struct said *s, const char *p, size_t n)
{
	cleanup_buf struct buf clean;

	buf_init(&clean, ESCAPE_LONGEST * n + 1);
	/* "clear the line" is for terminals, and git's own. */
	for (const char *clear; (clear = memmem(p, n, "\033[K", 3)); p = clear + 3) {
		(void)buf_put_lines(&clean, p, (size_t)(clear - p));
		n -= (size_t)(clear + 3 - p);
	}
	(void)buf_put_lines(&clean, p, n);
	if (s->out >= 0)
		(void)fd_write_all(s->out, buf_str(&clean), clean.len);
	if (clean.len > SAID_MAX / 2)
		buf_consume(&clean, clean.len - SAID_MAX / 2);
	if (s->text.len + clean.len > SAID_MAX)
		buf_consume(&s->text, s->text.len + clean.len - SAID_MAX);
	(void)buf_append(&s->text, buf_str(&clean), clean.len);
}

static int listen_to(int fd, struct said *s)
{
	uint64_t end = now_ms() + PUSH_MS;
	char chunk[4 * KiB];

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = now_ms();
		ssize_t n;

		if (now >= end)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(end - now)) <= 0)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		if (n > 0)
			hear(s, chunk, (size_t)n);
	}
}

/* Error messages of git, their meaning, and the remedy. */
static const struct {
	const char *says, *what, *remedy;
} remedies[] = {
	{"non-fast-forward", "the remote has commits that this branch does not",
	 "`git pull --rebase` and push again, or push to another branch"},
	{"fetch first", "the remote has commits that this branch does not",
	 "`git pull --rebase` and push again, or push to another branch"},
	{"protected branch", "the remote lets nobody push to this branch",
	 "open a pull request from another branch"},
	{"pre-receive hook declined", "the remote refused it", "what it says stands above"},
	{"could not read Username", "there is no login for the remote",
	 "log in (`gh auth login`, or a credential.helper of git) and push again"},
	{"could not read Password", "there is no login for the remote",
	 "log in (`gh auth login`, or a credential.helper of git) and push again"},
	{"Authentication failed", "the remote does not take the login",
	 "renew it (`gh auth login`, or a credential.helper of git) and push again"},
	{"Permission denied (publickey", "the remote does not take the ssh key",
	 "add it to the agent (`ssh-add`) and push again"},
	{"Host key verification failed", "ssh does not know the remote's host key",
	 "connect to it once by hand"},
	{"Could not resolve host", "the remote's name is not known", "is the network up?"},
	{"Failed to connect", "the remote cannot be reached", "is the network up?"},
	{"Connection refused", "the remote cannot be reached", "is the network up?"},
	{"Connection timed out", "the remote cannot be reached", "is the network up?"},
	{"does not appear to be a git repository", "there is no repository at the remote's URL",
	 "see `git remote -v`"},
	{"Repository not found",
	 "there is no repository at the remote's URL, or not for this login",
	 "see `git remote -v` and `gh auth status`"},
};

static int explain(const struct push *p, struct buf *said, int code, struct err *err)
{
	cleanup_strv struct strv lines = {0};
	cleanup_free char *last = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
		if (strstr(buf_str(said), remedies[i].says)) {
			int r = err_set(err, EIO, "'%s' is not pushed: %s", p->branch,
					remedies[i].what);

			return err_hint(err, r, "%s", remedies[i].remedy);
		}
	strv_split(&lines, buf_str(said), '\n');
	if (lines.n)
		last = gitpath_shown(lines.v[lines.n - 1], strlen(lines.v[lines.n - 1]), 200);
	return err_set(err, EIO, "'%s' is not pushed: git ended with %d%s%s", p->branch, code,
		       last ? ": " : "", last ? last : "");
}

static int run_git(const struct push *p, const char *dir, struct err *err)
{
	cleanup_free char *git_program = path_find_program("git", p->path);
	cleanup_strv struct strv argv = {0}, env = {0};
	struct run run = RUN_INIT;
	struct child git;
	struct said said = {.out = p->progress};
	cleanup_fd int from = -1;
	int pipes[2], r, code;

	if (!git_program)
		return err_set(err, ENOENT, "there is no git on PATH outside of the workspace");
	strv_push(&argv, git_program);
	strv_pushf(&argv, "--git-dir=%s", dir);
	strv_push(&argv, "push");
	strv_push(&argv, p->progress >= 0 ? "--progress" : "--quiet");
	strv_push(&argv, "--no-verify");
	strv_push(&argv, "--");
	strv_push(&argv, p->url);
	strv_pushf(&argv, "%s:refs/heads/%s", p->oid, p->branch);
	make_env(p, &env);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	from = pipes[0];
	run.argv = argv.v;
	run.env = env.v;
	run.dir = dir;
	run.stdio[1] = run.stdio[2] = pipes[1];
	run.flags = RUN_NEW_SESSION | RUN_DIE_WITH_US;
	r = run_start(&run, &git, err);
	(void)close(pipes[1]);
	if (r < 0)
		return r;
	buf_init(&said.text, SAID_MAX + 1);
	r = listen_to(from, &said);
	if (r < 0)
		child_kill(&git, SIGKILL);
	code = run_wait(&git);
	if (r == -ETIMEDOUT)
		r = err_set(err, ETIMEDOUT, "'%s' is not pushed: it took too long", p->branch);
	else if (r < 0)
		r = err_sys(err, -r, "'%s' is not pushed", p->branch);
	else if (code != 0)
		r = explain(p, &said.text, code, err);
	buf_done(&said.text);
	return r;
}

int push_run(const struct push *p, struct err *err)
{
	cleanup_free char *dir = path_join(p->state, "push-XXXXXX");
	struct err ignored;
	int r;

	if (!mkdtemp(dir))
		return err_sys(err, errno, "cannot create '%s'", dir);
	{
		cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		r = fd < 0 ? -errno : make_repository(p, fd);
	}
	r = r < 0 ? err_sys(err, -r, "cannot make a repository in '%s'", dir)
		  : run_git(p, dir, err);
	(void)path_remove_tree(AT_FDCWD, dir, &ignored);
	return r;
}
