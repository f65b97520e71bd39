#include "reader/parse/outline.h"

#include <string.h>

#include "base/buf.h"

/* What an open value is, or what a key announces. */
enum place {
	DATA,	 /* the client's own: not looked into */
	ROOT,	 /* parameters of the request */
	CONTENT, /* messages, and whatever is not known */
	TOOLS,
	TOOL,
	SERVERS,    /* a list that must be empty */
	PROMPT,	    /* a text; an object names one that is stored, with tools */
	GENERATION, /* Gemini's limits */
	INFERENCE,  /* those of Bedrock's converse */
	LINK,	    /* a URL, or an object with one */
	/* From here on: scalars. */
	AT_TYPE,      /* of content */
	AT_TOOL_TYPE, /* of a tool */
	AT_NAME,      /* that makes a tool a client's */
	AT_LINK,
	AT_URI,	   /* a URL in any case */
	AT_FILE,   /* the identifier of a stored file */
	AT_STORED, /* the identifier of input that is stored */
	AT_MEDIA,
	AT_MODEL,
	AT_LIMIT,	/* of the answer's tokens, in the way of the form */
	AT_OTHER_LIMIT, /* in another */
	AT_ANSWERS,
	AT_TIER,
	AT_SPEED,
};

/* Of an object of content. With an identifier and no more it stands for what the provider has. */
enum has { HAS_ID = 1 << 0, HAS_MORE = 1 << 1 };

#define FORM(f) (1u << (f))
#define ANY_FORM 0xffu

static const struct row {
	uint8_t in, is, forms;
	const char *key;
} keys[] = {
	{ROOT, TOOLS, ANY_FORM, "tools"},
	{ROOT, ROOT, ANY_FORM, "toolconfig"},			/* Bedrock */
	{ROOT, ROOT, ANY_FORM, "request"},			/* Code Assist */
	{ROOT, ROOT, ANY_FORM, "additionalmodelrequestfields"}, /* Bedrock */
	{ROOT, GENERATION, ANY_FORM, "generationconfig"},
	{ROOT, INFERENCE, ANY_FORM, "inferenceconfig"},
	{ROOT, SERVERS, ANY_FORM, "mcpservers"},
	{ROOT, PROMPT, ANY_FORM, "prompt"},
	{ROOT, CONTENT, ANY_FORM, "input"},
	{ROOT, AT_MODEL, ANY_FORM, "model"},
	{ROOT, AT_LIMIT, FORM(OUTLINE_MESSAGES) | FORM(OUTLINE_CHAT), "maxtokens"},
	{ROOT, AT_LIMIT, FORM(OUTLINE_CHAT), "maxcompletiontokens"},
	{ROOT, AT_LIMIT, FORM(OUTLINE_RESPONSES), "maxoutputtokens"},
	{ROOT, AT_OTHER_LIMIT, ANY_FORM, "maxtokens"},
	{ROOT, AT_OTHER_LIMIT, ANY_FORM, "maxoutputtokens"},
	{ROOT, AT_ANSWERS, ANY_FORM, "n"},
	{ROOT, AT_ANSWERS, ANY_FORM, "bestof"},
	{GENERATION, AT_LIMIT, FORM(OUTLINE_GEMINI), "maxoutputtokens"},
	{GENERATION, AT_ANSWERS, ANY_FORM, "candidatecount"},
	{GENERATION, DATA, ANY_FORM, "responseschema"},
	{GENERATION, DATA, ANY_FORM, "responsejsonschema"},
	{INFERENCE, AT_LIMIT, FORM(OUTLINE_CONVERSE), "maxtokens"},
	{ROOT, AT_TIER, ANY_FORM, "servicetier"},
	{ROOT, AT_SPEED, ANY_FORM, "speed"},
	{ROOT, AT_STORED, ANY_FORM, "previousresponseid"},
	{ROOT, AT_STORED, ANY_FORM, "conversation"},
	{ROOT, AT_STORED, ANY_FORM, "cachedcontent"},
	{ROOT, DATA, ANY_FORM, "metadata"},
	{CONTENT, TOOLS, ANY_FORM, "tools"}, /* Codex: additional_tools */
	{CONTENT, AT_TYPE, ANY_FORM, "type"},
	{CONTENT, LINK, ANY_FORM, "imageurl"},
	{CONTENT, LINK, ANY_FORM, "videourl"},
	{CONTENT, LINK, ANY_FORM, "audiourl"},
	{CONTENT, LINK, ANY_FORM, "fileurl"},
	{CONTENT, AT_URI, ANY_FORM, "fileuri"},
	{CONTENT, AT_URI, ANY_FORM, "gcsuri"},
	{CONTENT, AT_FILE, ANY_FORM, "fileid"},
	{CONTENT, AT_SPEED, FORM(OUTLINE_CONVERSE), "latency"},
	{CONTENT, AT_MEDIA, ANY_FORM, "mediatype"},
	{CONTENT, AT_MEDIA, ANY_FORM, "mimetype"},
	/* Arguments and results of the client's own tools, and schemas. */
	{CONTENT, DATA, ANY_FORM, "input"},
	{CONTENT, DATA, ANY_FORM, "args"},
	{CONTENT, DATA, ANY_FORM, "arguments"},
	{CONTENT, DATA, ANY_FORM, "response"},
	{CONTENT, DATA, ANY_FORM, "json"},
	{CONTENT, DATA, ANY_FORM, "schema"},
	{TOOL, TOOLS, ANY_FORM, "tools"},
	{TOOL, AT_TOOL_TYPE, ANY_FORM, "type"},
	{TOOL, AT_NAME, ANY_FORM, "name"},
	{LINK, AT_LINK, ANY_FORM, "url"},
};

