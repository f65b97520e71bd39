#pragma once

/*
 * ROOM: cli
 *
 * The command line: the only room that prints results or exits. Commands are in cmd/, one file
 * each; what several share is here.
 */

struct command;

/* All commands in the order of the help listing; NULL-terminated. */
extern const struct command *const commands[];

extern const struct command cmd_adopt;
extern const struct command cmd_answer;
extern const struct command cmd_apply;
extern const struct command cmd_ask;
extern const struct command cmd_audit;
extern const struct command cmd_build;
extern const struct command cmd_check_token;
extern const struct command cmd_completion;
extern const struct command cmd_config;
extern const struct command cmd_cp;
extern const struct command cmd_diff;
extern const struct command cmd_doctor;
extern const struct command cmd_engine;
extern const struct command cmd_engine_setup;
extern const struct command cmd_events;
extern const struct command cmd_exec;
extern const struct command cmd_export;
extern const struct command cmd_gc;
extern const struct command cmd_help;
extern const struct command cmd_image;
extern const struct command cmd_init;
extern const struct command cmd_hook;
extern const struct command cmd_inspect;
extern const struct command cmd_logout;
extern const struct command cmd_logs;
extern const struct command cmd_loop;
extern const struct command cmd_ls;
extern const struct command cmd_net;
extern const struct command cmd_pause;
extern const struct command cmd_plan;
extern const struct command cmd_ports;
extern const struct command cmd_preflight;
extern const struct command cmd_profile;
extern const struct command cmd_prune;
extern const struct command cmd_quarantine;
extern const struct command cmd_resume;
extern const struct command cmd_rm;
extern const struct command cmd_run;
extern const struct command cmd_selftest;
extern const struct command cmd_shell;
extern const struct command cmd_status;
extern const struct command cmd_stop;
extern const struct command cmd_store_token;
extern const struct command cmd_task;
extern const struct command cmd_top;
extern const struct command cmd_trust;
extern const struct command cmd_up;
extern const struct command cmd_usage;
extern const struct command cmd_version;
extern const struct command cmd_web;
extern const struct command cmd_why;
extern const struct command cmd_worker;
