/* The bodies of messages. What the other end says is checked here; what it means is not. */
#include "wire/fleet.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "build-config.h"

#define WHY_MAX 1024
#define LOG_NAME_MAX 100
#define LOG_PATH_MAX 400
#define COMMIT_LEN 40
#define DIGEST_LEN 64

enum kind {
	COMMIT,	   /* 40 hex digits */
	NO_COMMIT, /* the same, or "" */
	LEASE,
	DIGEST,
	NAME,	 /* printable ASCII, at least one */
	NO_NAME, /* the same, or "" */
	TEXT,	 /* any text without a control character, WHY_MAX */
	BLOB,	 /* any text */
	NO_BLOB, /* the same, or missing: NULL */
	NUMBER,
	BOOL,
	ARRAY,
	OBJECT,
	NO_OBJECT, /* the same, or missing: NULL */
};

struct field {
	const char *key;
	enum kind kind;
	size_t at;
};

static bool is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

static bool is_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (s[i] < 0x20 || s[i] > 0x7e)
			return false;
	return n > 0 && n <= FLEET_TEXT_MAX;
}

static bool is_text(const char *s)
{
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return strlen(s) <= WHY_MAX;
}

static bool fits(enum kind kind, const char *s)
{
	switch (kind) {
	case NO_COMMIT:
		return !*s || is_hex(s, COMMIT_LEN);
	case COMMIT:
		return is_hex(s, COMMIT_LEN);
	case LEASE:
		return is_hex(s, FLEET_LEASE_LEN);
	case DIGEST:
		return is_hex(s, DIGEST_LEN);
	case NO_NAME:
		return !*s || is_name(s);
	case NAME:
		return is_name(s);
	case TEXT:
		return is_text(s);
	case BLOB:
	case NO_BLOB:
		return true;
	case NUMBER:
	case BOOL:
	case ARRAY:
	case OBJECT:
	case NO_OBJECT:
		break;
	}
	return false;
}

static int read_text(const json_t *doc, const struct field *f, const char **ret, struct err *err)
{
	int r;

	*ret = NULL;
	r = f->kind == NO_BLOB ? json_opt_str(doc, f->key, ret, err)
			       : json_get_str(doc, f->key, ret, err);
	if (r < 0 || !*ret || fits(f->kind, *ret))
		return r;
	return err_set(err, EPROTO, "'%s' is not as it must be", f->key);
}

static int read_tree(const json_t *doc, const struct field *f, const json_t **ret, struct err *err)
{
	const json_t *j = json_object_get(doc, f->key);

	*ret = j;
	if (!j && f->kind == NO_OBJECT)
		return 0;
	if (f->kind == ARRAY ? json_is_array(j) : json_is_object(j))
		return 0;
	return err_set(err, EPROTO, "'%s' is missing, or of another type", f->key);
}

static int read_field(const json_t *doc, const struct field *f, void *to, struct err *err)
{
	void *at = (char *)to + f->at;

	switch (f->kind) {
	case NUMBER:
		return json_get_uint(doc, f->key, at, err);
	case BOOL:
		return json_get_bool(doc, f->key, at, err);
	case ARRAY:
	case OBJECT:
	case NO_OBJECT:
		return read_tree(doc, f, at, err);
	case COMMIT:
	case NO_COMMIT:
	case LEASE:
	case DIGEST:
	case NAME:
	case NO_NAME:
	case TEXT:
	case BLOB:
	case NO_BLOB:
		break;
	}
	return read_text(doc, f, at, err);
}

/* *ret_doc is NULL after an error. */
static int read_doc(const struct fleet_msg *m, const struct field *fields, size_t n, void *to,
		    json_t **ret_doc, struct err *err)
{
	json_t *doc = NULL;
	int r = json_parse(m->len ? m->data : "", m->len, &doc, err);

	*ret_doc = NULL;
	if (r == 0 && !json_is_object(doc))
		r = err_set(err, EPROTO, "it is no object");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_field(doc, &fields[i], to, err);
	if (r < 0) {
		json_decref(doc);
		return err_wrap(err, -EPROTO, "%s", fleet_type_name(m->type));
	}
	*ret_doc = doc;
	return 0;
}

static json_t *field_json(const struct field *f, const void *from)
{
	const void *at = (const char *)from + f->at;

	switch (f->kind) {
	case NUMBER:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case BOOL:
		return json_boolean(*(const bool *)at);
	case ARRAY:
	case OBJECT:
	case NO_OBJECT:
		return json_incref(*(json_t *const *)at);
	case COMMIT:
	case NO_COMMIT:
	case LEASE:
	case DIGEST:
	case NAME:
	case NO_NAME:
	case TEXT:
	case BLOB:
	case NO_BLOB:
		break;
	}
	return *(const char *const *)at ? json_text(*(const char *const *)at) : NULL;
}