/* Keys whose presence is the use of a tool. */
static const struct {
	uint8_t in;
	const char *key, *tool;
} marks[] = {
	{ROOT, "websearchoptions", "web_search"}, /* chat completions */
	{TOOL, "googlesearch", "web_search"},	     {TOOL, "googlesearchretrieval", "web_search"},
	{TOOL, "enterprisewebsearch", "web_search"}, {TOOL, "googlemaps", "google_maps"},
	{TOOL, "urlcontext", "web_fetch"},	     {TOOL, "codeexecution", "code_execution"},
	{TOOL, "filesearch", "file_search"},	     {TOOL, "retrieval", "file_search"},
	{TOOL, "systemtool", "system_tool"},	     {TOOL, "mcpservers", "mcp_servers"},
	{CONTENT, "s3location", "url_sources"},
};

/* Types of tools, without their dates. tool NULL: the client runs it, or it is data. */
static const struct {
	const char *type, *tool;
} types[] = {
	{"function", NULL},
	{"custom", NULL},
	{"namespace", NULL},
	{"localshell", NULL},
	{"applypatch", NULL},
	{"bash", NULL},
	{"texteditor", NULL},
	{"memory", NULL},
	{"computer", NULL},
	{"computeruse", NULL},
	{"computerusepreview", NULL},
	{"toolsearch", NULL}, /* in the list of the request itself */
	{"toolsearchtoolregex", NULL},
	{"toolsearchtoolbm", NULL},
	{"websearch", "web_search"},
	{"websearchpreview", "web_search"},
	{"webfetch", "web_fetch"},
	{"codeexecution", "code_execution"},
	{"codeinterpreter", "code_execution"},
	{"filesearch", "file_search"},
	{"imagegeneration", "image_generation"},
	{"mcp", "mcp_servers"},
	{"mcptoolset", "mcp_servers"},
};

/* Keys of a tool without a type or name that the client runs. */
static const char *const own_keys[] = {"functiondeclarations", "toolspec", "cachepoint",
				       "cachecontrol",	       "type",	   "name"};

void outline_init(struct outline *o, enum outline_form form, const struct strv *allowed)
{
	*o = (struct outline){.form = form, .allowed = allowed, .answers = 1, .key = ROOT};
	jscan_init(&o->j);
}

