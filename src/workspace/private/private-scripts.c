/*
 * What git inside is asked to do, as scripts for sh: they run in the sandbox as the agent's user, in
 * the working tree, and what they say is hostile. They need git, cut, find, grep, head, sed, tr,
 * wc and mktemp.
 */
#include "workspace/private/private-git.h"

#define STATES                                                                                     \
	"MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG rebase-merge rebase-apply sequencer"

/*
 * Each script has a function for one repository, which runs for submodules first, with the part of
 * its input that "MODULE N PATH" begins.
 */
#define BEGIN                                                                                      \
	"export LC_ALL=C\n" /* names of references need not be UTF-8 */                            \
	"d=$(git rev-parse --absolute-git-dir) && t=$(mktemp -d) || exit\n"                        \
	"trap 'rm -rf \"$t\"' EXIT\n"                                                              \
	"cat >\"$t/all\"\n"                                                                        \
	"part() { sed -n \"/^MODULE $1 /,/^MODULE $(($1 + 1)) /p\" \"$t/all\" | grep -v '^MODULE " \
	"'; }\n"                                                                                   \
	"enter() { d=$d/$1; export GIT_DIR=\"$d\"; unset GIT_WORK_TREE; }\n"
#define TOP "sed '/^MODULE /,$d' \"$t/all\" >\"$t/in\"\n"
#define MODULES "sed -n 's/^MODULE //p' \"$t/all\" | while read -r n m; do\n"

const char private_git_export[] = BEGIN
	"one() {\n"
	"git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags refs/stash "
	"refs/notes |\n"
	"	grep -vxFf \"$t/in\" >\"$t/new\"\n"
	"l=$(head -n 1 \"$d/objects/info/alternates\" 2>/dev/null)/../lfs/objects\n"
	"[ ! -s \"$t/new\" ] || [ ! -d \"$d/lfs/objects\" ] ||\n"
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
	"cat \"$t/new\"\n"
	"echo\n"
	"case $h in refs/*) h= ;; esac\n"
	"[ -s \"$t/new\" ] || [ \"$h\" ] || return 0\n"
	"{ echo \"$h\"; cut -d' ' -f1 \"$t/new\"; grep '^^' \"$t/in\"; } | grep . |\n"
	"	git pack-objects -q --revs --stdout\n"
	"}\n" MODULES "	[ -d \"$d/$m\" ] || continue\n"
	"	part $n >\"$t/in\"\n"
	/* The host can fetch for itself what nobody has added to. */
	"	(enter \"$m\"; [ -s \"$t/in\" ] || [ \"$(git rev-list -1 --branches $(git "
	"rev-parse -q --verify HEAD) --not "
	"--remotes)\" ]) || continue\n"
	"	(enter \"$m\"; one) >\"$t/out\"\n"
	"	echo \"MODULE $(wc -c <\"$t/out\" | tr -d ' ') $m\"\n"
	"	cat \"$t/out\"\n"
	"done\n" TOP "one\n";

const char private_git_sync[] = BEGIN
	"one() {\n"
	"for s in " STATES " index.lock; do\n"
	"	[ ! -e \"$d/$s\" ] || return 75\n"
	"done\n"
	"was=$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null)\n"
	"git for-each-ref --format='%(objectname) %(refname)' >\"$t/now\"\n"
	"grep -v '^HEAD ' \"$t/in\" | cut -d' ' -f1,2 | grep -vxFf \"$t/now\" >\"$t/todo\"\n"
	"grep -Ff \"$t/todo\" \"$t/in\" | sed 's/^\\([^ ]*\\) \\([^ ]*\\) \\(.*\\)/update \\2 "
	"\\1 \\3/' "
	">\"$t/refs\"\n"
	"[ ! -s \"$t/todo\" ] || git update-ref --stdin <\"$t/refs\" 2>/dev/null ||\n"
	"	while read -r line; do\n"
	"		echo \"$line\" | git update-ref --stdin 2>/dev/null\n"
	"	done <\"$t/refs\"\n"
	"while read -r head from to; do\n"
	"	[ \"$head\" = HEAD ] || continue\n"
	"	[ \"$(git symbolic-ref -q HEAD || git rev-parse HEAD)\" = \"$from\" ] || continue\n"
	"	case $to in\n"
	"	refs/*) git symbolic-ref HEAD \"$to\" ;;\n"
	"	*) git update-ref --no-deref HEAD \"$to\" ;;\n"
	"	esac\n"
	"done <\"$t/in\"\n"
	"is=$(git rev-parse -q --verify HEAD) && [ \"$is\" != \"$was\" ] || return 0\n"
	"git read-tree -m -i \"$was\" \"$is\"\n"
	"}\n" MODULES "	[ -d \"$d/$m\" ] || continue\n"
	"	part $n >\"$t/in\"\n"
	"	(enter \"$m\"; one)\n"
	"done\n" TOP "one\n";
