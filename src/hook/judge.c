#include "hook/judge.h"

#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/rules.h"

#define VARIANTS_MAX 256 /* of one command; beyond it not every combination is judged */

void judge_init(struct judge *j, struct arena *a, const char *cwd, const char *home)
{
	*j = (struct judge){.arena = a, .root = cwd, .cwd = cwd, .home = home};
}

void judge_add(struct judge *j, enum category c, enum severity s, const char *text, const char *why)
{
	for (unsigned int i = 0; i < j->n_findings; i++)
		if (j->findings[i].category == c && j->findings[i].severity == s &&
		    streq(j->findings[i].text, text))
			return;
	if (j->n_findings < JUDGE_FINDINGS)
		j->findings[j->n_findings++] = (struct finding){c, s, text, why};
}

struct judge_name *judge_find(struct judge_name *list, const char *name)
{
	for (; list; list = list->next)
		if (streq(list->name, name))
			return list;
	return NULL;
}

static struct judge_name *name_of(struct judge *j, struct judge_name **list, const char *name)
{
	struct judge_name *n = judge_find(*list, name);

	if (n)
		return n;
	n = arena_alloc(j->arena, sizeof(*n));
	n->name = name;
	n->next = *list;
	*list = n;
	return n;
}

void judge_set(struct judge *j, struct judge_name **list, const char *name, struct values v)
{
	struct judge_name *n = name_of(j, list, name);

	if (!j->conditional) {
		n->values = v;
		return;
	}
	for (unsigned int i = 0; i < v.n; i++)
		values_add(j, &n->values, v.v[i]);
	n->values.taint |= v.taint;
}

const char *judge_line(struct judge *j, const struct fields *f)
{
	const char *line = "";

	for (unsigned int i = 0; i < f->n && strlen(line) < 400; i++)
		line = arena_printf(j->arena, "%s%s%.200s", line, i ? " " : "", f->v[i]);
	return line;
}

static void assign(struct judge *j, const struct shell_assign *a)
{
	struct values v = !a->value  ? values_one(j, "")
			  : a->array ? expand_words(j, a->value)
				     : expand_value(j, a->value);
	struct judge_name *old = judge_find(j->vars, a->name);

	if (a->append && old && old->values.n) {
		struct values before = old->values;

		v = values_join(j, &before, &v);
	}
	judge_set(j, &j->vars, a->name, v);
	rules_assignment(j, a->name, &v);
}

/* Returns the input text of a redirection; NULL: none. */
static const struct values *redirect(struct judge *j, const struct shell_redir *r,
				     const struct values *in, const struct values *out)
{
	struct values target = expand_value(j, r->target), *text;

	if (r->kind == REDIR_HERE || r->kind == REDIR_IN) {
		text = arena_alloc(j->arena, sizeof(*text));
		*text = target;
		if (r->kind == REDIR_HERE)
			return text;
	}
	for (unsigned int i = 0; i < target.n; i++) {
		struct judge_name *known = judge_find(j->files, target.v[i]);

		if (r->kind == REDIR_DUP)
			continue;
		rules_redirect(j, target.v[i], r->kind == REDIR_OUT);
		if (r->kind == REDIR_OUT && out)
			judge_set(j, &j->files, target.v[i], *out);
		if (r->kind == REDIR_IN && known) {
			text = arena_alloc(j->arena, sizeof(*text));
			*text = known->values;
			return text;
		}
	}
	if (r->kind == REDIR_IN) {
		text = arena_alloc(j->arena, sizeof(*text));
		*text = values_any(j, 0);
		return text;
	}
	return in;
}

/* Counts the combinations of the words' possible values. */
static unsigned int count_variants(const struct values *words, unsigned int n)
{
	unsigned int all = 1, most = 1;

	for (unsigned int i = 0; i < n; i++) {
		most = words[i].n > most ? words[i].n : most;
		all *= all <= VARIANTS_MAX ? words[i].n : 1;
	}
	return all <= VARIANTS_MAX ? all : most;
}

static struct values run_words(struct judge *j, const struct values *words, unsigned int n,
			       const struct values *in)
{
	unsigned int variants = count_variants(words, n);
	struct values out = {0};

	for (unsigned int k = 0; k < variants; k++) {
		struct fields argv = {0};
		struct values one;
		unsigned int rest = k;

		for (unsigned int i = 0; i < n; i++) {
			expand_fields(j, words[i].v[rest % words[i].n], &argv);
			argv.taint |= words[i].taint;
			rest /= words[i].n;
		}
		if (!argv.n)
			continue;
		one = judge_argv(j, &argv, in);
		for (unsigned int i = 0; i < one.n; i++)
			values_add(j, &out, one.v[i]);
		out.taint |= one.taint;
		j->last_arg = argv.v[argv.n - 1];
	}
	return out.n ? out : values_one(j, "");
}