/* In the form of the tables: without case and separators. */
static void plain(const char *text, size_t n, char ret[static OUTLINE_NAME_MAX + 1])
{
	size_t at = 0;

	for (size_t i = 0; i < n && at < OUTLINE_NAME_MAX; i++)
		if (text[i] != '_' && text[i] != '-')
			ret[at++] = ascii_lower(text[i]);
	ret[at] = '\0';
}

/* Of a name that a message will show. */
static void keep_name(const char *text, size_t n, char ret[static OUTLINE_NAME_MAX + 1])
{
	size_t at = 0;

	for (size_t i = 0; i < n && at < OUTLINE_NAME_MAX; i++)
		ret[at++] = text[i] > ' ' && text[i] <= '~' && text[i] != '\'' ? text[i] : '?';
	ret[at] = '\0';
}

bool outline_use(struct outline *o, const char *tool)
{
	o->unseen = true;
	if (!o->allowed || strv_has(o->allowed, tool) || o->refused[0])
		return !o->refused[0];
	keep_name(tool, strlen(tool), o->refused);
	return false;
}

static void look_for_mark(struct outline *o, uint8_t in, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (marks[i].in == in && streq(marks[i].key, key))
			(void)outline_use(o, marks[i].tool);
}

static void note_tool_key(struct outline *o, const char *key)
{
	struct outline_tool *t = &o->tools[o->n_tools - 1];

	for (size_t i = 0; i < ARRAY_SIZE(own_keys); i++)
		if (streq(own_keys[i], key))
			return;
	if (!t->other[0])
		keep_name(o->j.text, o->j.len, t->other);
}

/* Nobody has a reason to spell a key of the request in other bytes, and readers may differ. */
static bool is_odd(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return true;
	return false;
}

/* Whatever is not known of a request is content; nothing is known of data. */
static uint8_t what(const struct outline *o, uint8_t in, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].in != in || !(keys[i].forms >> o->form & 1) || !streq(keys[i].key, key))
			continue;
		/* Deeper, the provider may not look at it. */
		if (keys[i].is == AT_LIMIT && in == ROOT && o->j.depth != 1)
			return AT_OTHER_LIMIT;
		return keys[i].is;
	}
	return in == LINK || in == TOOL ? DATA : CONTENT;
}

static void on_key(struct outline *o)
{
	uint8_t in = o->place[o->j.depth];
	char key[OUTLINE_NAME_MAX + 1];

	o->key = DATA;
	if (in == DATA)
		return;
	o->bad |= o->j.cut || is_odd(o->j.text, o->j.len);
	plain(o->j.text, o->j.len, key);
	o->key = what(o, in, key);
	if (streq(key, "id"))
		o->has[o->j.depth] |= HAS_ID;
	else if (!streq(key, "type")) /* its value tells */
		o->has[o->j.depth] |= HAS_MORE;
	look_for_mark(o, in, key);
	if (in == TOOL)
		note_tool_key(o, key);
}

static void open_tool(struct outline *o)
{
	if (o->n_tools == OUTLINE_TOOLS_DEEP)
		o->bad = true;
	else
		o->tools[o->n_tools++] = (struct outline_tool){0};
}

static void close_tool(struct outline *o)
{
	const struct outline_tool *t = &o->tools[--o->n_tools];

	if (!t->client && t->other[0])
		(void)outline_use(o, t->other);
}

/* The place of a value that opens where a scalar was expected. */
static uint8_t unexpected(struct outline *o)
{
	uint8_t key = o->key;

	if (key == AT_LINK)
		return LINK;
	o->unseen |= key == AT_STORED;
	/* A schema has such names, too. */
	if (key == AT_STORED || key == AT_TYPE || key == AT_NAME || key == AT_URI ||
	    key == AT_FILE || key == AT_MEDIA)
		return CONTENT;
	o->bad = true;
	return DATA;
}

/* The place of a value that opens, by the key or, in a list, by the list. */
static void on_open(struct outline *o, bool array)
{
	uint8_t is = o->key >= AT_TYPE ? unexpected(o) : o->key;

	if (is == TOOLS && !array)
		is = TOOL;
	else if (is == SERVERS && !array)
		(void)outline_use(o, "mcp_servers");
	else if (is == PROMPT && !array)
		(void)outline_use(o, "stored_prompts");
	if (is == TOOL)
		open_tool(o);
	o->place[o->j.depth] = is;
	o->has[o->j.depth] = 0;
	o->key = is;
}

