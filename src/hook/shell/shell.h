#pragma once

/*
 * ROOM: hook/shell
 *
 * The shell's language: parses scripts and expands words. Rules about dangerous commands do not
 * belong here.
 */

#include "hook/shell/arena.h"

#include <stdbool.h>

/*
 * Parses the shell's language into a tree: bash, and what dash and zsh share with it. Nothing is
 * expanded here; see expand.h. The parser is lenient: a script that it accepts and a shell refuses
 * would not have run anyway. If it cannot parse a script it gives up (arena.h), and the tool is
 * refused.
 */
enum shell_part_kind {
	PART_TEXT,  /* bytes; unquoted, its braces, globs and tilde are active */
	PART_PARAM, /* $x ${x…}: name, op, arg, arg2 */
	PART_CMD,   /* $(…) `…` */
	PART_PROC,  /* <(…) >(…) */
	PART_ANY,   /* arithmetic, extended globs: some text */
};

struct shell_part {
	enum shell_part_kind kind;
	bool quoted;
	const char *text; /* PART_TEXT: the bytes; PART_PARAM: the name */
	size_t len;
	struct shell_word *index_word; /* substitutions in the index */
	const char *index;	       /* of ${name[index]} */
	char op[3]; /* ":-" "-" ":=" "#" "%%" "/" ":" "^^" "!" (indirect) "l" (length) */
	struct shell_word *arg, *arg2; /* of the operator */
	struct shell_list *list;       /* PART_CMD, PART_PROC */
	struct shell_part *next;
};

struct shell_word {
	struct shell_part *first, *last;
	struct shell_word *next;
};

struct shell_assign {
	const char *name;
	bool append, array;
	struct shell_word *value; /* of an array: a list of words; NULL: empty */
	struct shell_assign *next;
};

enum shell_redir_kind { REDIR_IN, REDIR_OUT, REDIR_HERE, REDIR_DUP };

struct shell_redir {
	enum shell_redir_kind kind;
	struct shell_word *target; /* REDIR_HERE: the text */
	bool raw;		   /* REDIR_HERE: nothing in it is expanded */
	const char *delimiter;	   /* until the text has been read */
	bool strip;
	struct shell_redir *next, *next_pending;
};

enum shell_cmd_kind { CMD_SIMPLE, CMD_GROUP, CMD_FUNCTION };

struct shell_cmd {
	enum shell_cmd_kind kind;
	struct shell_assign *assigns;
	struct shell_word *words; /* CMD_GROUP: those of `for` and `case` */
	const char *name;	  /* CMD_FUNCTION; CMD_GROUP: the variable of `for` */
	struct shell_list *body;  /* CMD_GROUP, CMD_FUNCTION */
	bool loop, conditional;	  /* the body may run repeatedly, or not at all */
	struct shell_redir *redirs;
	struct shell_cmd *next; /* of the pipeline */
};

struct shell_pipe {
	struct shell_cmd *first;
	bool background;
	bool conditional; /* behind && or || */
	struct shell_pipe *next;
};

struct shell_list {
	struct shell_pipe *first;
};

#define SHELL_DEPTH 64		/* of the tree */
#define SHELL_TEXT (256 * 1024) /* of a script */

struct shell_list *shell_parse(struct arena *a, const char *text, size_t len);
