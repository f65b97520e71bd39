#include "cli/terminal/filter.h"

#include <string.h>

#define ESC 0x1b
#define BEL 0x07

void filter_init(struct filter *f, enum filter_wish allowed)
{
	*f = (struct filter){.state = FILTER_TEXT, .allowed = allowed};
}

static void keep(struct filter *f, char c)
{
	if (f->n < FILTER_SEQ_MAX)
		f->seq[f->n++] = c;
	else
		f->bad = true;
}

static void begin(struct filter *f, enum filter_state state, char c)
{
	f->state = state;
	f->string_esc = f->bad = false;
	f->utf8_left = 0;
	f->n = 0;
	keep(f, ESC);
	if (state != FILTER_ESC)
		keep(f, c);
}

static void emit(struct filter *f, struct buf *out)
{
	bool titled = f->modes.title;

	modes_see(&f->modes, f->seq, f->n);
	if (f->modes.title && !titled)
		(void)buf_puts(out, "\033[22;0t");
	(void)buf_append(out, f->seq, f->n);
}

void filter_undo(const struct filter *f, struct buf *out)
{
	modes_undo(&f->modes, out);
}

/* The number an OSC begins with; -1 for anything else. */
static int osc_number(const struct filter *f)
{
	int v = -1;

	for (size_t i = 2; i < f->n; i++) {
		if (f->seq[i] == ';' || f->seq[i] == BEL || f->seq[i] == ESC)
			return v;
		if (f->seq[i] < '0' || f->seq[i] > '9' || v > 9999)
			return -1;
		v = (v < 0 ? 0 : v * 10) + (f->seq[i] - '0');
	}
	return v;
}

/* OSC 52 ; WHERE ; ?: the terminal would type what the user has copied. */
static bool asks_clipboard(const struct filter *f)
{
	return memchr(f->seq, '?', f->n) != NULL;
}

static bool wish_passes(struct filter *f, int number)
{
	enum filter_wish wish = number == 52		       ? FILTER_CLIPBOARD
				: number == 9 || number == 777 ? FILTER_NOTIFY
							       : 0;

	if (!wish || (wish == FILTER_CLIPBOARD && asks_clipboard(f)))
		return false;
	if (!(f->allowed & wish))
		f->missed |= wish;
	return f->allowed & wish;
}

/* Titles, colours, hyperlinks, working directory, prompt marks. */
static bool osc_passes(struct filter *f)
{
	static const int harmless[] = {0, 1, 2, 4, 7, 8, 10, 11, 12, 104, 110, 111, 112, 133};
	int v = osc_number(f);

	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (v == harmless[i])
			return true;
	return wish_passes(f, v);
}

/* CSI … t: size reports and the title stack only; a reported title would be typed back. */
static bool window_op_passes(const struct filter *f)
{
	static const char *const ops[] = {"14", "16", "18", "19", "22", "23"};
	const char *p = f->seq + 2;
	size_t n = strcspn(p, ";t");

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (n == strlen(ops[i]) && strncmp(p, ops[i], n) == 0)
			return true;
	return false;
}

static bool csi_passes(const struct filter *f, char final)
{
	const char *inter = f->n > 1 ? &f->seq[f->n - 2] : "";

	if (final == 'i') /* media copy: prints */
		return false;
	if (final == 't')
		return f->seq[2] != '>' && window_op_passes(f);
	/* Checksum of a screen area, locator and rectangle reports: they echo what is shown. */
	if (final == 'y' && *inter == '*')
		return false;
	return true;
}

enum utf8 { UTF8_ASCII, UTF8_LEAD, UTF8_MORE, UTF8_BAD };

/*
 * Classifies this byte in strict UTF-8. Bad bytes are lone C1 controls, overlong encodings of them,
 * and everything else that some terminal may read as a control. U+0080 to U+009F are controls even
 * in their valid encoding: their second byte is bad.
 */
static enum utf8 utf8_step(struct filter *f, unsigned char c)
{
	unsigned char least = f->lead == 0xc2 || f->lead == 0xe0 ? 0xa0
			      : f->lead == 0xf0			 ? 0x90
								 : 0x80;

	if (f->utf8_left && (c & 0xc0) == 0x80) {
		bool second = f->lead != 0;

		f->lead = 0;
		f->utf8_left = second && c < least ? 0 : f->utf8_left - 1;
		return second && c < least ? UTF8_BAD : UTF8_MORE;
	}
	f->utf8_left = 0;
	if (c < 0x80)
		return UTF8_ASCII;
	if (c < 0xc2 || c > 0xf4)
		return UTF8_BAD;
	f->lead = c;
	f->utf8_left = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	return UTF8_LEAD;
}

