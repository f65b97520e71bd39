/*
 * A wall clock that can be set without setting the machine's: linked around clock_gettime(), time()
 * and gettimeofday() (--wrap) of every program of the soak's build. They add the seconds that the
 * file CLOCK_FILE holds, as one 64-bit number, at that moment, so that the clock jumps in programs
 * that are running. The file is mapped before main(): what locks itself up later can still read it.
 * Only the wall clock jumps; the monotonic one never does on a real machine either, and other
 * processes start it elsewhere by time namespaces (see cli.py).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *jump;

static void __attribute__((constructor)) map(void)
{
	int saved = errno, fd = open(CLOCK_FILE, O_RDONLY | O_CLOEXEC);
	void *p;

	if (fd < 0) {
		errno = saved;
		return;
	}
	p = mmap(NULL, sizeof(*jump), PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		jump = p;
	(void)close(fd);
	errno = saved;
}

static time_t ahead(void)
{
	return jump ? (time_t)*jump : 0;
}

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = __real_clock_gettime(id, ts);

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += ahead();
	return r;
}

time_t __wrap_time(time_t *ret);
time_t __wrap_time(time_t *ret)
{
	struct timespec ts = {0};

	(void)__wrap_clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

int __real_gettimeofday(struct timeval *tv, void *zone);
int __wrap_gettimeofday(struct timeval *tv, void *zone);
int __wrap_gettimeofday(struct timeval *tv, void *zone)
{
	int r = __real_gettimeofday(tv, zone);

	if (r == 0)
		tv->tv_sec += ahead();
	return r;
}
