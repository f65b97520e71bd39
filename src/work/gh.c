#include "work/gh.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/find-program.h"
#include "base/path.h"
#include "base/proc.h"
#include "work/text.h"
#include "spec/host-env.h"

#define GH_MS (90 * 1000)
#define ANSWER_MAX (32 * MiB)
#define COMPLAINT_MAX (16 * KiB)

/* Environment variables from which gh reads its login, its hosts and its proxies. */
static const char *const passed[] = {
	"HOME",
	"XDG_CONFIG_HOME",
	"XDG_STATE_HOME",
	"XDG_DATA_HOME",
	"XDG_RUNTIME_DIR",
	"GH_CONFIG_DIR",
	"GH_HOST",
	"GH_TOKEN",
	"GITHUB_TOKEN",
	"GH_ENTERPRISE_TOKEN",
	"GITHUB_ENTERPRISE_TOKEN",
	"DBUS_SESSION_BUS_ADDRESS",
	NETWORK_ENV,
};

static bool repo_part(const char *p, size_t n)
{
	if (n == 0 || n > 100 || p[0] == '-' || p[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && !strchr("-_.", p[i]))
			return false;
	return true;
}

bool gh_repo_valid(const char *repo)
{
	unsigned parts = 0;

	for (;; repo++) {
		size_t n = strcspn(repo, "/");

		if (!repo_part(repo, n))
			return false;
		parts++;
		repo += n;
		if (!*repo)
			return parts == 2 || parts == 3;
	}
}

char *gh_repo_of(const char *url)
{
	const char *scheme = strstr(url, "://"), *p = scheme ? scheme + 3 : url;
	const char *at = strpbrk(p, "@/"), *rest;
	cleanup_free char *host = NULL, *path = NULL;
	size_t n;
	char *repo;

	if (at && *at == '@')
		p = at + 1;
	rest = strpbrk(p, scheme ? ":/" : ":");
	if (!rest)
		return NULL;
	host = xstrndup(p, (size_t)(rest - p));
	if (scheme && *rest == ':') /* a port */
		rest = strchr(rest, '/');
	if (!rest)
		return NULL;
	path = xstrdup(rest + 1);
	n = strlen(path);
	while (n && path[n - 1] == '/')
		path[--n] = '\0';
	if (n > 4 && streq(path + n - 4, ".git"))
		path[n - 4] = '\0';
	repo = streq(host, "github.com") ? take_ptr(path) : xasprintf("%s/%s", host, path);
	if (gh_repo_valid(repo))
		return repo;
	free(repo);
	return NULL;
}

int gh_run_init(const char *workspace, const char *repo, struct gh_run *ret, struct err *err)
{
	const char *path = getenv("PATH");
	cleanup_free char *outside =
		host_path_outside(&workspace, 1, path ? path : "/usr/bin:/bin");
	char *program = path_find_program("gh", outside);

	if (!program)
		return err_usage(err, "there is no gh on PATH (outside the workspace); install the "
				      "GitHub CLI and run 'gh auth login'");
	*ret = (struct gh_run){.program = program, .repo = xstrdup(repo)};
	return 0;
}

void gh_run_done(struct gh_run *g)
{
	free(g->program);
	free(g->repo);
	*g = (struct gh_run){0};
}

static void clean_environ(struct strv *env)
{
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		const char *value = getenv(passed[i]);

		if (value)
			strv_pushf(env, "%s=%s", passed[i], value);
	}
	strv_push(env, "PATH=/usr/local/bin:/usr/bin:/bin");
	strv_push(env, "LC_ALL=C.UTF-8");
	strv_push(env, "TERM=dumb");
	strv_push(env, "NO_COLOR=1");
	strv_push(env, "GH_PAGER=cat");
	strv_push(env, "GH_PROMPT_DISABLED=1");
	strv_push(env, "GH_NO_UPDATE_NOTIFIER=1");
}

/* Returns the first line of gh's error output. */
static char *complaint(int fd)
{
	cleanup_buf struct buf b;

	buf_init(&b, COMPLAINT_MAX);
	if (lseek(fd, 0, SEEK_SET) == 0)
		(void)fd_read_all(fd, &b);
	return text_short(buf_str(&b), strcspn(buf_str(&b), "\n"), 200);
}

static int failed(const struct gh_run *g, int code, int errors, struct err *err)
{
	cleanup_free char *why = complaint(errors);
	int r = err_set(err, EIO, "gh failed for %s (exit %d): %s", g->repo, code, why);

	if (code == 4)
		return err_hint(err, r, "run 'gh auth login'");
	if (strstr(why, "not found"))
		return err_hint(err, r, "are the labels there? 'gh label create NAME'");
	return r;
}

int gh_issue(const struct gh_run *g, const char *const *args, const struct buf *input, json_t **ret,
	     struct err *err)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	cleanup_fd int in = -1, errors = memfd_create("gh", MFD_CLOEXEC);
	cleanup_free char *text = NULL;
	struct run run = RUN_INIT;
	int code = 0, r;

	if (input)
		in = fd_memfd("body", input->data ? input->data : "", input->len);
	if (errors < 0 || (input && in < 0))
		return err_sys(err, errors < 0 ? errno : -in, "cannot make a memory file");
	strv_push(&argv, g->program);
	strv_push(&argv, "issue");
	for (; *args; args++)
		strv_push(&argv, *args);
	strv_push(&argv, "--repo");
	strv_push(&argv, g->repo);
	clean_environ(&env);
	run.argv = argv.v;
	run.env = env.v;
	run.dir = "/";
	run.stdio[0] = in;
	run.stdio[2] = errors;
	run.flags = RUN_NEW_SESSION | RUN_DIE_WITH_US;
	r = run_collect(&run, GH_MS, ANSWER_MAX, &text, &code, err);
	if (r < 0)
		return r;
	if (code != 0)
		return failed(g, code, errors, err);
	if (!ret)
		return 0;
	r = json_parse(text, strlen(text), ret, err);
	return r < 0 ? err_wrap(err, r, "gh's answer about %s", g->repo) : 0;
}
