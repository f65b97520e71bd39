/*
 * spare-fails STATE WORKTREE RECORD: what a start and its end do with a spare. With fail-at.c, so
 * that it is killed, or finds the disk full, at any point.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "workspace/private/private-spare.h"

int main(int argc, char **argv)
{
	struct private_spare spare = {.dir = -1};
	cleanup_fd int record = -1;
	struct gitdir git = {0};
	struct err e = {0};
	bool used = false;

	if (argc != 4 || gitdir_find(argv[2], NULL, &git, &e) < 0)
		return 2;
	record = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (private_spare_claim(argv[1], &git, record, &spare))
		used = private_spare_accept(&spare, &git, record);
	(void)private_spare_keep(argv[1], &git, "of\n", record, &spare, used, &e);
	private_spare_done(&spare);
	gitdir_done(&git);
	return 0;
}
