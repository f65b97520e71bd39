#pragma once

#include "cli/frame/command.h"
#include "config/config.h"
#include "record/places.h"

/*
 * The project file's standing, for every command that reads settings: what was compared with the
 * user's record is what is loaded, byte for byte.
 */
struct trust_state {
	char *project; /* real path of the directory; NULL: there is no project file */
	char *dir;     /* directory of the trust records */
	struct buf text;
	bool trusted;			   /* the record is of exactly this content */
	bool changed;			   /* there is a record, of another content */
	struct config_widening *widenings; /* settings beyond the user's own */
	size_t n_widenings;
};

/* Reads the project file that src->project_file names, and fills in src's text, length, trust and
 * share of the memory. */
int trust_look(const struct places *p, struct config_sources *src, struct trust_state *ret,
	       struct err *err);
void trust_state_done(struct trust_state *t);

/* Prints on stderr what the project file asks for and how it changes the settings. */
int trust_show(struct cli *cli, const struct config_sources *src, const struct trust_state *t);

/*
 * Shows an untrusted file that widens the settings and asks about it, when there is a terminal and
 * the user did not say --yes, which is no answer to this question. Otherwise it does nothing, and
 * loading the file will be refused. A yes is recorded and makes src->trusted true.
 */
int trust_settle(struct cli *cli, struct config_sources *src, struct trust_state *t);

struct image_source;
/* Prints a project's Dockerfile and the names in its build context on stderr. */
void trust_show_image(struct cli *cli, const struct image_source *s);

#define cleanup_trust cleanup_(trust_state_done)
