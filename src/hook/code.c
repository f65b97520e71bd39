/*
 * Code in other languages, given on the command line or on stdin. It is not parsed. Its string
 * literals are judged as commands if the code runs programs, and as paths if it opens or removes
 * files. Some combinations are refused by themselves.
 */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/paths.h"
#include "hook/programs.h"
#include "hook/rules.h"

#define ITEMS_MAX 32

/* clang-format off */
static const char *const runs[] = {
	"system", "popen", "subprocess", "exec", "spawn", "child_process", "qx", "`", "passthru", "proc_open", "getline", "os.posix",
	"Deno.Command", "Bun.$", "IO.popen", "| \"", "|\"", "sh -c", "do shell script", NULL};
static const char *const removes[] = {
	"rmtree", "unlink", "remove", "rmSync", "rmdir", "rm_rf", "rm_r", "FileUtils", "rimraf", ".rm(", "File.delete", "truncate",
	"shutil.move", "os.rename", "removedirs", "Deno.remove", NULL};
static const char *const writes[] = {
	"'w", "\"w", "'a", "\"a", "write", "file_put_contents", "appendFile", "copyfile", "shutil.copy", "copyFile", "print >", "symlink",
	"os.open", "chmod", ">>", "'>", "\">", NULL};
static const char *const decodes[] = {
	"b64decode", "base64", "fromhex", "unhexlify", "chr(", "atob", "Buffer.from", "pack(", "decode('hex", "decode(\"hex", "decode('rot", "decode(\"rot", "fromCharCode", "codecs",
	"[::-1]", ".reverse", "bytes(", "zlib", "marshal", NULL};
static const char *const evaluates[] = {
	"exec(", "eval(", "eval ", "system(", "subprocess", "Function(", "popen(", "compile(", "__import__", "execSync", "spawnSync",
	"getattr", "instance_eval", "os.exec", NULL};
static const char *const fetches[] = {
	"urlopen", "urllib", "requests.", "fetch(", "http.get", "https.get", "LWP", "Net::HTTP", "open-uri", "httpx", "file_get_contents('http",
	"file_get_contents(\"http", NULL};
static const char *const sockets[] = {"socket", "TCPSocket", "fsockopen", "net.connect", "Socket", "createConnection", NULL};
static const char *const shells_over[] = {
	"dup2", "pty", "/bin/sh", "/bin/bash", "subprocess", "exec", "spawn", "STDIN->fdopen", "popen", NULL};
static const char *const dumps[] = {
	"print(os.environ", "dict(os.environ", "dumps(dict(os.environ", "console.log(process.env)", "JSON.stringify(process.env)", "ENV.to_h",
	"%ENV", "getenv())", "ENVIRON)", "in ENVIRON", "in os.environ", "os.environ.items()", "puts ENV", "p ENV", NULL};
/* clang-format on */

static bool has_one(const char *code, const char *const *words)
{
	for (; *words; words++)
		if (strstr(code, *words))
			return true;
	return false;
}

/* Judges a string literal as a script. A literal that does not parse as one is no offence. */
static void try_script(struct judge *j, const char *text)
{
	struct arena *a = j->arena;
	unsigned int depth = j->depth, conditional = j->conditional;
	jmp_buf out;

	memcpy(&out, &a->out, sizeof(out));
	if (setjmp(a->out) == 0) {
		j->depth += 4;
		judge_script(j, text, strlen(text));
	} else if (a->used >= a->max || j->steps >= JUDGE_STEPS) {
		memcpy(&a->out, &out, sizeof(out));
		arena_give_up(a, a->why);
	}
	j->depth = depth;
	j->conditional = conditional;
	memcpy(&a->out, &out, sizeof(out));
}

struct reading {
	struct judge *j;
	const char *code;
	const char *items[ITEMS_MAX];
	unsigned int n;
	bool runs, removes, writes;
};

static unsigned int hex_of(const char *p, int max)
{
	unsigned int v = 0;

	for (; max-- > 0 && isxdigit((unsigned char)*p); p++)
		v = v * 16 + (unsigned int)(isdigit((unsigned char)*p)
						    ? *p - '0'
						    : tolower((unsigned char)*p) - 'a' + 10);
	return v;
}