static struct values run_simple(struct judge *j, const struct shell_cmd *cmd,
				const struct values *in)
{
	struct values *words;
	unsigned int n = 0;

	for (const struct shell_assign *a = cmd->assigns; a; a = a->next)
		assign(j, a);
	for (const struct shell_word *w = cmd->words; w; w = w->next)
		n++;
	words = arena_alloc(j->arena, (n + 1) * sizeof(*words));
	n = 0;
	for (const struct shell_word *w = cmd->words; w; w = w->next)
		words[n++] = expand_word(j, w);
	return n ? run_words(j, words, n, in) : values_one(j, "");
}

static struct values run_group(struct judge *j, const struct shell_cmd *cmd,
			       const struct values *in)
{
	struct values v = values_one(j, ""), out;

	if (cmd->words)
		v = expand_words(j, cmd->words);
	if (cmd->name) {
		struct values each = {.taint = v.taint};

		for (unsigned int i = 0; i < v.n; i++) {
			struct fields f = {0};

			expand_fields(j, v.v[i], &f);
			for (unsigned int k = 0; k < f.n; k++)
				values_add(j, &each, f.v[k]);
		}
		judge_set(j, &j->vars, cmd->name, each.n ? each : values_any(j, 0));
	}
	j->conditional += cmd->conditional;
	j->in_forever += cmd->loop && !cmd->name;
	out = judge_list(j, cmd->body, in);
	j->in_forever -= cmd->loop && !cmd->name;
	j->conditional -= cmd->conditional;
	return out;
}

/* Redirections of `exec` without a command stay in effect. */
static bool is_bare_exec(const struct shell_cmd *cmd)
{
	const struct shell_word *w = cmd->words;

	return cmd->kind == CMD_SIMPLE && w && !w->next && w->first == w->last &&
	       w->first->kind == PART_TEXT && w->first->len == 4 &&
	       memcmp(w->first->text, "exec", 4) == 0;
}

static struct values run_cmd(struct judge *j, const struct shell_cmd *cmd, const struct values *in)
{
	struct judge_name *function;
	struct values out;

	for (const struct shell_redir *r = cmd->redirs; r; r = r->next)
		if (r->kind == REDIR_HERE || r->kind == REDIR_IN)
			in = redirect(j, r, in, NULL);
	if (is_bare_exec(cmd))
		j->stdin_text = in;
	if (cmd->kind == CMD_FUNCTION) {
		function = name_of(j, &j->functions, cmd->name);
		function->body = cmd->body;
		return values_one(j, "");
	}
	out = cmd->kind == CMD_SIMPLE ? run_simple(j, cmd, in) : run_group(j, cmd, in);
	for (const struct shell_redir *r = cmd->redirs; r; r = r->next)
		if (r->kind == REDIR_OUT)
			(void)redirect(j, r, in, &out);
	return out;
}

static struct values run_pipe(struct judge *j, const struct shell_pipe *pipe,
			      const struct values *in)
{
	bool several = pipe->first->next != NULL;
	struct values out = values_one(j, "");

	in = in ? in : j->stdin_text;
	if (pipe->background && j->in_forever)
		judge_add(j, CAT_RESOURCES, SEV_BLOCK, "… & in an endless loop",
			  "it starts processes without end");
	j->in_pipe += several;
	j->in_background += pipe->background;
	j->conditional += pipe->conditional;
	for (const struct shell_cmd *c = pipe->first; c; c = c->next) {
		struct values *next = arena_alloc(j->arena, sizeof(*next));

		out = run_cmd(j, c, in);
		*next = out;
		in = next;
	}
	j->conditional -= pipe->conditional;
	j->in_background -= pipe->background;
	j->in_pipe -= several;
	return out;
}

struct values judge_list(struct judge *j, const struct shell_list *list, const struct values *in)
{
	struct values out = values_one(j, "");

	if (++j->depth > JUDGE_DEPTH * 4)
		arena_give_up(j->arena, "it is nested too deeply");
	for (const struct shell_pipe *p = list->first; p; p = p->next) {
		struct values one = run_pipe(j, p, in);

		out = values_join(j, &out, &one);
	}
	j->depth--;
	return out;
}

void judge_script(struct judge *j, const char *text, size_t len)
{
	if (j->depth > JUDGE_DEPTH)
		arena_give_up(j->arena, "it is nested too deeply");
	(void)judge_list(j, shell_parse(j->arena, text, len), NULL);
}

void judge_values(struct judge *j, const struct values *scripts)
{
	for (unsigned int i = 0; i < scripts->n; i++) {
		const char *s = value_plain(j, scripts->v[i]);

		if (!value_is_any(s))
			judge_script(j, s, strlen(s));
	}
}
