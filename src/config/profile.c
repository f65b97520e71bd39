#include "config/profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text/suggest.h"
#include "config/scan.h" /* limits of a file, names of keys */

#define TEMPLATE_MAX (64 * KiB)

/* How the names of profiles end, of equal length. JSON is YAML; where both files exist, the first one
 * counts. */
static const char *const endings[] = {".yaml", ".json"};
#define ENDING_LEN 5

static char *path_in(const char *dir, const char *name, const char *ending)
{
	cleanup_free char *base = xasprintf("%s%s", name, ending);

	return path_join(dir, base);
}

static int check_name(const char *name, struct err *err)
{
	const char *wrong = *name ? check_profile(name) : "is no profile's name";

	return wrong ? err_usage(err, "'%.60s' %s", name, wrong) : 0;
}

char *profile_path(const struct profile_dirs *dirs, const char *name)
{
	const char *const all[] = {dirs->user, dirs->shipped};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(all) * ARRAY_SIZE(endings); i++) {
		const char *dir = all[i / ARRAY_SIZE(endings)];
		cleanup_free char *path =
			dir ? path_in(dir, name, endings[i % ARRAY_SIZE(endings)]) : NULL;

		if (path && lstat(path, &st) == 0)
			return take_ptr(path);
	}
	return NULL;
}

/* "# node: JavaScript" gives "JavaScript", whatever the name before the colon. */
static char *summary_of(const char *text)
{
	const char *line = text + strspn(text, "# \t");
	size_t n = strcspn(line, "\n");
	const char *colon = text[0] == '#' ? memchr(line, ':', n) : NULL;
	size_t skip;

	if (!colon)
		return xstrdup("");
	skip = (size_t)(colon + 1 - line);
	skip += strspn(colon + 1, " \t");
	n = n > skip ? n - skip : 0;
	return xstrndup(line + skip, n < PROFILE_SUMMARY_MAX ? n : PROFILE_SUMMARY_MAX);
}

static void add(struct profile **list, size_t *n, const char *dir, const char *file, bool shipped)
{
	cleanup_free char *name = xstrndup(file, strlen(file) - ENDING_LEN);
	cleanup_buf struct buf text;
	struct profile *p;

	buf_init(&text, CONFIG_FILE_MAX);
	if (!*name || check_profile(name))
		return;
	for (size_t i = 0; i < *n; i++)
		if (streq((*list)[i].name, name))
			return;
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	p = &(*list)[(*n)++];
	p->path = path_join(dir, file);
	/* A profile that cannot be read is listed all the same: using it reports the reason. */
	(void)path_read(AT_FDCWD, p->path, &text);
	p->summary = summary_of(buf_str(&text));
	p->shipped = shipped;
	p->name = take_ptr(name);
}

static int add_dir(struct profile **list, size_t *n, const char *dir, const char *ending,
		   bool shipped, struct err *err)
{
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *de;

	if (!d)
		return !dir || errno == ENOENT ? 0 : err_sys(err, errno, "cannot open '%s'", dir);
	while ((de = readdir(d)) && *n < CONFIG_LIST_MAX) {
		size_t len = strlen(de->d_name);

		if (len > ENDING_LEN && streq(de->d_name + len - ENDING_LEN, ending))
			add(list, n, dir, de->d_name, shipped);
	}
	(void)closedir(d);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct profile *)a)->name, ((const struct profile *)b)->name);
}

int profile_list(const struct profile_dirs *dirs, struct profile **ret, size_t *ret_n,
		 struct err *err)
{
	struct profile *list = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(endings); i++)
		r = add_dir(&list, &n, dirs->user, endings[i], false, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(endings); i++)
		r = add_dir(&list, &n, dirs->shipped, endings[i], true, err);
	if (r < 0) {
		profile_list_free(list, n);
		return r;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	*ret = list;
	*ret_n = n;
	return 0;
}

void profile_list_free(struct profile *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(p[i].name);
		free(p[i].path);
		free(p[i].summary);
	}
	free(p);
}

int profile_unknown(const struct profile_dirs *dirs, const char *name, struct err *err)
{
	struct profile *list = NULL;
	const char **names, *near;
	struct err ignored = {0};
	size_t n = 0;

	(void)profile_list(dirs, &list, &n, &ignored);
	names = xcalloc(n, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = list[i].name;
	near = suggest(name, names, n);
	if (near)
		(void)err_usage(err, "there is no profile '%s'; did you mean '%s'?", name, near);
	else
		(void)err_usage(err,
				"there is no profile '%s'; 'ralph profile ls' lists them, 'ralph "
				"profile new %s' makes it",
				name, name);
	free(names);
	profile_list_free(list, n);
	return -EINVAL;
}

int profile_read(const struct profile_dirs *dirs, const char *name, char **ret_path,
		 struct buf *ret_text, struct err *err)
{
	cleanup_free char *path = NULL;
	int r = check_name(name, err);

	if (r < 0)
		return r;
	path = profile_path(dirs, name);
	if (!path)
		return profile_unknown(dirs, name, err);
	r = path_read(AT_FDCWD, path, ret_text);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	*ret_path = take_ptr(path);
	return 0;
}

int profile_create(const char *user_dir, const char *name, const char *text, size_t len,
		   char **ret_path, struct err *err)
{
	cleanup_free char *path = NULL;
	cleanup_fd int fd = -1;
	int r = check_name(name, err);

	if (r == 0)
		r = path_mkdirs(user_dir, 0700, err);
	if (r < 0)
		return r;
	path = path_in(user_dir, name, endings[0]);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return err_usage(err, "%s is there already; edit it, or choose another name", path);
	if (fd < 0)
		return err_sys(err, errno, "cannot make '%s'", path);
	r = fd_write_all(fd, text, len);
	if (r < 0) {
		(void)unlink(path);
		return err_sys(err, -r, "cannot write '%s'", path);
	}
	*ret_path = take_ptr(path);
	return 0;
}

char *profile_template(const char *name)
{
	const char *section = "";
	struct buf b;

	buf_init(&b, TEMPLATE_MAX);
	(void)buf_printf(
		&b,
		"# %s: say here what it is for; 'ralph profile ls' shows this line\n"
		"#\n"
		"# Take the '#' away from what is to be set; what is not set comes from your\n"
		"# config.yaml. ralph-config(5) explains every key.\n",
		name);
	for (enum key_id id = 0; id < KEY_N; id++) {
		const struct key *k = &keys[id];
		size_t len = key_section(k);
		struct config_key shown;

		(void)config_key(id, &shown);
		if (id == KEY_PROFILE)
			continue;
		if (len && (strlen(section) <= len || strncmp(k->name, section, len + 1) != 0))
			(void)buf_printf(&b, "\n# %.*s:\n", (int)len, k->name);
		else if (!len)
			(void)buf_puts(&b, "\n");
		section = len ? k->name : "";
		(void)buf_printf(&b, "# %s%s: %s # %s\n", len ? "  " : "", key_leaf(k),
				 *shown.default_value ? shown.default_value : "\"\"", k->help);
	}
	return buf_take(&b);
}