/* Reads a literal from its opening quote; returns the position after it. */
static const char *read_literal(struct judge *j, const char *p, const char **ret)
{
	char quote = *p, *to = arena_alloc(j->arena, strlen(p) + 1);
	bool triple = p[1] == quote && p[2] == quote && quote != '`';
	size_t n = 0;

	for (p += triple ? 3 : 1;
	     *p && !(*p == quote && (!triple || (p[1] == quote && p[2] == quote))); p++) {
		if (*p == '\\' && p[1]) {
			p++;
			if (*p == 'x' && isxdigit((unsigned char)p[1])) {
				to[n++] = mark_plain((char)hex_of(p + 1, 2));
				p += isxdigit((unsigned char)p[2]) ? 2 : 1;
				continue;
			}
			to[n++] = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
			continue;
		}
		to[n++] = *p;
	}
	*ret = to;
	return *p ? p + (triple ? 3 : 1) : p;
}

/* Judges adjacent literals, each by itself and joined: they may be one command in pieces. */
static void judge_items(struct reading *r)
{
	const char *line = "";

	for (unsigned int i = 0; i < r->n; i++) {
		unsigned int c = path_classes(r->j, r->items[i]);

		line = arena_printf(r->j->arena, "%s%s%s", line, i ? " " : "", r->items[i]);
		if (r->runs)
			try_script(r->j, r->items[i]);
		if (!*r->items[i] || strpbrk(r->items[i], " \n") || !strpbrk(r->items[i], "/~."))
			continue;
		if (c & PATH_CRED)
			judge_add(r->j, CAT_CREDENTIALS, SEV_BLOCK, r->items[i],
				  "it reads a credential");
		if (r->removes && (c & (PATH_WHOLE | PATH_SYSTEM | PATH_HOMETOP | PATH_DEVICE)))
			judge_add(r->j, CAT_FILES, SEV_BLOCK, r->items[i],
				  "it destroys what the system or the user needs");
		if (r->writes)
			rules_file(r->j, r->items[i], true);
	}
	if (r->runs && r->n > 1)
		try_script(r->j, line);
	r->n = 0;
}

/* 'a' + 'b' is one literal; 'a', 'b' are two of a list. Anything else between them ends the
 * list. */
static void read_literals(struct reading *r)
{
	const char *p = r->code;
	bool joined = false;

	while (*p) {
		const char *text;

		if (!strchr("'\"`", *p)) {
			if (*p == '+' || (*p == '.' && strchr(" \t'\"", p[1])))
				joined = true;
			else if (*p == ',')
				joined = false;
			else if (!isspace((unsigned char)*p))
				judge_items(r);
			p++;
			continue;
		}
		p = read_literal(r->j, p, &text);
		if (joined && r->n)
			r->items[r->n - 1] =
				arena_printf(r->j->arena, "%s%s", r->items[r->n - 1], text);
		else if (r->n < ITEMS_MAX)
			r->items[r->n++] = text;
		joined = false;
	}
	judge_items(r);
}

static void check_code(struct judge *j, struct program *p, const char *code)
{
	struct reading r = {.j = j,
			    .code = code,
			    .runs = has_one(code, runs),
			    .removes = has_one(code, removes),
			    .writes = has_one(code, writes)};
	const char *line = judge_line(j, &p->argv);

	/* print "x" > "file" */
	r.writes = r.writes || (strstr(p->name, "awk") && strchr(code, '>'));
	read_literals(&r);
	if (has_one(code, evaluates) && has_one(code, decodes))
		judge_add(j, CAT_REMOTE_CODE, SEV_BLOCK, line,
			  "it runs what was decoded, so that nobody could read it");
	if (has_one(code, evaluates) && has_one(code, fetches))
		judge_add(j, CAT_REMOTE_CODE, SEV_BLOCK, line, "it runs what was downloaded");
	if (has_one(code, sockets) && has_one(code, shells_over))
		judge_add(j, CAT_NETWORK, SEV_BLOCK, line, "it gives a shell away");
	if (strstr(code, "fork while") ||
	    (strstr(code, "fork(") && (strstr(code, "while") || strstr(code, "loop"))))
		judge_add(j, CAT_RESOURCES, SEV_BLOCK, line, "it starts processes without end");
	if (has_one(code, dumps))
		judge_add(j, CAT_CREDENTIALS, SEV_WARN, line,
			  "it shows the whole environment, with what is secret in it");
	if (strstr(code, "setuid(0") || strstr(code, "setgid(0") || strstr(code, "setreuid(0"))
		judge_add(j, CAT_PRIVILEGE, SEV_BLOCK, line, "it acts with another user's rights");
	if (strstr(code, "kill(-1") || strstr(code, "kill -9, -1"))
		judge_add(j, CAT_TRACES, SEV_BLOCK, line, "it ends every process of the user");
}

