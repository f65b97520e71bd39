/* Programs that run another program, named in their arguments. */
#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/programs.h"
#include "hook/rules.h"

/*
 * valued: letters and long names of options whose value is the next field. skip: operands before
 * the command. joined: the rest is one text for a shell.
 */
struct wrapper {
	const char *name, *valued;
	unsigned int skip;
	bool joined, judged; /* judged: rules apply to the wrapper too */
};

/* clang-format off */
static const struct wrapper wrappers[] = {
	{"command", "", 0, false, false},       {"builtin", "", 0, false, false},    {"exec", "-a", 0, false, false},
	{"nohup", "", 0, false, false},         {"nice", "-n --adjustment", 0, false, false},
	{"ionice", "-c -n -p -u", 0, false, false}, {"timeout", "-s -k --signal --kill-after", 1, false, false},
	{"gtimeout", "-s -k", 1, false, false}, {"time", "-f -o", 0, false, false},  {"setsid", "", 0, false, false},
	{"stdbuf", "-i -o -e", 0, false, false}, {"unbuffer", "", 0, false, false},  {"chronic", "", 0, false, false},
	{"strace", "-e -o -p -s -u -E", 0, false, true}, {"ltrace", "-e -o -p -s -u", 0, false, true},
	{"sudo", "-u -g -h -p -C -r -t -T -U -D -R", 0, false, true}, {"doas", "-u -C", 0, false, true},
	{"pkexec", "--user", 0, false, true},   {"run0", "-u", 0, false, true},      {"runuser", "-u -g", 0, false, true},
	{"chroot", "--userspec --groups", 1, false, true}, {"unshare", "-S -G -w --map-user", 0, false, false},
	{"nsenter", "-t --target -S -G", 0, false, true}, {"setarch", "", 1, false, false}, {"taskset", "-p", 1, false, false},
	{"chrt", "-p", 1, false, false},        {"prlimit", "-p --pid", 0, false, false}, {"numactl", "", 0, false, false},
	{"catchsegv", "", 0, false, false},     {"proxychains", "-f", 0, false, false}, {"proxychains4", "-f", 0, false, false},
	{"torsocks", "", 0, false, false},      {"busybox", "", 0, false, false},    {"toybox", "", 0, false, false},
	{"watch", "-n -d --interval", 0, true, false}, {"parallel", "-j -S --jobs", 0, true, false},
	{"ssh", "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", 1, true, true},
	{"entr", "", 0, false, false},          {"systemd-run", "-u -p --unit --property", 0, false, true},
	{"dbus-run-session", "", 0, false, false}, {"xvfb-run", "-e -f -n -p -s -w", 0, false, false},
	{"fakeroot", "-l -s -i", 0, false, false}, {"eatmydata", "", 0, false, false}, {"coproc", "", 0, false, false},
	{"hyperfine", "-w -r -m -M --warmup --runs --prepare", 0, true, false}, {"firejail", "", 0, false, false},
	{"ld.so", "--library-path --preload", 0, false, false}, {"ld-linux-x86-64.so.2", "--library-path --preload", 0, false, false},
	{"ld-linux-aarch64.so.1", "--library-path --preload", 0, false, false}, {"screen", "-S -c", 0, false, false},
};
/* clang-format on */

static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p;) {
		size_t k = strcspn(p, " ");

		if (k == n && memcmp(p, word, n) == 0)
			return true;
		p += k;
		p += *p == ' ';
	}
	return false;
}

/* Returns the index of the first operand after the options. */
static unsigned int first_operand(const struct program *p, const char *valued)
{
	unsigned int i = 1;

	for (; i < p->argv.n; i++) {
		const char *s = p->argv.v[i];

		if (streq(s, "--"))
			return i + 1;
		if (s[0] != '-' || !s[1])
			break;
		if (listed(valued, s))
			i++;
	}
	return i;
}

static void run_wrapped(struct judge *j, struct program *p, const struct wrapper *w)
{
	unsigned int at = first_operand(p, w->valued) + w->skip;

	/* sudo A=1 CMD */
	while (at < p->argv.n && strchr(p->argv.v[at], '=') && !strchr(p->argv.v[at], '/'))
		at++;
	if (w->judged)
		rules_program(j, p->name, &p->argv, p->in);
	if (at >= p->argv.n)
		return;
	if (streq(p->name, "command") && (p->argv.v[1][0] == '-' && strpbrk(p->argv.v[1], "vV"))) {
		p->out = values_one(j, p->argv.v[at]);
		return;
	}
	if (w->joined) {
		struct values text = values_one(j, program_joined(j, p, at));

		text.taint = p->argv.taint;
		program_script(j, p, text);
	} else {
		program_run(j, p, at);
	}
}