static void on_text(struct filter *f, unsigned char c, struct buf *out)
{
	enum utf8 kind;

	if (c == ESC) {
		begin(f, FILTER_ESC, 0);
		return;
	}
	kind = utf8_step(f, c);
	if (c == 0xc2) { /* held back until the next byte is known */
		f->state = FILTER_UTF8_C2;
		return;
	}
	if (c < 0x20)
		modes_see(&f->modes, (const char[]){(char)c}, 1);
	if (kind != UTF8_BAD && c != 0x05) /* ENQ: the terminal would type its answerback */
		(void)buf_putc(out, (char)c);
}

static void on_c2(struct filter *f, unsigned char c, struct buf *out)
{
	f->state = FILTER_TEXT;
	if (c >= 0xa0 && c <= 0xbf)
		(void)buf_putc(out, (char)0xc2);
	on_text(f, c, out);
}

static void on_esc(struct filter *f, unsigned char c, struct buf *out)
{
	switch (c) {
	case '[':
		begin(f, FILTER_CSI, (char)c);
		return;
	case ']':
		begin(f, FILTER_OSC, (char)c);
		return;
	case 'P':
	case 'X':
	case '^':
	case '_':
	case 'k': /* screen's title string */
		begin(f, FILTER_STRING, (char)c);
		return;
	case ESC:
		begin(f, FILTER_ESC, 0);
		return;
	default:
		break;
	}
	if (strchr("()*+-./#% ", c) && c) {
		begin(f, FILTER_CHARSET, (char)c);
		return;
	}
	f->state = FILTER_TEXT;
	if (c >= 0x30 && c <= 0x7e && c != 'Z') { /* ESC Z identifies the terminal */
		keep(f, (char)c);
		emit(f, out);
	}
}

static void on_csi(struct filter *f, unsigned char c, struct buf *out)
{
	if (c == ESC) {
		begin(f, FILTER_ESC, 0);
		return;
	}
	if (c == 0x18 || c == 0x1a || c >= 0x7f) { /* CAN, SUB, or no part of a sequence */
		f->state = FILTER_TEXT;
		return;
	}
	if (c < 0x20) { /* terminals carry such controls out at once, inside the sequence */
		on_text(f, c, out);
		return;
	}
	keep(f, (char)c);
	if (c < 0x40)
		return;
	f->state = FILTER_TEXT;
	if (!f->bad && csi_passes(f, (char)c))
		emit(f, out);
}

/* OSC and the strings that are dropped end alike: BEL, ESC \, or are broken off. */
static void on_string(struct filter *f, unsigned char c, struct buf *out)
{
	bool osc = f->state == FILTER_OSC, ended = osc && c == BEL;

	if (f->string_esc) {
		if (c != '\\') { /* a new sequence breaks the string off */
			begin(f, FILTER_ESC, 0);
			on_esc(f, c, out);
			return;
		}
		ended = true;
	}
	if (c == 0x18 || c == 0x1a) {
		f->state = FILTER_TEXT;
		f->utf8_left = 0;
		return;
	}
	f->string_esc = c == ESC;
	/* Inside an OSC only text: a control byte there is taken differently by every terminal. */
	if (osc && (c >= 0x20 || ended || f->string_esc))
		keep(f, (char)c);
	/* A C1 control would end the string, or begin another. */
	if (osc && utf8_step(f, c) == UTF8_BAD)
		f->bad = true;
	if (!ended)
		return;
	f->state = FILTER_TEXT;
	if (osc && !f->bad && osc_passes(f))
		emit(f, out);
}

void filter_feed(struct filter *f, const char *in, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)in[i];

		switch (f->state) {
		case FILTER_TEXT:
			on_text(f, c, out);
			break;
		case FILTER_UTF8_C2:
			on_c2(f, c, out);
			break;
		case FILTER_ESC:
			on_esc(f, c, out);
			break;
		case FILTER_CSI:
			on_csi(f, c, out);
			break;
		case FILTER_OSC:
		case FILTER_STRING:
			on_string(f, c, out);
			break;
		case FILTER_CHARSET:
			f->state = FILTER_TEXT;
			/* ESC % leaves UTF-8, after which parts of characters are C1 controls. */
			if (c >= 0x20 && c < 0x7f && f->seq[1] != '%') {
				keep(f, (char)c);
				emit(f, out);
			}
			break;
		}
	}
}
