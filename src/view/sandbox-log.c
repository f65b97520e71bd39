#include "view/sandbox-log.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "view/event-text.h"
#include "view/log-view.h"

#define COMMAND_MAX 512
#define TEXT_KEPT 1024 /* of an event */

static uint64_t tokens_of(const json_t *j)
{
	return (uint64_t)(log_number(j, "input") + log_number(j, "output") +
			  log_number(j, "cache_read") + log_number(j, "cache_write"));
}

static void add_usage(struct sandbox_log *l, const json_t *j, int64_t at_ms)
{
	uint64_t tokens = tokens_of(j), usd = (uint64_t)log_number(j, "micro_usd");
	int64_t second = at_ms / 1000;
	size_t slot = (size_t)(second % BOX_RATE_SLOTS);

	l->tokens += tokens;
	l->micro_usd += usd;
	if (second <= 0)
		return;
	if (l->rate[slot].second != second) {
		l->rate[slot].second = second;
		l->rate[slot].tokens = l->rate[slot].micro_usd = 0;
	}
	l->rate[slot].tokens += tokens;
	l->rate[slot].micro_usd += usd;
}

/* The first record of the newest file has the usage from before that file. */
static void add_carried(struct sandbox_log *l, const json_t *record)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(record, "usage"), i, row) {
		l->tokens += tokens_of(row);
		l->micro_usd += (uint64_t)log_number(row, "micro_usd");
	}
}

static void refused_done(struct sandbox_log_refused *r)
{
	free(r->host);
	free(r->reason);
}

static void add_refusal(struct sandbox_log *l, const json_t *j, int64_t at_ms)
{
	const char *host = log_text(j, "host");
	long long port = log_number(j, "port"), n = log_number(j, "count");
	struct sandbox_log_refused r = {.port = port};
	size_t i = 0;

	n = n > 0 ? n : 1;
	l->refused += (uint64_t)n;
	/* "(many)" is not a host that could be allowed. */
	if (!streq(log_text(j, "type"), "net") || !host[0] || host[0] == '(')
		return;
	while (i < l->n_hosts && (l->hosts[i].port != port || !streq(l->hosts[i].host, host)))
		i++;
	if (i < l->n_hosts) {
		r = l->hosts[i];
	} else {
		r.host = xstrdup(host);
		r.reason = xstrdup(log_text(j, "reason"));
		if (l->n_hosts == SANDBOX_LOG_REFUSED_MAX) {
			i = 0;
			refused_done(&l->hosts[0]);
		} else {
			i = l->n_hosts++;
		}
	}
	r.count += (uint64_t)n;
	r.last_ms = at_ms;
	memmove(&l->hosts[i], &l->hosts[i + 1], (l->n_hosts - 1 - i) * sizeof(r));
	l->hosts[l->n_hosts - 1] = r;
}

static void event_done(struct sandbox_log_event *e)
{
	free(e->type);
	free(e->text);
}

