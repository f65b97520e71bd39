/*
 * What git inside is asked to do, as scripts for sh: they run in the sandbox as the agent's user, in
 * the working tree, and what they say is hostile. They need git, grep, cut, sed and mktemp.
 */
#include "workspace/private-git.h"

#define STATES                                                                                     \
	"MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG rebase-merge rebase-apply sequencer"

const char private_git_export[] =
	"d=$(git rev-parse --absolute-git-dir) && t=$(mktemp -d) || exit\n"
	"trap 'rm -rf \"$t\"' EXIT\n"
	"cat >\"$t/told\"\n"
	"h=$(git symbolic-ref -q HEAD || git rev-parse -q --verify HEAD) && echo \"HEAD $h\"\n"
	"for s in " STATES "; do\n"
	"	[ ! -e \"$d/$s\" ] || echo \"STATE $s\"\n"
	"done\n"
	"git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags refs/stash "
	"refs/notes |\n"
	"	grep -vxFf \"$t/told\" >\"$t/new\"\n"
	"cat \"$t/new\"\n"
	"echo\n"
	"case $h in refs/*) h= ;; esac\n"
	"[ -s \"$t/new\" ] || [ \"$h\" ] || exit 0\n"
	"{ echo \"$h\"; cut -d' ' -f1 \"$t/new\"; grep '^^' \"$t/told\"; } | grep . |\n"
	"	git pack-objects -q --revs --stdout\n";

const char private_git_sync[] =
	"d=$(git rev-parse --absolute-git-dir) && t=$(mktemp -d) || exit\n"
	"trap 'rm -rf \"$t\"' EXIT\n"
	"cat >\"$t/moved\"\n"
	"for s in " STATES " index.lock; do\n"
	"	[ ! -e \"$d/$s\" ] || exit 75\n"
	"done\n"
	"was=$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null)\n"
	"git for-each-ref --format='%(objectname) %(refname)' >\"$t/now\"\n"
	"grep -v '^HEAD ' \"$t/moved\" | cut -d' ' -f1,2 | grep -vxFf \"$t/now\" >\"$t/todo\"\n"
	"grep -Ff \"$t/todo\" \"$t/moved\" | sed 's/^\\([^ ]*\\) \\([^ ]*\\) \\(.*\\)/update \\2 "
	"\\1 \\3/' "
	">\"$t/all\"\n"
	"[ ! -s \"$t/todo\" ] || git update-ref --stdin <\"$t/all\" 2>/dev/null ||\n"
	"	while read -r line; do\n"
	"		echo \"$line\" | git update-ref --stdin 2>/dev/null\n"
	"	done <\"$t/all\"\n"
	"while read -r head from to; do\n"
	"	[ \"$head\" != HEAD ] || [ \"$(git symbolic-ref -q HEAD)\" != \"$from\" ] ||\n"
	"		git symbolic-ref HEAD \"$to\"\n"
	"done <\"$t/moved\"\n"
	"is=$(git rev-parse -q --verify HEAD) && [ \"$is\" != \"$was\" ] || exit 0\n"
	"git read-tree -m -i \"$was\" \"$is\"\n";
