#include "cli/terminal/modes.h"

#include <assert.h>
#include <string.h>

#define SO 0x0e
#define SI 0x0f
#define KEYBOARDS_MAX 99 /* two digits, see modes_undo() */

/* CSI ? N h and l. The alternate screens are last: leaving one moves the cursor back. */
static const struct {
	unsigned n;
	bool on; /* by default */
} rows[] = {
	{2026, false}, {1, false},    {5, false},    {6, false},    {7, true},	   {9, false},
	{25, true},    {66, false},   {69, false},   {1000, false}, {1001, false}, {1002, false},
	{1003, false}, {1004, false}, {1005, false}, {1006, false}, {1015, false}, {1016, false},
	{2004, false}, {2031, false}, {2048, false}, {47, false},   {1047, false}, {1049, false},
};
static_assert(ARRAY_SIZE(rows) <= 64, "a bit for each");

static void see_mode(struct modes *m, unsigned n, bool on)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].n == n && rows[i].on != on)
			m->changed |= UINT64_C(1) << i;
		else if (rows[i].n == n)
			m->changed &= ~(UINT64_C(1) << i);
}

/* Reads a number and moves behind it and its separator; a number that is too large is none. */
static unsigned number(const char **p)
{
	unsigned n = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++)
		n = n < 100000 ? n * 10 + (unsigned)(**p - '0') : n;
	if (**p == ';' || **p == ':')
		(*p)++;
	return n;
}

static void see_private(struct modes *m, const char *p, char final)
{
	while (*p >= '0' && *p <= '9')
		see_mode(m, number(&p), final == 'h');
}

/* CSI > N u pushes, CSI < N u pops, CSI = N u sets. */
static void see_keyboard(struct modes *m, const char *p)
{
	char how = *p++;
	unsigned n = number(&p), popped = n ? n : 1;

	if (how == '>' && m->keyboards < KEYBOARDS_MAX)
		m->keyboards++;
	else if (how == '<')
		m->keyboards = popped < m->keyboards ? m->keyboards - popped : 0;
	else if (how == '=')
		m->keyboard = n != 0;
}

/* p: behind "ESC [". */
static void see_csi(struct modes *m, const char *p, char final)
{
	bool plain = (*p >= '0' && *p <= '9') || *p == ';' || *p == final;

	if (*p == '?' && (final == 'h' || final == 'l'))
		see_private(m, p + 1, final);
	else if (final == 'u')
		see_keyboard(m, p);
	else if (final == 'm' && strncmp(p, ">4", 2) == 0)
		m->other_keys = p[2] == ';' && p[3] != '0';
	else if (final == 'm' && plain)
		m->styled = *p != 'm' && strcmp(p, "0m") != 0;
	else if (final == 'r' && plain)
		m->region = *p != 'r';
	else if (final == 'q' && strchr(p, ' '))
		m->cursor = *p != '0' && *p != ' ';
	else if ((final == 'h' || final == 'l') && plain && number(&p) == 4)
		m->insert = final == 'h';
}

/* p: behind "ESC ]". A question changes nothing. */
static void see_osc(struct modes *m, const char *p)
{
	static const unsigned colors[] = {10, 11, 12, 4};
	unsigned n = number(&p);

	if (n <= 2)
		m->title = true;
	if (n == 8)
		m->link = strncmp(p, ";\x07", 2) != 0 && strncmp(p, ";\x1b", 2) != 0;
	for (size_t i = 0; i < ARRAY_SIZE(colors); i++)
		if (n == colors[i] && !strchr(p, '?'))
			m->colors |= 1U << i;
		else if (n == colors[i] + 100)
			m->colors &= ~(1U << i);
}

static void see_esc(struct modes *m, const char *p)
{
	if (*p == '(' || *p == ')')
		m->charset = m->charset || p[1] != 'B';
	else if (*p == '=' || *p == '>')
		m->keypad = *p == '=';
	else if (*p == 'n' || *p == 'o')
		m->shifted = true;
	else if (*p == 'c') /* everything is as at the start, but for the title */
		*m = (struct modes){.title = m->title};
}

void modes_see(struct modes *m, const char *seq, size_t n)
{
	char text[64]; /* longer ones are text of titles and links: only their beginning counts */
	size_t len = n < sizeof(text) ? n : sizeof(text) - 1;

	memcpy(text, seq, len);
	text[len] = '\0';
	if (n == 1)
		m->shifted = *text == SO ? true : *text == SI ? false : m->shifted;
	else if (text[1] == '[' && len == n)
		see_csi(m, text + 2, text[n - 1]);
	else if (text[1] == ']')
		see_osc(m, text + 2);
	else if (text[1] != '[')
		see_esc(m, text + 1);
}

static void put(struct buf *out, bool wanted, const char *text)
{
	if (wanted)
		(void)buf_append(out, text, strlen(text));
}

void modes_undo(const struct modes *m, struct buf *out)
{
	static const char *const colors[] = {"\033]110\007", "\033]111\007", "\033]112\007",
					     "\033]104\007"};

	put(out, m->link, "\033]8;;\007");
	put(out, m->shifted, "\017");
	put(out, m->charset, "\033(B\033)B");
	put(out, m->styled, "\033[0m");
	put(out, m->keypad, "\033>");
	put(out, m->insert, "\033[4l");
	put(out, m->region, "\0337\033[r\0338");
	put(out, m->cursor, "\033[0 q");
	put(out, m->other_keys, "\033[>4m");
	put(out, m->keyboard, "\033[=0u");
	if (m->keyboards)
		(void)buf_printf(out, "\033[<%uu", m->keyboards);
	for (size_t i = 0; i < ARRAY_SIZE(colors); i++)
		put(out, m->colors & 1U << i, colors[i]);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (m->changed & UINT64_C(1) << i)
			(void)buf_printf(out, "\033[?%u%c", rows[i].n, rows[i].on ? 'h' : 'l');
	put(out, m->title, "\033[23;0t");
}