static void env(struct judge *j, struct program *p)
{
	unsigned int at = 1;

	for (; at < p->argv.n; at++) {
		const char *s = p->argv.v[at], *eq = strchr(s, '=');

		if (streq(s, "-S") || streq(s, "--split-string")) {
			program_script(j, p, values_one(j, program_joined(j, p, at + 1)));
			return;
		}
		if (strncmp(s, "-S", 2) == 0 || strncmp(s, "--split-string=", 15) == 0) {
			const char *text = s[1] == 'S' ? s + 2 : s + 15;

			program_script(j, p,
				       values_one(j, arena_printf(j->arena, "%s %s", text,
								  program_joined(j, p, at + 1))));
			return;
		}
		if (streq(s, "-u") || streq(s, "-C") || streq(s, "--unset") ||
		    streq(s, "--chdir")) {
			at++;
		} else if (eq && s[0] != '-') {
			struct values v = values_one(j, eq + 1);

			rules_assignment(j, arena_strndup(j->arena, s, (size_t)(eq - s)), &v);
		} else if (s[0] != '-') {
			program_run(j, p, at);
			return;
		}
	}
	p->out = values_any(j, TAINT_SECRET);
	judge_add(j, CAT_CREDENTIALS, SEV_WARN, judge_line(j, &p->argv),
		  "it shows the whole environment, with what is secret in it");
}

static void printenv(struct judge *j, struct program *p)
{
	rules_program(j, "printenv", &p->argv, p->in);
	if (p->argv.n > 1)
		return;
	env(j, p);
}

static const char *with_replaced(struct judge *j, const char *field, const char *what,
				 const char *with)
{
	const char *at = strstr(field, what);

	return at ? arena_printf(j->arena, "%.*s%s%s", (int)(at - field), field, with,
				 at + strlen(what))
		  : field;
}

/* Judges a run of xargs with this input. */
static void xargs_with(struct judge *j, struct program *p, unsigned int at, const char *what,
		       const char *input)
{
	struct program run = {.argv = {.taint = p->argv.taint | (p->in ? p->in->taint : 0)}};

	for (unsigned int i = at; i < p->argv.n; i++)
		fields_add(j, &run.argv,
			   what ? with_replaced(j, p->argv.v[i], what, input) : p->argv.v[i]);
	if (!run.argv.n)
		fields_add(j, &run.argv, "echo");
	if (!what) {
		struct fields words = {0};
		char *split = arena_strndup(j->arena, input, strlen(input));

		for (char *c = split; *c; c++)
			if (*c == ' ' || *c == '\n' || *c == '\t')
				*c = MARK_SPLIT;
		expand_fields(j, split, &words);
		for (unsigned int i = 0; i < words.n; i++)
			fields_add(j, &run.argv, words.v[i]);
	}
	p->out = judge_argv(j, &run.argv, NULL);
}

static void xargs(struct judge *j, struct program *p)
{
	static const char valued[] =
		"-I -n -P -d -a -E -L -s --max-args --max-procs --delimiter --arg-file --replace";
	unsigned int at = first_operand(p, valued);
	const char *what = NULL;
	struct values in = p->in ? *p->in : values_any(j, 0);

	for (unsigned int i = 1; i < at && i < p->argv.n; i++) {
		if (streq(p->argv.v[i], "-I") && i + 1 < p->argv.n)
			what = p->argv.v[i + 1];
		else if (strncmp(p->argv.v[i], "-I", 2) == 0 && p->argv.v[i][2])
			what = p->argv.v[i] + 2;
		else if (streq(p->argv.v[i], "-i"))
			what = "{}";
	}
	for (unsigned int i = 0; i < in.n; i++) {
		const char *line = in.v[i];

		/* xargs -I runs once per line, otherwise once for all. */
		do {
			size_t n = what ? strcspn(line, "\n") : strlen(line);

			xargs_with(j, p, at, what, arena_strndup(j->arena, line, n));
			line += n;
			line += *line == '\n';
		} while (*line);
	}
}

/* True for a test that restricts the files that find selects. */
static bool is_filter(const char *s)
{
	static const char *const filters[] = {"-name",	"-iname", "-path",  "-ipath",	"-regex",
					      "-mtime", "-size",  "-newer", "-mmin",	"-empty",
					      "-user",	"-perm",  "-type",  "-maxdepth"};

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		if (streq(s, filters[i]))
			return true;
	return false;
}

static void find_run(struct judge *j, struct program *p, unsigned int at, const char *found)
{
	struct fields run = {.taint = p->argv.taint};

	for (; at < p->argv.n && !streq(p->argv.v[at], ";") && !streq(p->argv.v[at], "+"); at++)
		fields_add(j, &run, with_replaced(j, p->argv.v[at], "{}", found));
	if (run.n)
		p->out = judge_argv(j, &run, NULL);
}

/* Returns the output of find: the start directories, or with a filter some path below them. */
static struct values found_names(struct judge *j, const struct fields *from, bool filtered)
{
	const char *all = "";

	for (unsigned int i = 0; i < from->n; i++)
		all = filtered ? arena_printf(j->arena, "%s%s/%c\n", all, from->v[i], MARK_ANY)
			       : arena_printf(j->arena, "%s%s\n", all, from->v[i]);
	return values_one(j, all);
}