static void add_fields(json_t *j, const struct field *fields, size_t n, const void *from)
{
	for (size_t i = 0; i < n; i++) {
		json_t *value = field_json(&fields[i], from);

		if (value)
			(void)json_object_set_new(j, fields[i].key, value);
	}
}

/* clang-format off */
#define AT(type, member) offsetof(struct type, member)
static const struct field start_fields[] = {
	{"protocol", NUMBER,  AT(fleet_start, protocol)},
	{"version",  NAME,    AT(fleet_start, version)},
	{"engine",   NO_NAME, AT(fleet_start, engine)},
	{"lease_ms", NUMBER,  AT(fleet_start, lease_ms)},
	{"slots",    NUMBER,  AT(fleet_start, slots)},
	{"probe",    BOOL,    AT(fleet_start, probe)},
};
static const struct field hello_fields[] = {
	{"protocol", NUMBER,  AT(fleet_hello, protocol)},
	{"version",  NAME,    AT(fleet_hello, version)},
	{"node",     NAME,    AT(fleet_hello, node)},
	{"job",	     NO_NAME, AT(fleet_hello, job)},
	{"engine",   NO_NAME, AT(fleet_hello, engine)},
	{"usable",   BOOL,    AT(fleet_hello, usable)},
	{"why",	     TEXT,    AT(fleet_hello, why)},
	{"agents",   ARRAY,   AT(fleet_hello, agents)},
	{"slots",    NUMBER,  AT(fleet_hello, slots)},
	{"pid",	     NUMBER,  AT(fleet_hello, pid)},
	{"time_ms",  NUMBER,  AT(fleet_hello, time_ms)},
};
static const struct field task_fields[] = {
	{"lease",	 LEASE,	  AT(fleet_task, lease)},
	{"epoch",	 NUMBER,  AT(fleet_task, epoch)},
	{"loop",	 NAME,	  AT(fleet_task, loop)},
	{"task",	 NAME,	  AT(fleet_task, task)},
	{"base",	 COMMIT,  AT(fleet_task, base)},
	{"start",	 COMMIT,  AT(fleet_task, start)},
	{"branch",	 NAME,	  AT(fleet_task, branch)},
	{"author_name",	 BLOB,	  AT(fleet_task, author_name)},
	{"author_email", BLOB,	  AT(fleet_task, author_email)},
	{"config",	 BLOB,	  AT(fleet_task, config)},
	{"flags",	 ARRAY,	  AT(fleet_task, flags)},
	{"list",	 OBJECT,  AT(fleet_task, list)},
	{"prompt",	 NO_BLOB, AT(fleet_task, prompt)},
	{"request",	 OBJECT,  AT(fleet_task, request)},
	{"credentials",	 ARRAY,	  AT(fleet_task, credentials)},
	{"egress",	 NAME,	  AT(fleet_task, egress)},
};
static const struct field pack_fields[] = {
	{"lease",  LEASE,     AT(fleet_pack_end, lease)},
	{"head",   COMMIT,    AT(fleet_pack_end, head)},
	{"since",  NO_COMMIT, AT(fleet_pack_end, since)},
	{"sha256", DIGEST,    AT(fleet_pack_end, sha256)},
	{"bytes",  NUMBER,    AT(fleet_pack_end, bytes)},
};
static const struct field record_fields[] = {
	{"lease",   LEASE,  AT(fleet_record, lease)},
	{"summary", OBJECT, AT(fleet_record, summary)},
};
static const struct field verdict_fields[] = {
	{"lease",   LEASE,     AT(fleet_verdict, pack.lease)},
	{"head",    NO_COMMIT, AT(fleet_verdict, pack.head)},
	{"since",   NO_COMMIT, AT(fleet_verdict, pack.since)},
	{"sha256",  DIGEST,    AT(fleet_verdict, pack.sha256)},
	{"bytes",   NUMBER,    AT(fleet_verdict, pack.bytes)},
	{"code",    NUMBER,    AT(fleet_verdict, code)},
	{"why",	    TEXT,      AT(fleet_verdict, why)},
	{"summary", NO_OBJECT, AT(fleet_verdict, summary)},
};
static const struct field ack_fields[] = {
	{"lease",   LEASE,     AT(fleet_ack, lease)},
	{"head",    NO_COMMIT, AT(fleet_ack, head)},
	{"verdict", BOOL,      AT(fleet_ack, verdict)},
};
static const struct field rules_fields[] = {
	{"rules", ARRAY, AT(fleet_rules, rules)},
};
static const struct field question_fields[] = {
	{"id",	    NAME,   AT(fleet_question, id)},
	{"kind",    NAME,   AT(fleet_question, kind)},
	{"what",    BLOB,   AT(fleet_question, what)},
	{"why",	    BLOB,   AT(fleet_question, why)},
	{"choices", ARRAY,  AT(fleet_question, choices)},
	{"wait_s",  NUMBER, AT(fleet_question, wait_s)},
};
static const struct field reply_fields[] = {
	{"id",	  NAME,	   AT(fleet_reply, id)},
	{"allow", BOOL,	   AT(fleet_reply, allow)},
	{"text",  BLOB,	   AT(fleet_reply, text)},
	{"scope", NO_NAME, AT(fleet_reply, scope)},
};
#undef AT
/* clang-format on */

