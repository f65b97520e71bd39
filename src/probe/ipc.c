#include "probe/probe.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

static key_t key_of(const char *text)
{
	return (key_t)number(text);
}

/* `ipc-make KEY NAME`: the host's objects, for the test to make; prints nothing. */
static int ipc_make(int argc, char **argv)
{
	key_t key = key_of(argv[0]);
	char name[64];

	(void)snprintf(name, sizeof(name), "/%s", argv[1]);
	if (shmget(key, 4096, IPC_CREAT | 0666) < 0 || msgget(key, IPC_CREAT | 0666) < 0 ||
	    semget(key, 1, IPC_CREAT | 0666) < 0)
		broken("System V objects");
	if (mq_open(name, O_RDWR | O_CREAT, 0666, NULL) < 0 ||
	    shm_open(name, O_RDWR | O_CREAT, 0666) < 0)
		broken("POSIX objects");
	return 0;
}

static int ipc_remove(int argc, char **argv)
{
	key_t key = key_of(argv[0]);
	char name[64];

	(void)snprintf(name, sizeof(name), "/%s", argv[1]);
	(void)shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
	(void)msgctl(msgget(key, 0), IPC_RMID, NULL);
	(void)semctl(semget(key, 0, 0), 0, IPC_RMID);
	(void)mq_unlink(name);
	(void)shm_unlink(name);
	return 0;
}

static int ipc(int argc, char **argv)
{
	key_t key = key_of(argv[0]);
	struct shm_info info;
	char name[64];
	int n = 0;

	(void)snprintf(name, sizeof(name), "/%s", argv[1]);
	if (shmget(key, 0, 0) >= 0)
		n += out("the host's shared memory");
	if (msgget(key, 0) >= 0)
		n += out("the host's message queue");
	if (semget(key, 0, 0) >= 0)
		n += out("the host's semaphores");
	if (shmctl(0, SHM_INFO, (struct shmid_ds *)&info) >= 0 && info.used_ids > 0)
		n += out("%d shared memory segments of others", info.used_ids);
	if (mq_open(name, O_RDONLY) >= 0)
		n += out("the host's POSIX message queue");
	if (shm_open(name, O_RDONLY, 0) >= 0)
		n += out("the host's POSIX shared memory");
	return n;
}

const struct attack ipc_attacks[] = {
	{"ipc-make", ipc_make},
	{"ipc-remove", ipc_remove},
	{"ipc", ipc},
	{0},
};