static void on_close(struct outline *o)
{
	uint8_t was = o->place[o->j.depth + 1];

	if (was == TOOL && !o->bad)
		close_tool(o);
	o->unseen |= was == CONTENT && o->has[o->j.depth + 1] == HAS_ID;
	/* The next value of a list is what the list is. */
	o->key = o->j.depth ? o->place[o->j.depth] : ROOT;
	if (o->j.depth == 0)
		o->over = true;
}

static bool text_is(const struct outline *o, const char *s)
{
	return o->n_text == strlen(s) && memcmp(o->text, s, o->n_text) == 0;
}

/* "web_search_20250305", "web_search_preview_2025_03_11": the dates go. */
static void on_tool_type(struct outline *o)
{
	char type[OUTLINE_NAME_MAX + 1], name[OUTLINE_NAME_MAX + 1];
	size_t n = o->n_text;

	while (n && (o->text[n - 1] == '_' || (o->text[n - 1] >= '0' && o->text[n - 1] <= '9')))
		n--;
	plain(o->text, n, type);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (streq(types[i].type, type)) {
			if (types[i].tool)
				(void)outline_use(o, types[i].tool);
			o->tools[o->n_tools - 1].client = true;
			return;
		}
	keep_name(o->text, n, name);
	(void)outline_use(o, name[0] ? name : "unknown");
	o->tools[o->n_tools - 1].client = true;
}

static void on_model(struct outline *o)
{
	o->bad |= is_odd(o->text, o->n_text);
	o->two_models |= o->model[0] && !text_is(o, o->model);
	memcpy(o->model, o->text, o->n_text);
	o->model[o->n_text] = '\0';
}

static void on_media(struct outline *o)
{
	if (o->n_text > 6 && memcmp(o->text, "image/", 6) == 0)
		o->pictures++;
	else if (o->n_text < 5 || memcmp(o->text, "text/", 5) != 0)
		o->unseen = true;
}

static void on_link(struct outline *o)
{
	if (o->n_text >= 5 && strncasecmp(o->text, "data:", 5) == 0)
		o->pictures++;
	else
		(void)outline_use(o, "url_sources");
}

static void on_string(struct outline *o)
{
	switch ((enum place)o->key) {
	case AT_TYPE:
		o->bad |= is_odd(o->text, o->n_text);
		if (text_is(o, "url"))
			(void)outline_use(o, "url_sources");
		if (!text_is(o, "item_reference"))
			o->has[o->j.depth] |= HAS_MORE;
		break;
	case AT_TOOL_TYPE:
		on_tool_type(o);
		break;
	case AT_NAME:
		o->tools[o->n_tools - 1].client = true;
		break;
	case LINK:
	case AT_LINK:
		on_link(o);
		break;
	case AT_URI:
		(void)outline_use(o, "url_sources");
		break;
	case AT_FILE:
		(void)outline_use(o, "files");
		break;
	case AT_STORED:
		o->unseen = true;
		break;
	case AT_MEDIA:
		on_media(o);
		break;
	case AT_MODEL:
		on_model(o);
		break;
	case AT_TIER:
		o->premium |= !text_is(o, "auto") && !text_is(o, "default") &&
			      !text_is(o, "standard") && !text_is(o, "standard_only") &&
			      !text_is(o, "flex");
		break;
	case AT_SPEED:
		o->premium |= !text_is(o, "standard");
		break;
	case TOOLS:
	case SERVERS:
	case AT_LIMIT:
	case AT_OTHER_LIMIT:
	case AT_ANSWERS:
		o->bad = true; /* protocol buffers take a number in quotes */
		break;
	case DATA:
	case ROOT:
	case CONTENT:
	case TOOL:
	case PROMPT:
	case GENERATION:
	case INFERENCE:
		break;
	}
}