static void check_values(struct judge *j, struct program *p, const struct values *v)
{
	for (unsigned int i = 0; i < v->n; i++)
		if (!value_is_any(v->v[i]))
			check_code(j, p, v->v[i]);
	if (v->taint & (TAINT_NET | TAINT_CODED))
		judge_add(j, CAT_REMOTE_CODE, SEV_BLOCK, judge_line(j, &p->argv),
			  "it runs what was downloaded or decoded");
}

/* Options that are followed by code; "0": the first operand is code. */
static const struct {
	const char *name, *options;
} languages[] = {
	{"python", "-c"},    {"perl", "-e -E"},
	{"ruby", "-e"},	     {"node", "-e -p --eval --print"},
	{"nodejs", "-e -p"}, {"deno", "eval"},
	{"bun", "-e"},	     {"php", "-r"},
	{"lua", "-e"},	     {"awk", "0"},
	{"gawk", "0"},	     {"mawk", "0"},
	{"nawk", "0"},	     {"osascript", "-e"},
	{"tclsh", "-"},	     {"Rscript", "-e"},
	{"pypy", "-c"},	     {"julia", "-e"},
	{"elixir", "-e"},    {"ipython", "-c"},
};

static bool is_language(const char *name, const char *language)
{
	size_t n = strlen(language);

	return strncmp(name, language, n) == 0 &&
	       strspn(name + n, "0123456789.") == strlen(name + n);
}

static bool ends_option(const char *field, const char *options)
{
	size_t n = strlen(field);

	for (const char *o = options; *o;) {
		size_t k = strcspn(o, " ");

		if (k == n && memcmp(o, field, n) == 0)
			return true;
		/* -we, -lne: the letter is the last one of a cluster */
		if (k == 2 && field[0] == '-' && n > 2 && field[1] != '-' && n < 8 &&
		    field[n - 1] == o[1])
			return true;
		o += k;
		o += *o == ' ';
	}
	return false;
}

static void run_language(struct judge *j, struct program *p, const char *options)
{
	bool operand = false;

	for (unsigned int i = 1; i < p->argv.n; i++) {
		struct values code;

		if (streq(options, "0") ? p->argv.v[i][0] != '-' && !operand
					: i > 1 && ends_option(p->argv.v[i - 1], options)) {
			code = values_one(j, value_plain(j, p->argv.v[i]));
			code.taint = p->argv.taint;
			check_values(j, p, &code);
			operand = true;
		} else if (p->argv.v[i][0] != '-') {
			struct judge_name *file = judge_find(j->files, p->argv.v[i]);

			operand = true;
			if (file)
				check_values(j, p, &file->values);
		} else if (streq(p->argv.v[i], "-m")) {
			operand = true;
		}
	}
	if (!operand && p->in)
		check_values(j, p, p->in);
}

/* vim -c ':!…', ed with !… on stdin; sed '1e …' */
static void run_editor(struct judge *j, struct program *p)
{
	for (unsigned int i = 1; i < p->argv.n; i++) {
		const char *s = p->argv.v[i] + strspn(p->argv.v[i], "+:0123456789,$%"),
			   *bang = strchr(s, '!');

		if (streq(p->name, "sed") && s[0] == 'e' && s[1] == ' ')
			try_script(j, s + 2);
		else if (!streq(p->name, "sed") && bang && (bang == s || i > 1))
			try_script(j, bang + 1);
		if (strstr(s, "system("))
			check_code(j, p, s);
	}
}

bool program_code(struct judge *j, struct program *p)
{
	static const char *const editors[] = {"vi", "vim",   "nvim", "ex",
					      "ed", "emacs", "sed",  "view"};

	for (size_t i = 0; i < ARRAY_SIZE(editors); i++)
		if (streq(p->name, editors[i])) {
			run_editor(j, p);
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (is_language(p->name, languages[i].name)) {
			run_language(j, p, languages[i].options);
			return true;
		}
	return false;
}
