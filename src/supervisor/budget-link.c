/*
 * The budget of a sandbox, request by request.
 *
 * DOC: Theory of operation
 *
 * Before the gateway sends a request that uses tokens the reader asks (GW_SPEND), with the most that the
 * request can use. The request may go if what was spent, and what is reserved for requests under way,
 * leave something of the budget; then its own most is reserved too. So all requests together spend at
 * most the budget and one request. A request that finds nothing left only because of others waits
 * until one of them is over. When gateway or reader ends, what was under way costs what was reserved.
 *
 * The list of reservations lies in a file too, which is written before a request may go and again when
 * it is over. A supervisor that is killed leaves it, and the next one settles what is in it. Between
 * the record of a request and its leaving the file a kill counts it twice, never not at all.
 */
#include "supervisor/supervisor.h"

#include <string.h>

#include "base/path.h"

#define RESERVED_FILE "reserved.json"
#define RESERVED_FILE_MAX (1 * MiB)

static void push(struct reservations *list, const struct reservation *r)
{
	list->v = xrealloc(list->v, list->n + 1, sizeof(*list->v));
	list->v[list->n++] = *r;
}

static void drop(struct reservations *list, size_t i)
{
	list->n--;
	memmove(&list->v[i], &list->v[i + 1], (list->n - i) * sizeof(*list->v));
}

void budget_link_done(struct reservation *r)
{
	free(r->credential);
	free(r->model);
	*r = (struct reservation){0};
}

static json_t *to_json(const struct reservation *r)
{
	return json_pack("{so so sI sI sI sI}", "credential", json_text(r->credential), "model",
			 json_text(r->model), "input", (json_int_t)r->tokens.input, "output",
			 (json_int_t)r->tokens.output, "cache_write",
			 (json_int_t)r->tokens.cache_write, "micro_usd", (json_int_t)r->micro_usd);
}

static int save(const struct supervisor *s)
{
	cleanup_json json_t *all = json_array();
	cleanup_free char *text = NULL;

	for (size_t i = 0; i < s->usage.reserved.n; i++)
		(void)json_array_append_new(all, to_json(&s->usage.reserved.v[i]));
	text = json_dumps(all, JSON_COMPACT);
	return text ? path_write_atomic(s->entry.dir, RESERVED_FILE, text, strlen(text), 0600, 0)
		    : -ENOMEM;
}

static int settle_left(struct supervisor *s, const json_t *row, struct err *err)
{
	const char *credential = NULL, *model = NULL;
	struct reservation r = {0};
	int res = json_get_str(row, "credential", &credential, err);

	if (res == 0)
		res = json_get_str(row, "model", &model, err);
	if (res == 0)
		res = json_get_uint(row, "input", &r.tokens.input, err);
	if (res == 0)
		res = json_get_uint(row, "output", &r.tokens.output, err);
	if (res == 0)
		res = json_get_uint(row, "cache_write", &r.tokens.cache_write, err);
	if (res == 0)
		res = json_get_uint(row, "micro_usd", &r.micro_usd, err);
	if (res < 0)
		return res;
	r.credential = xstrdup(credential);
	r.model = xstrdup(model);
	usage_link_settle(s, &r);
	budget_link_done(&r);
	return 0;
}

int budget_link_start(struct supervisor *s, struct err *err)
{
	cleanup_json json_t *all = NULL;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, RESERVED_FILE_MAX);
	r = path_read(s->entry.dir, RESERVED_FILE, &b);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = json_parse(buf_str(&b), b.len, &all, err);
	else
		r = err_sys(err, -r, "cannot read it");
	for (size_t i = 0; r == 0 && i < json_array_size(all); i++)
		r = settle_left(s, json_array_get(all, i), err);
	if (r == 0 && json_array_size(all) && save(s) < 0)
		r = err_set(err, EIO, "cannot write it");
	return r < 0 ? err_wrap(err, r, "cannot settle what was reserved before: %s", RESERVED_FILE)
		     : 0;
}