static void on_number(struct outline *o)
{
	uint64_t v = 0;

	if (o->key != AT_LIMIT && o->key != AT_OTHER_LIMIT && o->key != AT_ANSWERS)
		return;
	/* 1e6 is one to some. */
	if (!jscan_uint(&o->j, &v) || v > OUTLINE_NUMBER_MAX)
		o->bad = true;
	else if (o->key == AT_ANSWERS)
		o->answers = v > o->answers ? v : o->answers;
	else
		o->output = v > o->output ? v : o->output;
	o->limited |= o->key == AT_LIMIT;
}

/* Collects the beginning of a string of interest. */
static void on_piece(struct outline *o)
{
	size_t room = sizeof(o->text) - 1 - o->n_text;
	size_t n = o->j.len < room ? o->j.len : room;

	if (o->key != DATA && o->key != CONTENT) {
		memcpy(o->text + o->n_text, o->j.text, n);
		o->n_text += (uint8_t)n;
		if (o->j.len > room && o->key == AT_MODEL)
			o->bad = true;
	}
	if (!o->j.last)
		return;
	on_string(o);
	o->n_text = 0;
}

static void after_scalar(struct outline *o)
{
	/* In a list the next one is of the same kind; in an object a key comes first. */
	if (o->j.depth == 0)
		o->bad = true; /* a request is an object */
}

static bool on_token(struct outline *o, enum jscan_token t)
{
	switch (t) {
	case JSCAN_MORE:
		return false;
	case JSCAN_OBJECT:
	case JSCAN_ARRAY:
		o->bad |= o->over || (t == JSCAN_ARRAY && o->j.depth == 1);
		on_open(o, t == JSCAN_ARRAY);
		break;
	case JSCAN_OBJECT_END:
	case JSCAN_ARRAY_END:
		on_close(o);
		break;
	case JSCAN_KEY:
		on_key(o);
		break;
	case JSCAN_STRING:
		on_piece(o);
		after_scalar(o);
		break;
	case JSCAN_NUMBER:
		on_number(o);
		after_scalar(o);
		break;
	case JSCAN_TRUE:
	case JSCAN_FALSE:
	case JSCAN_NULL:
		after_scalar(o);
		break;
	case JSCAN_ERROR:
	case JSCAN_SKIPPED:
		o->bad = true;
		break;
	}
	return !o->bad && !o->refused[0];
}

bool outline_feed(struct outline *o, const char *p, size_t n)
{
	if (o->bad || o->refused[0])
		return false;
	o->some = true;
	jscan_feed(&o->j, p, n);
	while (on_token(o, jscan_next(&o->j)))
		;
	return !o->bad && !o->refused[0];
}

bool outline_end(struct outline *o)
{
	bool empty = !o->some;

	/* A number is over with the byte behind it. */
	(void)outline_feed(o, " ", 1);
	o->bad |= !jscan_end(&o->j) || !(o->over || empty);
	o->some = !empty;
	return !o->bad && !o->refused[0];
}

char *outline_why(const struct outline *o)
{
	if (o->refused[0])
		return xasprintf("the provider's tool '%s' is not allowed in this sandbox; the "
				 "setting network.provider_tools can allow it",
				 o->refused);
	return xstrdup("ralph cannot read the request as one JSON object, so it cannot tell which "
		       "of the provider's tools it uses; the setting network.provider_tools: all "
		       "lets it pass");
}

bool outline_type_is_plain(struct slice type)
{
	static const char *const good[] = {"application/json", "application/json;charset=utf-8",
					   "application/x-www-form-urlencoded"};
	char text[OUTLINE_NAME_MAX + 1];
	size_t n = 0;

	if (!type.p)
		return true;
	for (size_t i = 0; i < type.n; i++) {
		if (type.p[i] == ' ' || type.p[i] == '\t' || type.p[i] == '"')
			continue;
		if (n == OUTLINE_NAME_MAX)
			return false;
		text[n++] = ascii_lower(type.p[i]);
	}
	text[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (streq(text, good[i]))
			return true;
	return false;
}
