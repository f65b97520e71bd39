/* What a rule may say of git. */
#include "policy/git.h"

#include <string.h>

static bool is_repo_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '~';
}

/* OWNER/REPO, or deeper where a server nests groups. */
static bool is_repo(const char *s)
{
	size_t segment = 0, slashes = 0;

	for (; *s; s++) {
		if (*s == '/') {
			if (segment == 0)
				return false;
			segment = 0;
			slashes++;
		} else if (!is_repo_char(*s) || (segment == 0 && *s == '.')) {
			return false;
		} else {
			segment++;
		}
	}
	return slashes > 0 && segment > 0;
}

bool git_verb_is_valid(const char *verb)
{
	if (strcmp(verb, "fetch") == 0)
		return true;
	if (strncmp(verb, "fetch ", 6) == 0)
		return is_repo(verb + 6);
	return strncmp(verb, "push ", 5) == 0 && is_repo(verb + 5);
}