/* The most that it can cost: all input is written to a cache where that is dearer. */
static struct reservation price_up(const struct supervisor *s, const struct gw_spend *a,
				   uint32_t id)
{
	uint64_t output = a->output ? a->output : price_output_max(a->model);
	struct reservation r = {
		.id = id, .credential = xstrdup(a->credential), .model = xstrdup(a->model)};
	struct price price;

	price_find(a->model, &s->spec->prices, &price);
	if (__builtin_mul_overflow(output, a->answers, &r.tokens.output) ||
	    r.tokens.output > GW_TOKENS_MAX)
		r.tokens.output = GW_TOKENS_MAX;
	if (price.cache_write > price.input)
		r.tokens.cache_write = a->input;
	else
		r.tokens.input = a->input;
	r.micro_usd = price_of(&price, &r.tokens);
	return r;
}

/* Does what was spent and reserved leave something? */
static bool is_left(const struct supervisor *s)
{
	const struct spec_budget *b = &s->spec->budget;
	uint64_t micro_usd = s->usage.micro_usd, tokens = s->usage.tokens;

	for (size_t i = 0; i < s->usage.reserved.n; i++) {
		const struct reservation *r = &s->usage.reserved.v[i];

		micro_usd += r->micro_usd;
		tokens += r->tokens.input + r->tokens.output + r->tokens.cache_write;
	}
	return (!b->micro_usd || micro_usd < b->micro_usd) && (!b->tokens || tokens < b->tokens);
}

static void answer(const struct supervisor *s, uint32_t id, int eno, const char *why)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, (uint32_t)eno);
	wire_put_str(&b, why);
	(void)wire_send(s->reader.half.sock, (enum wire_type)GW_SPEND_IS, id, &b, NULL, 0);
}

/* false: it has to wait. Takes the content of r otherwise. */
static bool decide(struct supervisor *s, struct reservation *r)
{
	cleanup_free char *why = usage_link_closed(s);

	if (why && why[0]) {
		usage_link_over(s, r->credential, why);
		answer(s, r->id, EDQUOT, why);
		budget_link_done(r);
		return true;
	}
	if (!is_left(s) || s->usage.reserved.n >= SUP_RESERVED_MAX)
		return false;
	push(&s->usage.reserved, r);
	if (save(s) < 0) {
		drop(&s->usage.reserved, s->usage.reserved.n - 1);
		answer(s, r->id, EIO, "the reservation for this request cannot be written down");
		budget_link_done(r);
		return true;
	}
	answer(s, r->id, 0, "");
	return true;
}

void budget_link_ask(struct supervisor *s, const struct wire_msg *m)
{
	struct reservation r;
	struct gw_spend a;

	if (gw_get_spend(m, &a) < 0 || m->id == 0)
		return;
	r = price_up(s, &a, m->id);
	/* Whoever came before goes first. */
	if (s->usage.waiting.n == 0 && decide(s, &r))
		return;
	if (s->usage.waiting.n < SUP_WAITING_MAX) {
		push(&s->usage.waiting, &r);
		return;
	}
	answer(s, r.id, EAGAIN, "the rest of the budget is reserved by requests under way");
	budget_link_done(&r);
}

void budget_link_next(struct supervisor *s)
{
	struct reservations *w = &s->usage.waiting;

	(void)save(s); /* as in budget_link_end() */
	while (w->n && decide(s, &w->v[0]))
		drop(w, 0);
}

bool budget_link_take(struct supervisor *s, uint32_t id, struct reservation *ret)
{
	struct reservations *list = &s->usage.reserved;

	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].id == id) {
			*ret = list->v[i];
			drop(list, i);
			return true;
		}
	return false;
}

static void clear(struct reservations *list)
{
	for (size_t i = 0; i < list->n; i++)
		budget_link_done(&list->v[i]);
	free(list->v);
	*list = (struct reservations){0};
}

void budget_link_end(struct supervisor *s)
{
	bool any = s->usage.reserved.n > 0;

	for (size_t i = 0; i < s->usage.reserved.n; i++)
		usage_link_settle(s, &s->usage.reserved.v[i]);
	clear(&s->usage.reserved);
	clear(&s->usage.waiting);
	if (any)
		(void)save(s); /* the old file would count them once more: the safe side */
}
