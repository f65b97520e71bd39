#include "hook/paths.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/shell/mark-match.h"
#include "policy/protect.h"

#define PATH_LEN_MAX 4096 /* a longer text is not a path */
#define PARTS_MAX 256
#define GLOBS_MAX 500 /* arguments with globs; each is compared with every rule */

struct path_rule {
	unsigned int class;
	const char *pattern; /* ~ is the home */
};

/* clang-format off */
static const struct path_rule rules[] = {
	{PATH_DEVICE, "/dev/sd*"}, {PATH_DEVICE, "/dev/hd*"}, {PATH_DEVICE, "/dev/vd*"}, {PATH_DEVICE, "/dev/xvd*"},
	{PATH_DEVICE, "/dev/nvme*"}, {PATH_DEVICE, "/dev/mmcblk*"}, {PATH_DEVICE, "/dev/md*"}, {PATH_DEVICE, "/dev/dm-*"},
	{PATH_DEVICE, "/dev/mapper/**"}, {PATH_DEVICE, "/dev/disk/**"}, {PATH_DEVICE, "/dev/loop*"}, {PATH_DEVICE, "/dev/mem"},
	{PATH_DEVICE, "/dev/kmem"}, {PATH_DEVICE, "/dev/port"}, {PATH_DEVICE, "/dev/disk*"}, {PATH_DEVICE, "/dev/rdisk*"},
	{PATH_CRED, "**/.ssh"}, {PATH_CRED, "**/.ssh/**"}, {PATH_CRED, "**/id_rsa"}, {PATH_CRED, "**/id_ed25519"},
	{PATH_CRED, "**/id_ecdsa"}, {PATH_CRED, "**/id_dsa"},
	{PATH_CRED, "**/.aws"}, {PATH_CRED, "**/.aws/**"},
	{PATH_CRED, "**/.config/gcloud/**"}, {PATH_CRED, "**/.azure/**"}, {PATH_CRED, "**/.kube/config"},
	{PATH_CRED, "**/.docker/config.json"}, {PATH_CRED, "**/.netrc"}, {PATH_CRED, "**/_netrc"}, {PATH_CRED, "~/.npmrc"},
	{PATH_CRED, "**/.pypirc"}, {PATH_CRED, "**/.git-credentials"}, {PATH_CRED, "**/.config/gh/hosts.yml"},
	{PATH_CRED, "**/.config/git/credentials"}, {PATH_CRED, "**/.gnupg/**"}, {PATH_CRED, "**/.gnupg"}, {PATH_CRED, "**/.password-store/**"},
	{PATH_CRED, "/etc/shadow*"}, {PATH_CRED, "/etc/gshadow*"}, {PATH_CRED, "/etc/sudoers"}, {PATH_CRED, "/etc/sudoers.d/**"},
	{PATH_CRED, "/etc/ssl/private/**"}, {PATH_CRED, "/etc/ssh/ssh_host_*_key"}, {PATH_CRED, "/proc/*/environ"}, {PATH_CRED, "/proc/*/mem"},
	{PATH_CRED, "/run/secrets/**"}, {PATH_CRED, "/var/run/secrets/**"}, {PATH_CRED, "**/.local/state/ralph/**"},
	{PATH_CRED, "**/.config/google-chrome/**"}, {PATH_CRED, "**/.config/chromium/**"}, {PATH_CRED, "**/.mozilla/firefox/**"},
	{PATH_CRED, "**/.vault-token"}, {PATH_CRED, "**/.terraform.d/credentials*"}, {PATH_CRED, "**/.cargo/credentials*"},
	{PATH_CRED, "**/.m2/settings.xml"}, {PATH_CRED, "**/.pgpass"}, {PATH_CRED, "**/.my.cnf"}, {PATH_CRED, "**/.local/share/keyrings/**"},
	{PATH_CRED, "**/.config/op/**"}, {PATH_CRED, "**/.gem/credentials"},
	{PATH_CRED, "**/.config/rclone/rclone.conf"}, {PATH_CRED, "**/.s3cfg"}, {PATH_CRED, "**/.boto"},
	{PATH_TRUSTED, "~/.bashrc"}, {PATH_TRUSTED, "~/.bash_profile"}, {PATH_TRUSTED, "~/.bash_login"}, {PATH_TRUSTED, "~/.bash_aliases"},
	{PATH_TRUSTED, "~/.bash_logout"}, {PATH_TRUSTED, "~/.profile"}, {PATH_TRUSTED, "~/.zshrc"}, {PATH_TRUSTED, "~/.zshenv"},
	{PATH_TRUSTED, "~/.zprofile"}, {PATH_TRUSTED, "~/.zlogin"}, {PATH_TRUSTED, "~/.kshrc"}, {PATH_TRUSTED, "~/.inputrc"},
	{PATH_TRUSTED, "~/.config/fish/**"}, {PATH_TRUSTED, "~/.vimrc"}, {PATH_TRUSTED, "~/.config/nvim/**"}, {PATH_TRUSTED, "~/.emacs*"},
	{PATH_TRUSTED, "~/.gitconfig"}, {PATH_TRUSTED, "~/.config/git/**"}, {PATH_TRUSTED, "~/.npmrc"}, {PATH_TRUSTED, "~/.ssh/**"},
	{PATH_TRUSTED, "~/.ssh"}, {PATH_TRUSTED, "~/.pam_environment"}, {PATH_TRUSTED, "~/.xinitrc"}, {PATH_TRUSTED, "~/.xprofile"},
	{PATH_TRUSTED, "~/.config/systemd/**"}, {PATH_TRUSTED, "~/.config/autostart/**"}, {PATH_TRUSTED, "~/.config/environment.d/**"},
	{PATH_TRUSTED, "~/.local/share/systemd/**"}, {PATH_TRUSTED, "~/.local/bin/**"}, {PATH_TRUSTED, "~/bin/**"},
	{PATH_TRUSTED, "~/.local/share/applications/**"}, {PATH_TRUSTED, "~/Library/LaunchAgents/**"}, {PATH_TRUSTED, "~/.config/ralph/**"},
	{PATH_TRUSTED, "~/.config/pip/**"}, {PATH_TRUSTED, "~/.aws/**"}, {PATH_TRUSTED, "~/.kube/**"}, {PATH_TRUSTED, "~/.docker/**"},
	{PATH_TRUSTED, "~/.gnupg/**"}, {PATH_TRUSTED, "~/.tmux.conf"}, {PATH_TRUSTED, "~/.curlrc"}, {PATH_TRUSTED, "~/.wgetrc"},
	{PATH_TRUSTED, "**/.git/hooks/**"}, {PATH_TRUSTED, "**/.git/config"}, {PATH_TRUSTED, "**/.git/info/attributes"},
	{PATH_TRUSTED, "**/.claude/settings*.json"}, {PATH_TRUSTED, "**/.claude/hooks/**"}, {PATH_TRUSTED, "**/.mcp.json"},
	{PATH_TRUSTED, "**/.ralph/config.yaml"}, {PATH_TRUSTED, "**/.ralph/state/**"}, {PATH_TRUSTED, "**/.ralph/active"},
	{PATH_TRUSTED, "/etc/**"}, {PATH_TRUSTED, "/var/spool/cron/**"},
	{PATH_GITDIR, "**/.git"}, {PATH_GITDIR, "**/.git/*"}, {PATH_GITDIR, "**/.git/objects/**"}, {PATH_GITDIR, "**/.git/refs/**"},
	{PATH_LOG, "/var/log/**"}, {PATH_LOG, "/var/log"}, {PATH_LOG, "~/.bash_history"}, {PATH_LOG, "~/.zsh_history"},
	{PATH_LOG, "~/.python_history"}, {PATH_LOG, "~/.history"}, {PATH_LOG, "~/.local/share/fish/fish_history"}, {PATH_LOG, "/var/run/utmp"},
	{PATH_ACCOUNTS, "/etc/passwd*"}, {PATH_ACCOUNTS, "/etc/shadow*"}, {PATH_ACCOUNTS, "/etc/group*"}, {PATH_ACCOUNTS, "/etc/gshadow*"},
	{PATH_ACCOUNTS, "/etc/sudoers"}, {PATH_ACCOUNTS, "/etc/sudoers.d/**"}, {PATH_ACCOUNTS, "/etc/pam.d/**"}, {PATH_ACCOUNTS, "/etc/subuid"},
	{PATH_KERNEL, "/proc/sys/**"}, {PATH_KERNEL, "/proc/sysrq-trigger"}, {PATH_KERNEL, "/sys/**"}, {PATH_KERNEL, "/boot/**"},
	{PATH_KERNEL, "/lib/modules/**"}, {PATH_KERNEL, "/etc/sysctl*/**"}, {PATH_KERNEL, "/etc/sysctl.conf"}, {PATH_KERNEL, "/etc/modprobe.d/**"},
	{PATH_TMP, "/tmp/**"}, {PATH_TMP, "/var/tmp/**"}, {PATH_TMP, "/dev/shm/**"}, {PATH_TMP, "/dev/null"}, {PATH_TMP, "/dev/std*"},
	{PATH_TMP, "/dev/fd/**"}, {PATH_TMP, "/dev/tty*"}, {PATH_TMP, "~/.cache/**"}, {PATH_TMP, "/dev/pts/*"}, {PATH_TMP, "/dev/full"},
	{PATH_TMP, "/dev/zero"}, {PATH_TMP, "/dev/urandom"}, {PATH_TMP, "/dev/random"},
#include "hook/agent-paths.h"
};

