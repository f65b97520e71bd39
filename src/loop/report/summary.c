#include "loop/report/report.h"

#include <stdio.h>

#include "view/refused-line.h"

#define NAMES_SHOWN 8

json_t *summary_refused(const struct loop *l)
{
	cleanup_strv struct strv hosts = {0};
	json_t *a = json_array();

	(void)refused_hosts_all(l, &hosts);
	for (size_t i = 0; i < hosts.n; i++)
		(void)json_array_append_new(a, json_text(hosts.v[i]));
	return a;
}

json_t *summary_unverified(const struct loop *l)
{
	json_t *a = json_array();

	for (size_t i = 0; l->work && i < l->work->n; i++)
		if (l->work->tasks[i]->state == TASK_DONE && !verify_proves(l, l->work->tasks[i]))
			(void)json_array_append_new(a, json_text(l->work->tasks[i]->id));
	return a;
}

static void print_refused(const struct loop *l)
{
	cleanup_strv struct strv hosts = {0};
	bool others = refused_hosts_all(l, &hosts);
	cleanup_free char *line = refused_line(&hosts, others);

	if (line)
		(void)puts(line);
}

static void print_quarantined(const struct loop *l)
{
	cleanup_json json_t *files = quarantined_all(l);
	const json_t *file;
	size_t i;

	json_array_foreach (files, i, file) {
		if (i == NAMES_SHOWN)
			break;
		(void)fputs("moved to quarantine: ", stdout);
		term_puts(stdout, json_string_value(json_object_get(file, "path")));
		(void)printf(" (ralph quarantine show %s)\n",
			     json_string_value(json_object_get(file, "id")));
	}
	if (json_array_size(files) > NAMES_SHOWN)
		(void)printf("moved to quarantine: %zu more (ralph quarantine ls)\n",
			     json_array_size(files) - NAMES_SHOWN);
}

static void print_unverified(const struct loop *l)
{
	cleanup_json json_t *ids = summary_unverified(l);
	const json_t *id;
	size_t i;

	if (json_array_size(ids) == 0)
		return;
	(void)fputs("done, but no command verified: ", stdout);
	json_array_foreach (ids, i, id) {
		if (i == NAMES_SHOWN)
			break;
		(void)fputs(i ? ", " : "", stdout);
		term_puts(stdout, json_string_value(id));
	}
	if (json_array_size(ids) > NAMES_SHOWN)
		(void)printf(" and %zu more", json_array_size(ids) - NAMES_SHOWN);
	(void)fputc('\n', stdout);
}

static void print_setup(const struct loop *l)
{
	const long long runs = json_integer_value(json_object_get(l->state.setup, "runs"));
	const long long ms = json_integer_value(json_object_get(l->state.setup, "ms"));

	if (runs)
		(void)printf("setup: %lld run%s, %lld s, beside the iterations\n", runs,
			     runs == 1 ? "" : "s", (ms + 999) / 1000);
}

void summary_print(const struct loop *l, const char *transcripts)
{
	print_setup(l);
	print_refused(l);
	print_quarantined(l);
	print_unverified(l);
	if (!transcripts)
		return;
	(void)fputs("conversations: ", stdout);
	term_puts(stdout, transcripts);
	(void)fputc('\n', stdout);
}
