#include "netrules/rule-files.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/strv.h"
#include "record/loop-rules.h"
#include "record/runtime.h"

#define RULES_FILE_MAX (256 * KiB)
#define PATTERN_LEN_MAX 255
#define UNTIL " until "

char *rules_user_file(const struct places *p)
{
	return path_join(p->config, "network.rules");
}

char *rules_project_file(const struct places *p, const char *instance)
{
	return xasprintf("%s/projects/%s/network.rules", p->state, instance);
}

char *rules_sandbox_file(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s/network.rules", p->state, name);
}

char *rules_loop_file(const struct places *p, const char *loop)
{
	return loop_rules_file(p, loop);
}

char *rules_once_file(const struct places *p, const char *name)
{
	return xasprintf("%s/%s/" RUNTIME_RULES, p->runtime, name);
}

static void add(struct net_policy *p, bool deny, const char *pattern, uint64_t until)
{
	struct net_rule *r = net_policy_add(p, deny, pattern, NULL);

	r->until = until ? xasprintf("%llu", (unsigned long long)until) : NULL;
}

/* Cuts the end of the line off; *ret is 0 without one. */
static int parse_until(char *pattern, uint64_t *ret)
{
	char *at = strstr(pattern, UNTIL);

	*ret = 0;
	if (!at)
		return 0;
	*at = '\0';
	return parse_uint(at + strlen(UNTIL), 1, INT64_MAX, ret);
}

static int parse_line(char *line, struct net_policy *r)
{
	uint64_t until;
	char *pattern;
	bool deny;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	deny = strncmp(line, "deny ", 5) == 0;
	if (!deny && strncmp(line, "allow ", 6) != 0)
		return -EINVAL;
	pattern = line + (deny ? 5 : 6);
	if (parse_until(pattern, &until) < 0 || !*pattern || strlen(pattern) > PATTERN_LEN_MAX ||
	    strpbrk(pattern, " \t") || r->n_rules == RULES_MAX)
		return -EINVAL;
	if (until && until <= (uint64_t)time(NULL))
		return 0;
	add(r, deny, pattern, until);
	return 0;
}

int rules_read(const char *path, struct net_policy *ret, struct err *err)
{
	cleanup_(net_policy_clear) struct net_policy rules = {0};
	cleanup_buf struct buf b;
	size_t number = 1;
	int r;

	buf_init(&b, RULES_FILE_MAX);
	*ret = (struct net_policy){0};
	r = path_read(AT_FDCWD, path, &b);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	for (char *line = (char *)buf_str(&b), *end; *line; line = end, number++) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		if (parse_line(line, &rules) < 0)
			return err_usage(
				err,
				"%s:%zu: expected 'allow PATTERN' or 'deny PATTERN'; correct or "
				"remove the line",
				path, number);
	}
	*ret = rules;
	rules = (struct net_policy){0};
	return 0;
}

int rules_write(const char *path, const struct net_policy *rules, struct err *err)
{
	cleanup_free char *dir = path_dir(path);
	cleanup_fd int fd = -1;
	cleanup_buf struct buf b;
	int r = path_mkdirs(dir, 0700, err);

	buf_init(&b, RULES_FILE_MAX);
	if (r < 0)
		return r;
	(void)buf_puts(&b, "# Written by ralph net; a rule a line: allow PATTERN, deny PATTERN.\n");
	for (size_t i = 0; i < rules->n_rules; i++)
		(void)buf_printf(&b, "%s %s%s%s\n", rules->rules[i].deny ? "deny" : "allow",
				 rules->rules[i].pattern, rules->rules[i].until ? UNTIL : "",
				 rules->rules[i].until ? rules->rules[i].until : "");
	if (b.full)
		return err_set(err, E2BIG, "'%s' would have too many rules", path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno
		   : path_write_atomic(fd, path_base(path), b.data, b.len, 0600, PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write '%s'", path) : 0;
}

/* True when there was one. */
static bool drop(struct net_policy *p, const char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		if (streq(p->rules[i].pattern, pattern))
			net_rule_done(&p->rules[i]);
		else
			p->rules[n++] = p->rules[i];
	}
	if (n == p->n_rules)
		return false;
	p->n_rules = n;
	return true;
}

int rules_set(const char *path, bool deny, const char *pattern, uint64_t until, struct err *err)
{
	cleanup_(net_policy_clear) struct net_policy rules = {0};
	int r = rules_read(path, &rules, err);

	if (r < 0)
		return r;
	(void)drop(&rules, pattern);
	if (rules.n_rules == RULES_MAX)
		return err_set(err, E2BIG, "'%s' has %d rules already", path, RULES_MAX);
	add(&rules, deny, pattern, until);
	return rules_write(path, &rules, err);
}

int rules_drop(const char *path, const char *pattern, struct err *err)
{
	cleanup_(net_policy_clear) struct net_policy rules = {0};
	int r = rules_read(path, &rules, err);

	if (r < 0)
		return r;
	if (!drop(&rules, pattern))
		return err_set(err, ENOENT, "'%s' has no rule about '%s'", path, pattern);
	return rules_write(path, &rules, err);
}
