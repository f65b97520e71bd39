/*
 * The gateway beside haproxy, tinyproxy, squid (tunnels) and nginx (requests), in one run and in
 * turns: each figure is the median of the rounds. Everything stays in two network namespaces. Run
 * as `bench-gateway [ROUNDS]`; programs that are not installed are left out.
 */
#include "live.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live-servers.h"

#define BULK ((size_t)256 * 1024 * 1024)
#define TUNNELS 200
#define REQUESTS 2000
#define ROUNDS_MAX 50

enum { GATEWAY, HAPROXY, TINYPROXY, SQUID, NGINX, DIRECT, WAYS };
static const char *const names[] = {"gateway", "haproxy", "tinyproxy", "squid", "nginx", "direct"};

static pid_t pids[WAYS];

static double now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* CPU of a process and its children, in ms; /proc counts in hundredths of a second. */
static double cpu_ms(pid_t pid)
{
	cleanup_free char *cmd = xasprintf(
		"cat /proc/%d/schedstat $(for c in $(cat /proc/%d/task/*/children); do echo "
		"/proc/$c/schedstat; done) 2>/dev/null | awk '{s+=$1} END {print s/1e6}'",
		(int)pid, (int)pid);
	FILE *f = pid > 0 ? popen(cmd, "re") : NULL;
	double ms = 0;

	if (f) {
		(void)!fscanf(f, "%lf", &ms);
		(void)pclose(f);
	}
	return ms;
}

static void config(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f) {
		(void)fputs(text, f);
		(void)fclose(f);
	}
}

