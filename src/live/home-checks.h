#pragma once

#include "base/err.h"
#include "record/places.h"
#include "record/store.h"

/*
 * The homes of a loop's sandbox in which its checks run. No agent ever has one of them:
 *
 *	checks-home	of one start: a copy of prepared-home, or empty; gone with the next
 *	prepared-home	as the commands of loop.setup left a checks-home that was empty before
 *
 * The checks run the project's code, so the files that they write there do not stay either. Everything
 * in these homes is hostile: links are not followed.
 */

/* Makes checks-home anew. The caller holds both locks of the record. */
int home_checks_make(const struct store_entry *e, struct err *err);
int home_checks_open(const struct store_entry *e);

/* The sandbox NAME has stopped. Each of these is nothing where there is no record. */
/* checks-home becomes prepared-home. */
int home_checks_keep(const struct places *p, const char *name, struct err *err);
/* Removes prepared-home, so that the next checks begin with an empty home. */
int home_checks_forget(const struct places *p, const char *name, struct err *err);
/* Removes checks-home. */
int home_checks_drop(const struct places *p, const char *name, struct err *err);
/* The agents' home, which is empty, becomes a copy of prepared-home. */
int home_checks_give(const struct places *p, const char *name, struct err *err);