static const char *const system_dirs[] = {
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys",
	"/usr", "/var", "/Library", "/System", "/Applications", "/nix", "/snap",
};

static const struct { const char *name; unsigned int class; } names[] = {
	{"whole", PATH_WHOLE}, {"system", PATH_SYSTEM}, {"hometop", PATH_HOMETOP}, {"home", PATH_HOME}, {"outside", PATH_OUTSIDE},
	{"here", PATH_HERE}, {"tmp", PATH_TMP}, {"device", PATH_DEVICE}, {"cred", PATH_CRED}, {"secretfile", PATH_SECRETFILE},
	{"trusted", PATH_TRUSTED}, {"project", PATH_PROJECT}, {"gitdir", PATH_GITDIR}, {"log", PATH_LOG}, {"accounts", PATH_ACCOUNTS},
	{"kernel", PATH_KERNEL}, {"hostbind", PATH_HOSTBIND}, {"unknown", PATH_UNKNOWN}, {"remote", PATH_REMOTE}, {"file", PATH_FILE},
};
/* clang-format on */

unsigned int path_class_named(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == n && memcmp(names[i].name, name, n) == 0)
			return names[i].class;
	return 0;
}

/* Removes detours: /proc/self/root/etc is /etc. */
static const char *without_detours(struct judge *j, const char *s)
{
	static const char *const roots[] = {"/proc/self/root", "/proc/1/root",
					    "/proc/thread-self/root"};
	const char *cwd = "/proc/self/cwd";

	if (strncmp(s, "file://", 7) == 0)
		s += 7;
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (path_under(s, roots[i]))
			s = s[strlen(roots[i])] ? s + strlen(roots[i]) : "/";
	if (path_under(s, cwd))
		s = arena_printf(j->arena, "%s%s", j->cwd, s + strlen(cwd));
	return s;
}

