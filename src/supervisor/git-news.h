#pragma once

#include "base/json/json.h"

#include <stdbool.h>

struct supervisor;

/*
 * What imports did, for people: events at once, sentences when a command has ended. A branch that
 * was imported several times meanwhile is one sentence.
 */
struct git_news;

struct git_news *git_news_new(struct supervisor *s);
void git_news_take(struct git_news *n, const json_t *answer); /* of `repo import` */
bool git_news_any(const struct git_news *n);
void git_news_tell(struct git_news *n);