static pid_t run(const char *const argv[])
{
	pid_t pid;

	if (faccessat(AT_FDCWD, argv[0], X_OK, 0) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(127);
		(void)execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static void start_others(void)
{
	config("/mnt/haproxy.cfg",
	       "global\n nbthread 1\n maxconn 4000\ndefaults\n mode tcp\n timeout connect 5s\n"
	       " timeout client 60s\n timeout server 60s\n option splice-auto\n"
	       "listen bulk\n bind 127.0.0.1:7001\n server s 8.1.1.1:9100\n"
	       "listen echo\n bind 127.0.0.1:7002\n server s 8.1.1.1:9000\n");
	config("/mnt/tiny.conf", "Port 7003\nListen 127.0.0.1\nMaxClients 200\nTimeout 60\n"
				 "ConnectPort 9100\nConnectPort 9000\nLogLevel Critical\n"
				 "PidFile \"/mnt/tiny.pid\"\nLogFile \"/dev/null\"\n");
	config("/mnt/squid.conf",
	       "http_port 127.0.0.1:7004\nacl all_ports port 1-65535\nhttp_access allow all\n"
	       "cache deny all\naccess_log none\ncache_log /dev/null\npid_filename /mnt/squid.pid\n"
	       "coredump_dir /mnt\nshutdown_lifetime 0 seconds\nhosts_file /etc/hosts\n");
	config("/mnt/nginx.conf",
	       "worker_processes 1;\ndaemon off;\nmaster_process off;\npid /mnt/nginx.pid;\n"
	       "error_log /dev/null;\nevents { worker_connections 2000; }\nhttp {\n access_log "
	       "off;\n"
	       " client_body_temp_path /mnt/b; proxy_temp_path /mnt/p; fastcgi_temp_path /mnt/f;\n"
	       " uwsgi_temp_path /mnt/u; scgi_temp_path /mnt/s;\n"
	       " upstream up { server 8.1.1.3:443; keepalive 16; keepalive_requests 1000000; }\n"
	       " server { listen 127.0.0.1:7005; keepalive_requests 1000000;\n"
	       "  location / { proxy_pass https://up; proxy_http_version 1.1;\n"
	       "   proxy_set_header Connection \"\"; proxy_set_header Host inspected.test;\n"
	       "   proxy_set_header Authorization \"Bearer the-real-key\";\n"
	       "   proxy_ssl_server_name on; proxy_ssl_name inspected.test; proxy_ssl_verify on;\n"
	       "   proxy_ssl_trusted_certificate /mnt/ca.pem; proxy_buffering off; } } }\n");
	pids[HAPROXY] = run((const char *[]){"/usr/sbin/haproxy", "-f", "/mnt/haproxy.cfg", NULL});
	pids[TINYPROXY] =
		run((const char *[]){"/usr/bin/tinyproxy", "-d", "-c", "/mnt/tiny.conf", NULL});
	pids[SQUID] = run((const char *[]){"/usr/sbin/squid", "-N", "-f", "/mnt/squid.conf", NULL});
	pids[NGINX] = run((const char *[]){"/usr/sbin/nginx", "-c", "/mnt/nginx.conf", NULL});
	(void)sleep(2);
}

/* A client of one of them, connected through to host:port. */
static int through(int way, const char *authority)
{
	static const uint16_t ports[] = {3128, 0, 7003, 7004, 7005, 0};
	bool echo = strstr(authority, ":9000") != NULL;
	cleanup_free char *rq =
		xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
	cleanup_free char *a = NULL;
	int on = 1, fd;

	if (way == DIRECT)
		fd = client_outside("8.1.1.1", echo ? 9000 : 9100);
	else if (way == HAPROXY)
		fd = client_outside("127.0.0.1", echo ? 7002 : 7001);
	else if (way == GATEWAY)
		fd = client("127.0.0.1", 3128);
	else
		fd = client_outside("127.0.0.1", ports[way]);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (way == GATEWAY || way == TINYPROXY || way == SQUID) {
		put(fd, rq);
		a = get(fd, "\r\n\r\n");
		if (!strstr(a, " 200 ")) {
			(void)close(fd);
			return -1;
		}
	}
	return fd;
}

/* MB/s of one large download. */
static double bulk(int way)
{
	static char b[256 * 1024];
	int fd = through(way, "allowed.test:9100");
	double t0 = now_us();
	size_t got = 0;

	if (fd < 0)
		return 0;
	put(fd, "go");
	while (got < BULK) {
		ssize_t n = recv(fd, b, sizeof(b), 0);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	(void)close(fd);
	return (double)got / (now_us() - t0);
}

/* µs for a new tunnel and one exchange in it. */
static double tunnels(int way)
{
	double t0 = now_us();

	for (int i = 0; i < TUNNELS; i++) {
		int fd = through(way, "allowed.test:9000");
		char c;

		if (fd < 0)
			return 0;
		put(fd, "x");
		(void)!recv(fd, &c, 1, 0);
		(void)close(fd);
	}
	return (now_us() - t0) / TUNNELS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Median µs per keep-alive request; p99 too. */
static double requests(int way, double *ret_p99)
{
	static double us[REQUESTS];
	const char *rq = way == GATEWAY ? "GET /_ralph/test/hello HTTP/1.1\r\nHost: g\r\n"
					  "x-api-key: phantom-token\r\n\r\n"
					: "GET /hello HTTP/1.1\r\nHost: inspected.test\r\n\r\n";
	int on = 1, fd = way == GATEWAY ? client("127.0.0.1", 3128)
			 : way == NGINX ? client_outside("127.0.0.1", 7005)
					: client_outside("8.1.1.3", 80);

	if (fd < 0)
		return 0;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (int i = 0; i < REQUESTS; i++) {
		double t0 = now_us();
		char b[4096];
		size_t n = 0;

		put(fd, rq);
		while (n < 2 || memcmp(b + n - 2, "hi", 2) != 0) {
			ssize_t r = recv(fd, b + n, sizeof(b) - n, 0);

			if (r <= 0) {
				fprintf(stderr, "request %d failed: %.*s\n", i, (int)n, b);
				return 0;
			}
			n += (size_t)r;
		}
		us[i] = now_us() - t0;
	}
	(void)close(fd);
	qsort(us, REQUESTS, sizeof(us[0]), compare);
	*ret_p99 = us[REQUESTS * 99 / 100];
	return us[REQUESTS / 2];
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return v[n / 2];
}

int main(int argc, char *argv[])
{
	static const struct live_rule rules[] = {
		{.pattern = "allowed.test:9000"},
		{.pattern = "allowed.test:9100"},
		{.pattern = "inspected.test", .paths = "/", .credential = "key"},
	};
	struct live_options o = {.rules = rules,
				 .n_rules = ARRAY_SIZE(rules),
				 .route_url = "https://inspected.test/",
				 .no_events = true,
				 .keep_ms = 60000};
	static double mbs[WAYS][ROUNDS_MAX], gb[WAYS][ROUNDS_MAX], tun[WAYS][ROUNDS_MAX],
		rq[WAYS][ROUNDS_MAX], p99[WAYS][ROUNDS_MAX], cpu[WAYS][ROUNDS_MAX];
	int rounds = argc > 1 ? argv[1][0] - '0' : 5;
	bool only_requests = argc > 2;

	live_world();
	live_start(&o);
	pids[GATEWAY] = live_pid();
	live_outside();
	start_others();
	for (int r = 0; r < rounds; r++)
		for (int way = 0; way < WAYS; way++) {
			double c0;

			if (way != DIRECT && pids[way] == 0)
				continue;
			c0 = cpu_ms(pids[way]);
			if (way != NGINX && !only_requests) {
				mbs[way][r] = bulk(way);
				gb[way][r] = (cpu_ms(pids[way]) - c0) * (1 << 30) / BULK;
				tun[way][r] = tunnels(way);
			}
			if (way == GATEWAY || way == NGINX || way == DIRECT) {
				c0 = cpu_ms(pids[way]);
				rq[way][r] = requests(way, &p99[way][r]);
				cpu[way][r] = (cpu_ms(pids[way]) - c0) * 1000 / REQUESTS;
			}
		}
	printf("%-10s %10s %10s %12s %12s %12s %14s\n", "", "MB/s", "CPU ms/GB", "tunnel us",
	       "request us", "p99 us", "CPU us/request");
	for (int way = 0; way < WAYS; way++)
		printf("%-10s %10.0f %10.0f %12.0f %12.1f %12.1f %14.1f\n", names[way],
		       median(mbs[way], rounds), median(gb[way], rounds), median(tun[way], rounds),
		       median(rq[way], rounds), median(p99[way], rounds), median(cpu[way], rounds));
	live_stop();
	return 0;
}
