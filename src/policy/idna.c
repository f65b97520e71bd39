#include "policy/idna.h"

#include <idn2.h>
#include <stdbool.h>
#include <string.h>

static void idn2_freep(char **p)
{
	idn2_free(*p);
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

int idna_to_ascii(const char *text, char **ret, struct err *err)
{
	const char *name = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
	size_t name_n = strcspn(name, ":");
	cleanup_free char *utf8 = NULL;
	cleanup_(idn2_freep) char *ascii = NULL;
	int r;

	if (is_ascii(text)) {
		*ret = xstrdup(text);
		return 0;
	}
	if (!is_ascii(name + name_n))
		return err_usage(err, "'%s': the port must be a plain number", text);
	utf8 = xstrndup(name, name_n);
	r = idn2_to_ascii_8z(utf8, &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);
	if (r != IDN2_OK)
		return err_usage(err, "'%s' is not a valid international name: %s", text,
				 idn2_strerror(r));
	*ret = xasprintf("%.*s%s%s", (int)(name - text), text, ascii, name + name_n);
	return 0;
}
