/*
 * What git inside is asked to do, as scripts for sh: they run in the sandbox as the agent's user, in
 * the working tree, and what they say is hostile. They need git, cut, find, grep, head, sed, tr,
 * and wc. Lists are variables and pipes: no file of /tmp is used, which may be full or the agent's.
 */
#include "workspace/private/private-git.h"

#define STATES                                                                                     \
	"MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG rebase-merge rebase-apply sequencer"

/*
 * Each script has a function for one repository, which runs for submodules first. list() is its part
 * of the input, which "MODULE N PATH" begins; n is empty for the repository itself.
 */
#define BEGIN                                                                                      \
	"export LC_ALL=C\n" /* names of references need not be UTF-8 */                            \
	"d=$(git rev-parse --absolute-git-dir) || exit\n"                                          \
	"all=$(cat) n=\n"                                                                          \
	"list() {\n"                                                                               \
	"	if [ \"$n\" ]; then\n"                                                                   \
	"		printf '%s\n' \"$all\" | sed -n \"/^MODULE $n /,/^MODULE $((n + 1)) /p\" "              \
	"|\n"                                                                                      \
	"			grep -v '^MODULE '\n"                                                                  \
	"	else\n"                                                                                  \
	"		printf '%s\n' \"$all\" | sed '/^MODULE /,$d'\n"                                         \
	"	fi\n"                                                                                    \
	"}\n"                                                                                      \
	"enter() { d=$d/$1; export GIT_DIR=\"$d\"; unset GIT_WORK_TREE; }\n"                       \
	"refs() { git for-each-ref --format='%(objectname) %(refname)' \"$@\"; }\n"
#define MODULES "printf '%s\n' \"$all\" | sed -n 's/^MODULE //p' | while read -r n m; do\n"

const char private_git_export[] = BEGIN
	"one() {\n"
	"new=$(list | { refs refs/heads refs/tags refs/stash refs/notes | grep -vxFf "
	"/proc/self/fd/4; } 4<&0)\n"
	"l=$(head -n 1 \"$d/objects/info/alternates\" 2>/dev/null)/../lfs/objects\n"
	"[ ! \"$new\" ] || [ ! -d \"$d/lfs/objects\" ] ||\n"
	"	find \"$d/lfs/objects\" -type f | while read -r f; do\n"
	"		o=${f##*/} s=${f#\"$d/lfs/objects\"}\n"
	"		[ ${#o} = 64 ] && [ ! -e \"$l$s\" ] || continue\n"
	"		echo \"LFS $(wc -c <\"$f\" | tr -d ' ') $o\"\n"
	"		cat \"$f\"\n"
	"	done\n"
	"h=$(git symbolic-ref -q HEAD || git rev-parse -q --verify HEAD) && echo \"HEAD $h\"\n"
	"for s in " STATES "; do\n"
	"	[ ! -e \"$d/$s\" ] || echo \"STATE $s\"\n"
	"done\n"
	"printf '%s\n' \"$new\" | grep .\n"
	"echo\n"
	"case $h in refs/*) h= ;; esac\n"
	"[ \"$new\" ] || [ \"$h\" ] || return 0\n"
	"{ echo \"$h\"; printf '%s\n' \"$new\" | cut -d' ' -f1; list | grep '^^'; } | grep . |\n"
	"	git pack-objects -q --revs --stdout\n"
	"}\n"
	/* A stream has its length before it: the file for it has no name, and is made anew. */
	"out=$d/ralph-export.$$\n"
	"begin() { rm -rf \"$out\"; (set -C; : >\"$out\") && exec 5<>\"$out\" && rm \"$out\"; "
	"}\n" MODULES "	[ -d \"$d/$m\" ] || continue\n"
	/* The host can fetch for itself what nobody has added to. */
	"	(enter \"$m\"; [ \"$(list | head -n 1)\" ] || [ \"$(git rev-list -1 --branches "
	"$(git "
	"rev-parse -q --verify HEAD) --not "
	"--remotes)\" ]) || continue\n"
	"	begin || exit\n"
	"	(enter \"$m\"; one) >&5\n"
	"	echo \"MODULE $(wc -c </proc/self/fd/5 | tr -d ' ') $m\"\n"
	"	cat /proc/self/fd/5\n"
	"done\n"
	"one\n";

const char private_git_sync[] = BEGIN
	"one() {\n"
	"for s in " STATES " index.lock; do\n"
	"	[ ! -e \"$d/$s\" ] || return 75\n"
	"done\n"
	"was=$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null)\n"
	"todo=$(refs | { list | grep -v '^HEAD ' | cut -d' ' -f1,2 | grep -vxFf /proc/self/fd/4; } "
	"4<&0)\n"
	"moves=$(printf '%s\n' \"$todo\" | { list | grep -Ff /proc/self/fd/4; } 4<&0 |\n"
	"	sed 's/^\\([^ ]*\\) \\([^ ]*\\) \\(.*\\)/update \\2 \\1 \\3/')\n"
	"[ ! \"$todo\" ] || printf '%s\n' \"$moves\" | git update-ref --stdin 2>/dev/null ||\n"
	"	printf '%s\n' \"$moves\" | while read -r line; do\n"
	"		printf '%s\n' \"$line\" | git update-ref --stdin 2>/dev/null\n"
	"	done\n"
	"list | while read -r head from to; do\n"
	"	[ \"$head\" = HEAD ] || continue\n"
	"	[ \"$(git symbolic-ref -q HEAD || git rev-parse HEAD)\" = \"$from\" ] || continue\n"
	"	case $to in\n"
	"	refs/*) git symbolic-ref HEAD \"$to\" ;;\n"
	"	*) git update-ref --no-deref HEAD \"$to\" ;;\n"
	"	esac\n"
	"done\n"
	"is=$(git rev-parse -q --verify HEAD) && [ \"$is\" != \"$was\" ] || return 0\n"
	"git read-tree -m -i \"$was\" \"$is\"\n"
	"}\n" MODULES "	[ -d \"$d/$m\" ] || continue\n"
	"	(enter \"$m\"; one)\n"
	"done\n"
	"one\n";