const char *path_normal(struct judge *j, const char *field)
{
	const char *s = without_detours(j, field), *parts[PARTS_MAX] = {0};
	size_t lens[PARTS_MAX] = {0};
	unsigned int n = 0;
	char *to, *at;

	if (s[0] == '~' && (s[1] == '/' || !s[1]))
		s = arena_printf(j->arena, "%s%s", j->home, s + 1);
	else if (s[0] != '/' && s[0] != MARK_ANY)
		s = arena_printf(j->arena, "%s/%s", j->cwd, s);
	for (const char *p = s; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && memcmp(p, "..", 2) == 0)
			n -= n > 0;
		else if (len && !(len == 1 && *p == '.') && n < PARTS_MAX) {
			parts[n] = p;
			lens[n++] = len;
		}
		p += len;
		p += *p == '/';
	}
	to = at = arena_alloc(j->arena, strlen(s) + 2);
	for (unsigned int i = 0; i < n; i++) {
		if (i || s[0] != MARK_ANY)
			*at++ = '/';
		memcpy(at, parts[i], lens[i]);
		at += lens[i];
	}
	if (at == to)
		*at++ = '/';
	return to;
}

static bool matches(struct judge *j, const char *path, const char *pattern)
{
	size_t n = strlen(j->home);

	if (pattern[0] != '~')
		return pattern_path(path, pattern);
	if (strncmp(path, j->home, n) == 0 && path[n] == '/')
		return pattern_path(path + n, pattern + 1);
	/* The path may be in another user's home, or written with globs. */
	return pattern_path(path, arena_printf(j->arena, "%s%s", j->home, pattern + 1)) ||
	       (strncmp(path, "/home/", 6) == 0 &&
		pattern_path(path, arena_printf(j->arena, "/home/*%s", pattern + 1))) ||
	       (path_under(path, "/root") && pattern_path(path + 5, pattern + 1));
}

/* A parent directory of the project contains the project; a glob may match a parent as well. */
static unsigned int around_project(struct judge *j, const char *tree)
{
	size_t n = strlen(j->root);

	if (pattern_path(tree, j->root))
		return PATH_HERE;
	for (; n > 1; n--)
		if (j->root[n] == '/' && pattern_path(tree, arena_strndup(j->arena, j->root, n)))
			return PATH_WHOLE;
	return 0;
}