static void find(struct judge *j, struct program *p)
{
	struct fields from = {0};
	bool filtered = false;
	unsigned int i = 1;

	while (i < p->argv.n && p->argv.v[i][0] == '-' && strchr("HLPDO", p->argv.v[i][1]))
		i++;
	for (; i < p->argv.n && !strchr("-(!", p->argv.v[i][0]); i++)
		fields_add(j, &from, p->argv.v[i]);
	if (!from.n)
		fields_add(j, &from, ".");
	for (unsigned int k = i; k < p->argv.n; k++)
		filtered = filtered || (is_filter(p->argv.v[k]) &&
					!(k + 1 < p->argv.n && streq(p->argv.v[k + 1], "*")));
	for (; i < p->argv.n; i++) {
		const char *s = p->argv.v[i];

		for (unsigned int k = 0; k < from.n; k++) {
			const char *found =
				filtered ? arena_printf(j->arena, "%s/%c", from.v[k], MARK_ANY)
					 : from.v[k];

			if (streq(s, "-delete")) {
				struct fields rm = {0};

				fields_add(j, &rm, "rm");
				fields_add(j, &rm, "-r");
				fields_add(j, &rm, found);
				(void)judge_argv(j, &rm, NULL);
			} else if (streq(s, "-exec") || streq(s, "-execdir") || streq(s, "-ok") ||
				   streq(s, "-okdir")) {
				find_run(j, p, i + 1, found);
			} else if (strncmp(s, "-fprint", 7) == 0 && i + 1 < p->argv.n) {
				rules_redirect(j, p->argv.v[i + 1], true);
			}
		}
	}
	rules_program(j, "find", &p->argv, p->in);
	if (!p->out.n)
		p->out = found_names(j, &from, filtered);
}

/* su [-] [USER] -c TEXT, script -c TEXT, flock FILE -c TEXT, tmux new TEXT */
static void with_text(struct judge *j, struct program *p)
{
	unsigned int at = first_operand(p, "-c -s --command -w -E -t -n -S");

	rules_program(j, p->name, &p->argv, p->in);
	for (unsigned int i = 1; i + 1 < p->argv.n; i++)
		if (streq(p->argv.v[i], "--command") ||
		    (p->argv.v[i][0] == '-' && p->argv.v[i][1] != '-' &&
		     p->argv.v[i][strlen(p->argv.v[i]) - 1] == 'c'))
			program_script(j, p, values_one(j, p->argv.v[i + 1]));
	if (streq(p->name, "flock") && at + 1 < p->argv.n && p->argv.v[at + 1][0] != '-')
		program_run(j, p, at + 1);
	if (streq(p->name, "tmux") && p->argv.n > 2)
		program_script(j, p, values_one(j, p->argv.v[p->argv.n - 1]));
}

static bool is_run_word(const char *name, const char *word)
{
	static const char *const pairs[][2] = {
		{"uv", "run"},	  {"poetry", "run"}, {"pipenv", "run"}, {"bundle", "exec"},
		{"pdm", "run"},	  {"rye", "run"},    {"hatch", "run"},	{"nix-shell", "--run"},
		{"npm", "exec"},  {"pnpm", "exec"},  {"yarn", "exec"},	{"direnv", "exec"},
		{"asdf", "exec"}, {"mise", "exec"},  {"conda", "run"},	{"dotenv", "run"},
		{"op", "run"},	  {"pixi", "run"},   {"rbenv", "exec"}};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (streq(name, pairs[i][0]) && streq(word, pairs[i][1]))
			return true;
	return false;
}

static bool run_by_word(struct judge *j, struct program *p)
{
	unsigned int at = 2;

	if (p->argv.n < 3 || !is_run_word(p->name, p->argv.v[1]))
		return false;
	while (at < p->argv.n && p->argv.v[at][0] == '-')
		at++;
	rules_program(j, p->name, &p->argv, p->in);
	if (streq(p->argv.v[1], "--run"))
		program_script(j, p, values_one(j, p->argv.v[2]));
	else
		program_run(j, p, at);
	return true;
}

static const struct {
	const char *name;
	program_fn *fn;
} special[] = {
	{"env", env},
	{"printenv", printenv},
	{"xargs", xargs},
	{"find", find},
	{"gfind", find},
	{"su", with_text},
	{"script", with_text},
	{"flock", with_text},
	{"tmux", with_text},
	{"git", program_git},
	{"tar", program_packer},
	{"bsdtar", program_packer},
	{"rsync", program_packer},
};

bool program_wrapper(struct judge *j, struct program *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (streq(p->name, special[i].name)) {
			special[i].fn(j, p);
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (streq(p->name, wrappers[i].name)) {
			run_wrapped(j, p, &wrappers[i]);
			return true;
		}
	return run_by_word(j, p);
}

const struct fields *program_names(struct judge *j)
{
	static const char *const more[] = {"sh",   "bash", "dash",  "zsh",  "eval", "python3",
					   "perl", "env",  "xargs", "find", "git"};

	if (j->names.n)
		return &j->names;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		fields_add(j, &j->names, more[i]);
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		fields_add(j, &j->names, wrappers[i].name);
	rules_names(j, &j->names);
	return &j->names;
}
