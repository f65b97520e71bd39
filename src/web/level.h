#pragma once

/* What a session may do, each level with all below it. */
enum web_level {
	LEVEL_LOOK,
	LEVEL_STEER, /* answer, pause, stop, deny, drop */
	LEVEL_GRANT, /* allow, release, resume: what an agent gets more of */
	LEVEL_N,
};

const char *level_name(enum web_level l);
/* LEVEL_N: no such word. */
enum web_level level_of(const char *name);