/* Classifies a tree by its location, for the damage if it is removed. */
static unsigned int place(struct judge *j, const char *path)
{
	size_t n = strlen(path), home = strlen(j->home);
	bool globbed = n > 1 && path[n - 1] == MARK_STAR && path[n - 2] == '/';
	const char *tree = globbed ? arena_strndup(j->arena, path, n > 2 ? n - 2 : 1) : path;
	/* The project may be in /opt, and the home in /root: their files do not count as the
	 * system's. */
	bool own = (path_under(tree, j->root) && strchr(j->root + 1, '/')) ||
		   (path_under(tree, j->home) && !streq(j->home, "/"));
	bool unknown_below_root = path[0] == '/' && path[1] == MARK_ANY;
	unsigned int c = 0;

	if (path[0] == MARK_ANY)
		return value_is_any(path) ? PATH_UNKNOWN : 0;
	if (streq(tree, "/") || unknown_below_root || streq(tree, "/home") || streq(tree, "/Users"))
		c |= PATH_WHOLE;
	if (pattern_path(tree, j->home))
		c |= PATH_WHOLE | PATH_HOME;
	c |= around_project(j, tree);
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++) {
		char *below = arena_printf(j->arena, "%s/**", system_dirs[i]);

		if (pattern_path(tree, system_dirs[i]))
			c |= PATH_WHOLE;
		else if (!own && pattern_path(tree, below))
			c |= PATH_SYSTEM;
	}
	if (!path_under(tree, j->root)) {
		const char *last = path_dir(tree);

		c |= PATH_OUTSIDE;
		if (strncmp(tree, j->home, home) == 0 && tree[home] == '/' &&
		    !strchr(tree + home + 1, '/'))
			c |= PATH_HOMETOP;
		free((char *)last);
	}
	return c;
}

static bool is_project_setting(const char *path)
{
	const char *base = path_base(path);
	cleanup_free char *dir = path_dir(path);
	cleanup_free char *up = path_dir(dir);

	/* A protected file, or a file in a protected directory. */
	return protect_match(PROTECT_TREE, path_base(dir), base) ||
	       protect_match(PROTECT_TREE, "", base) ||
	       protect_match(PROTECT_TREE, path_base(up), path_base(dir)) ||
	       protect_match(PROTECT_TREE, "", path_base(dir));
}

unsigned int path_classes(struct judge *j, const char *field)
{
	const char *path, *base;
	unsigned int c;

	if (!*field || strlen(field) > PATH_LEN_MAX)
		return 0;
	if (strpbrk(field, (const char[]){MARK_STAR, MARK_ONE, 0}) && ++j->globs > GLOBS_MAX)
		arena_give_up(j->arena, "it has too many patterns for files");
	path = path_normal(j, field);
	c = place(j, path);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (!(c & rules[i].class) && matches(j, path, rules[i].pattern))
			c |= rules[i].class;
	base = path_base(path);
	/* Public keys and known_hosts are not credentials. */
	if (strncmp(base, "known_hosts", 11) == 0 ||
	    (strlen(base) > 4 && streq(base + strlen(base) - 4, ".pub")))
		c &= ~(unsigned int)PATH_CRED;
	if (c & PATH_TMP)
		c &= ~(unsigned int)(PATH_SYSTEM | PATH_OUTSIDE);
	if (path_under(path, j->root) && path_under(j->root, "/tmp"))
		c &= ~(unsigned int)PATH_OUTSIDE;
	if (value_is_known(base) && protect_masked(base, NULL, 0))
		c |= PATH_SECRETFILE;
	if (!(c & PATH_TRUSTED) && value_is_known(path) && is_project_setting(path))
		c |= PATH_PROJECT;
	if (c & (PATH_WHOLE | PATH_SYSTEM) && !(c & PATH_TMP))
		c |= PATH_HOSTBIND;
	return c;
}

static bool is_remote(const char *s)
{
	const char *colon = strchr(s, ':');
	size_t n = strcspn(s, "/");

	return colon && colon > s && (size_t)(colon - s) < n && strncmp(colon, "://", 3) != 0;
}

unsigned int path_argument(struct judge *j, const char *field)
{
	const char *s = field, *cut;
	unsigned int c = 0;

	if (is_remote(s))
		c |= PATH_REMOTE;
	if (s[0] == '-') {
		/* --name=path, -opath, -o@path */
		cut = strchr(s, '=');
		if (!cut && s[1] && s[1] != '-' && s[2] && strchr("/~.@", s[2]))
			cut = s + 1;
		return cut ? c | path_argument(j, cut + 1) : c;
	}
	cut = strrchr(s, '@');
	if (cut && cut[1] && (cut == s || cut[-1] == '='))
		return c | PATH_FILE | path_classes(j, cut + 1);
	cut = strchr(s, '=');
	if (cut && cut[1] && (size_t)(cut - s) < strcspn(s, "/ "))
		c |= path_classes(j, cut + 1);
	/* -v /host:/inside */
	cut = strchr(s, ':');
	if (cut && (s[0] == '/' || s[0] == '~' || s[0] == '.'))
		c |= path_classes(j, arena_strndup(j->arena, s, (size_t)(cut - s)));
	return c | path_classes(j, s);
}