static void keep_event(struct sandbox_log *l, const json_t *j, int64_t at_ms)
{
	cleanup_free char *text = NULL;
	size_t n;

	if (l->n_events == SANDBOX_LOG_EVENTS_MAX) {
		event_done(&l->events[0]);
		memmove(&l->events[0], &l->events[1],
			(SANDBOX_LOG_EVENTS_MAX - 1) * sizeof(l->events[0]));
		l->n_events--;
	}
	text = event_text(j);
	for (n = strnlen(text, TEXT_KEPT); n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
		n--;
	l->events[l->n_events++] = (struct sandbox_log_event){
		.type = xstrdup(log_text(j, "type")),
		.text = xstrndup(text, n),
		.seq = log_number(j, "seq"),
		.at_ms = at_ms,
		.style = (int)event_style(j),
	};
}

static void drop_command(struct sandbox_log *l, size_t i)
{
	free(l->commands[i].text);
	l->n_commands--;
	memmove(&l->commands[i], &l->commands[i + 1], (l->n_commands - i) * sizeof(l->commands[0]));
}

static void add_command(struct sandbox_log *l, const json_t *argv, long long id)
{
	cleanup_buf struct buf b;
	const json_t *v;
	size_t i;

	buf_init(&b, COMMAND_MAX);
	json_array_foreach (argv, i, v)
		(void)buf_printf(&b, "%s%.400s", i ? " " : "", json_string_value(v));
	if (l->n_commands == SANDBOX_LOG_COMMANDS_MAX)
		drop_command(l, 0);
	l->commands[l->n_commands++] = (struct sandbox_log_command){xstrdup(buf_str(&b)), id};
}

const char *sandbox_log_command(const struct sandbox_log *l)
{
	return l->n_commands ? l->commands[l->n_commands - 1].text : NULL;
}

static void on_exec(struct sandbox_log *l, const json_t *j)
{
	const json_t *argv = json_object_get(j, "argv");
	const char *first = json_string_value(json_array_get(argv, 0));

	/* The self-test is not a command of the user, and its refusals are expected. */
	if (first && streq(first, "ralph-probe"))
		l->probe_id = log_number(j, "id");
	else
		add_command(l, argv, log_number(j, "id"));
}

static void on_exec_end(struct sandbox_log *l, long long id)
{
	if (l->probe_id == id)
		l->probe_id = 0;
	for (size_t i = 0; i < l->n_commands; i++)
		if (l->commands[i].id == id) {
			drop_command(l, i);
			return;
		}
}

static void forget_refusals(struct sandbox_log *l)
{
	for (size_t i = 0; i < l->n_hosts; i++)
		refused_done(&l->hosts[i]);
	l->n_hosts = 0;
	l->refused = 0;
}

static void on_lifecycle(struct sandbox_log *l, const char *type, int64_t at_ms)
{
	while (l->n_commands)
		drop_command(l, l->n_commands - 1);
	l->probe_id = 0;
	if (!streq(type, "sandbox-start"))
		return;
	l->gateway_ends = 0;
	if (!l->since_ms || l->started_ms < l->since_ms)
		forget_refusals(l);
	l->started_ms = at_ms;
}

void sandbox_log_since(struct sandbox_log *l, int64_t since_ms)
{
	if (since_ms > l->since_ms && l->started_ms < since_ms)
		forget_refusals(l);
	l->since_ms = since_ms;
}

static void on_gateway_end(struct sandbox_log *l, const json_t *j)
{
	l->gateway_ends++;
	free(l->gateway_why);
	l->gateway_why = xstrdup(log_text(j, "why"));
}

static void keep_limits(struct sandbox_log *l, json_t *limits, int64_t at_ms)
{
	if (!json_is_object(limits))
		return;
	json_decref(l->limits);
	l->limits = json_incref(limits);
	l->limits_ms = at_ms;
}

/* Allowed connections are most of a log and need no parsing. */
static bool is_ordinary(const struct events_line *l)
{
	return memmem(l->text, l->n, "\"type\":\"net\"", 12) &&
	       memmem(l->text, l->n, "\"verdict\":\"allow\"", 17);
}

void sandbox_log_take(struct sandbox_log *l, const json_t *j)
{
	const char *type = log_text(j, "type");
	int64_t at_ms = log_time_ms(log_text(j, "time"));

	l->last_ms = at_ms;
	if (streq(type, "usage"))
		add_usage(l, j, at_ms);
	else if (streq(type, "log") && !l->seen_first)
		add_carried(l, j);
	else if (streq(type, "sandbox-start") || streq(type, "sandbox-stop") ||
		 streq(type, "sandbox-killed"))
		on_lifecycle(l, type, at_ms);
	else if (streq(type, "exec"))
		on_exec(l, j);
	else if (streq(type, "exec-end") || streq(type, "exec-failed"))
		on_exec_end(l, log_number(j, "id"));
	else if (streq(type, "gateway-end"))
		on_gateway_end(l, j);
	keep_limits(l, json_object_get(j, "limits"), at_ms);
	if (l->probe_id)
		return;
	if (event_is_refusal(j))
		add_refusal(l, j, at_ms);
	keep_event(l, j, at_ms);
}

static int on_line(void *l_, const struct events_line *line)
{
	struct sandbox_log *l = l_;
	cleanup_json json_t *j = is_ordinary(line) ? NULL : json_loads(line->text, 0, NULL);

	if (j)
		sandbox_log_take(l, j);
	l->seen_first = true;
	return 0;
}

void sandbox_log_open(struct sandbox_log *l, int dir)
{
	*l = (struct sandbox_log){.dir = dir};
	events_follow_init(&l->follow, dir, on_line, l);
	l->follow.newest = true;
}

void sandbox_log_done(struct sandbox_log *l)
{
	for (size_t i = 0; i < l->n_hosts; i++)
		refused_done(&l->hosts[i]);
	for (size_t i = 0; i < l->n_events; i++)
		event_done(&l->events[i]);
	while (l->n_commands)
		drop_command(l, l->n_commands - 1);
	free(l->gateway_why);
	json_decref(l->limits);
	events_follow_done(&l->follow);
	closep(&l->dir);
}

int sandbox_log_more(struct sandbox_log *l, struct err *err)
{
	return events_follow_more(&l->follow, err);
}

void sandbox_log_rate(const struct sandbox_log *l, int64_t now_s, uint64_t *ret_tokens,
		      uint64_t *ret_usd)
{
	*ret_tokens = *ret_usd = 0;
	for (size_t i = 0; i < BOX_RATE_SLOTS; i++)
		if (l->rate[i].second > now_s - BOX_RATE_S && l->rate[i].second <= now_s) {
			*ret_tokens += l->rate[i].tokens;
			*ret_usd += l->rate[i].micro_usd;
		}
}