#define READER(what, fields)                                                                       \
	int fleet_##what##_read(const struct fleet_msg *m, struct fleet_##what *ret,               \
				struct err *err)                                                   \
	{                                                                                          \
		json_t *doc;                                                                       \
		int r;                                                                             \
                                                                                                   \
		*ret = (struct fleet_##what){0};                                                   \
		r = read_doc(m, fields, ARRAY_SIZE(fields), ret, &doc, err);                       \
		ret->doc = doc;                                                                    \
		return r;                                                                          \
	}                                                                                          \
	json_t *fleet_##what##_json(const struct fleet_##what *from)                               \
	{                                                                                          \
		json_t *j = json_object();                                                         \
                                                                                                   \
		add_fields(j, fields, ARRAY_SIZE(fields), from);                                   \
		return j;                                                                          \
	}

READER(start, start_fields)
READER(hello, hello_fields)
READER(task, task_fields)
READER(pack_end, pack_fields)
READER(record, record_fields)
READER(verdict, verdict_fields)
READER(ack, ack_fields)
READER(rules, rules_fields)
READER(question, question_fields)
READER(reply, reply_fields)

int fleet_stop_read(const struct fleet_msg *m, bool *ret_now, struct err *err)
{
	static const struct field fields[] = {{"when", NAME, 0}};
	const char *when = NULL;
	json_t *doc;
	int r = read_doc(m, fields, ARRAY_SIZE(fields), &when, &doc, err);

	if (r == 0 && (!when || (!streq(when, "now") && !streq(when, "after"))))
		r = err_set(err, EPROTO, "STOP: 'when' is now or after");
	*ret_now = r == 0 && streq(when, "now");
	json_decref(doc);
	return r;
}

int fleet_limit_read(const struct fleet_msg *m, uint64_t *ret_for_ms, struct err *err)
{
	static const struct field fields[] = {{"for_ms", NUMBER, 0}};
	json_t *doc;
	int r = read_doc(m, fields, ARRAY_SIZE(fields), ret_for_ms, &doc, err);

	json_decref(doc);
	return r;
}

json_t *fleet_stop_json(bool now)
{
	return json_pack("{ss}", "when", now ? "now" : "after");
}

json_t *fleet_limit_json(uint64_t for_ms)
{
	return json_pack("{sI}", "for_ms", (json_int_t)for_ms);
}

int fleet_same_version(uint64_t protocol, const char *version, const char *who, struct err *err)
{
	if (protocol == FLEET_PROTOCOL && streq(version, RALPH_VERSION))
		return 0;
	return err_set(err, EPROTONOSUPPORT,
		       "%s has ralph %s (protocol %llu), and here is %s (protocol %d); install the "
		       "same version on both",
		       who, version, (unsigned long long)protocol, RALPH_VERSION, FLEET_PROTOCOL);
}

/* ---- bodies of bytes ---- */

static uint32_t get_u32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get_u64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static size_t put_u32(char *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
	return sizeof(v);
}

static size_t put_u64(char *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
	return sizeof(v);
}

int fleet_ask_read(const struct fleet_msg *m, struct fleet_ask *ret)
{
	if (m->len < 12)
		return -EPROTO;
	*ret = (struct fleet_ask){
		.line = get_u32(m->data),
		.number = get_u32(m->data + 4),
		.kind = get_u32(m->data + 8),
		.body = m->data + 12,
		.len = m->len - 12,
	};
	return ret->line < FLEET_LINES_MAX ? 0 : -EPROTO;
}

int fleet_ask_put(struct fleet_out *out, enum fleet_type type, uint32_t id,
		  const struct fleet_ask *a)
{
	size_t n = 12 + a->len;
	char *body = xmalloc(n);
	int r;

	(void)put_u32(body, a->line);
	(void)put_u32(body + 4, a->number);
	(void)put_u32(body + 8, a->kind);
	memcpy(body + 12, a->body, a->len);
	r = fleet_put(out, type, id, body, n);
	explicit_bzero(body, n);
	free(body);
	return r;
}

int fleet_open_read(const struct fleet_msg *m, struct fleet_open *ret)
{
	size_t n = m->len < 8 ? 0 : m->len - 8;

	*ret = (struct fleet_open){0};
	if (n == 0 || n >= sizeof(ret->target) || get_u32(m->data + 4) >= FLEET_OPEN_N)
		return -EPROTO;
	ret->channel = get_u32(m->data);
	ret->kind = (enum fleet_open_kind)get_u32(m->data + 4);
	memcpy(ret->target, m->data + 8, n);
	for (size_t i = 0; i < n; i++)
		if (ret->target[i] <= 0x20 || ret->target[i] > 0x7e)
			return -EPROTO;
	return 0;
}

int fleet_open_put(struct fleet_out *out, uint32_t id, const struct fleet_open *o)
{
	char body[8 + sizeof(o->target)];
	size_t n = strnlen(o->target, sizeof(o->target) - 1);

	(void)put_u32(body, o->channel);
	(void)put_u32(body + 4, (uint32_t)o->kind);
	memcpy(body + 8, o->target, n);
	return fleet_put(out, FLEET_OPEN, id, body, 8 + n);
}

int fleet_pair_read(const struct fleet_msg *m, uint32_t *ret_channel, uint32_t *ret_value)
{
	if (m->len != 8)
		return -EPROTO;
	*ret_channel = get_u32(m->data);
	*ret_value = get_u32(m->data + 4);
	return 0;
}

int fleet_pair_put(struct fleet_out *out, enum fleet_type type, uint32_t id, uint32_t channel,
		   uint32_t value)
{
	char body[8];

	(void)put_u32(body, channel);
	(void)put_u32(body + 4, value);
	return fleet_put(out, type, id, body, sizeof(body));
}

int fleet_data_read(const struct fleet_msg *m, uint32_t *ret_channel, const char **ret,
		    size_t *ret_n)
{
	if (m->len <= 4)
		return -EPROTO;
	*ret_channel = get_u32(m->data);
	*ret = m->data + 4;
	*ret_n = m->len - 4;
	return 0;
}

int fleet_data_put(struct fleet_out *out, uint32_t id, uint32_t channel, const void *p, size_t n)
{
	char body[FLEET_BODY_MAX];

	if (n > sizeof(body) - 4)
		return -EMSGSIZE;
	(void)put_u32(body, channel);
	memcpy(body + 4, p, n);
	return fleet_put(out, FLEET_DATA, id, body, 4 + n);
}

int fleet_ping_read(const struct fleet_msg *m, uint64_t *ret_number, uint64_t *ret_time_ms)
{
	if (m->len != (m->type == FLEET_PONG ? 16 : 8))
		return -EPROTO;
	*ret_number = get_u64(m->data);
	*ret_time_ms = m->len == 16 ? get_u64(m->data + 8) : 0;
	return 0;
}

int fleet_ping_put(struct fleet_out *out, enum fleet_type type, uint64_t number, uint64_t time_ms)
{
	char body[16];
	size_t n = put_u64(body, number);

	if (type == FLEET_PONG)
		n += put_u64(body + n, time_ms);
	return fleet_put(out, type, 0, body, n);
}

static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "0123456789._-";

bool fleet_log_name_valid(const char *p, size_t n)
{
	if (n == 0 || n > LOG_NAME_MAX || *p == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!p[i] || !strchr(fine, p[i]))
			return false;
	return true;
}

bool fleet_log_path_valid(const char *p, size_t n)
{
	const size_t home = sizeof(FLEET_LOG_HOME) - 1;
	size_t part = 0;

	if (n <= home || n > LOG_PATH_MAX || memcmp(p, FLEET_LOG_HOME, home) != 0)
		return fleet_log_name_valid(p, n);
	for (size_t i = home; i <= n; i++) {
		if (i < n && p[i] != '/') {
			if (!p[i] || !strchr(fine, p[i]))
				return false;
			part++;
			continue;
		}
		if (part == 0 || (part <= 2 && memcmp(p + i - part, "..", part) == 0))
			return false;
		part = 0;
	}
	return true;
}

int fleet_lease_make(char ret[FLEET_LEASE_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char raw[FLEET_LEASE_LEN / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	for (size_t i = 0; i < sizeof(raw); i++) {
		ret[2 * i] = hex[raw[i] >> 4];
		ret[2 * i + 1] = hex[raw[i] & 15];
	}
	ret[FLEET_LEASE_LEN] = '\0';
	return 0;
}
