/* The programs the gateway is compared with, each set up as its own manual would for speed. */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SANDBOX_WAIT_S 30
#define STOP_WAIT_MS 3000

/* Ratios: with ten thousand clients it would give up its idle connections to the origin. */
static const char haproxy_cfg[] =
	"global\n"
	"  nbthread 1\n"
	"  maxconn 11000\n"
	"  no strict-limits\n"
	"  tune.pool-low-fd-ratio 90\n"
	"  tune.pool-high-fd-ratio 95\n"
	"defaults\n"
	"  mode tcp\n"
	"  timeout connect 5s\n"
	"  timeout client 60s\n"
	"  timeout server 60s\n"
	"listen copy\n"
	"  bind 127.0.0.1:4001\n"
	"  server origin 8.1.1.1:9000\n"
	"listen splice\n"
	"  bind 127.0.0.1:4002\n"
	"  option splice-auto\n"
	"  server origin 8.1.1.1:9000\n"
	"listen request\n"
	"  mode http\n"
	"  timeout client 600s\n"
	"  timeout http-keep-alive 600s\n"
	"  bind 127.0.0.1:4444 ssl crt %s/api.pem\n"
	"  http-reuse always\n"
	"  http-request set-header Authorization \"Bearer the-real-key\"\n"
	"  server origin 8.1.1.1:443 ssl verify required ca-file %s/ca.pem "
	"sni str(api.test)\n";

/* %s: the directory. proxy_buffering off: as one sets it up for server-sent events. */
static const char nginx_cfg[] = "user root;\n"
				"worker_processes 1;\n"
				"daemon off;\n"
				"pid %s/nginx.pid;\n"
				"error_log %s/nginx.log crit;\n"
				"worker_rlimit_nofile 16384;\n"
				"events { worker_connections 12000; }\n"
				"http {\n"
				"  access_log off;\n"
				"  client_body_temp_path %s/nginx-body;\n"
				"  proxy_temp_path %s/nginx-proxy;\n"
				"  fastcgi_temp_path %s/nginx-fastcgi;\n"
				"  uwsgi_temp_path %s/nginx-uwsgi;\n"
				"  scgi_temp_path %s/nginx-scgi;\n"
				"  keepalive_requests 100000000;\n"
				"  keepalive_timeout 600s;\n"
				"  upstream origin {\n"
				"    server 8.1.1.1:443;\n"
				"    keepalive 1024;\n"
				"    keepalive_requests 100000000;\n"
				"  }\n"
				"  server {\n"
				"    listen 127.0.0.1:4443 ssl;\n"
				"    server_name api.test;\n"
				"    ssl_certificate %s/api.crt;\n"
				"    ssl_certificate_key %s/api.key;\n"
				"    location / {\n"
				"      proxy_pass https://origin;\n"
				"      proxy_http_version 1.1;\n"
				"      proxy_buffering off;\n"
				"      proxy_set_header Connection \"\";\n"
				"      proxy_set_header Host api.test;\n"
				"      proxy_set_header Authorization \"Bearer the-real-key\";\n"
				"      proxy_ssl_verify on;\n"
				"      proxy_ssl_name api.test;\n"
				"      proxy_ssl_server_name on;\n"
				"      proxy_ssl_trusted_certificate %s/ca.pem;\n"
				"    }\n"
				"  }\n"
				"  server {\n"
				"    listen 127.0.0.1:4445 ssl http2;\n"
				"    server_name api.test;\n"
				"    ssl_certificate %s/api.crt;\n"
				"    ssl_certificate_key %s/api.key;\n"
				"    location / {\n"
				"      proxy_pass https://origin;\n"
				"      proxy_http_version 1.1;\n"
				"      proxy_buffering off;\n"
				"      proxy_set_header Connection \"\";\n"
				"      proxy_set_header Host api.test;\n"
				"      proxy_set_header Authorization \"Bearer the-real-key\";\n"
				"      proxy_ssl_verify on;\n"
				"      proxy_ssl_name api.test;\n"
				"      proxy_ssl_server_name on;\n"
				"      proxy_ssl_trusted_certificate %s/ca.pem;\n"
				"    }\n"
				"  }\n"
				"  upstream grpc {\n"
				"    server 8.1.1.1:443;\n"
				"    keepalive 1024;\n"
				"    keepalive_requests 100000000;\n"
				"  }\n"
				"  server {\n"
				"    listen 127.0.0.1:4446 ssl http2;\n"
				"    server_name api.test;\n"
				"    ssl_certificate %s/api.crt;\n"
				"    ssl_certificate_key %s/api.key;\n"
				"    client_max_body_size 0;\n"
				"    location / {\n"
				"      grpc_pass grpcs://grpc;\n"
				"      grpc_set_header Host grpc.test;\n"
				"      grpc_set_header Authorization \"Bearer the-real-key\";\n"
				"      grpc_ssl_verify on;\n"
				"      grpc_ssl_name grpc.test;\n"
				"      grpc_ssl_server_name on;\n"
				"      grpc_ssl_trusted_certificate %s/ca.pem;\n"
				"    }\n"
				"  }\n"
				"}\n";

static const char squid_cfg[] = "http_port 127.0.0.1:4003\n"
				"acl connect method CONNECT\n"
				"http_access allow connect\n"
				"http_access deny all\n"
				"cache deny all\n"
				"cache_mem 8 MB\n"
				"access_log none\n"
				"cache_log /dev/null\n"
				"cache_store_log none\n"
				"pid_filename none\n"
				"coredump_dir /\n"
				"cache_effective_user proxy\n"
				"shutdown_lifetime 0 seconds\n"
				"max_filedescriptors 8192\n"
				"pinger_enable off\n"
				"visible_hostname bench\n";

static const char tinyproxy_cfg[] = "Port 4004\n"
				    "Listen 127.0.0.1\n"
				    "Timeout 60\n"
				    "MaxClients 500\n"
				    "LogLevel Critical\n"
				    "LogFile \"%s/tinyproxy.log\"\n"
				    "ConnectPort 9000\n";

static void put_config(const char *name, const char *format)
{
	char text[8192], *p = text;
	const char *dir = world_file("");
	size_t n = strlen(dir) - 1;

	for (; *format && p + n + 2 < text + sizeof(text); format++)
		if (format[0] == '%' && format[1] == 's') {
			memcpy(p, dir, n);
			p += n;
			format++;
		} else {
			*p++ = *format;
		}
	*p = '\0';
	world_write(name, text);
}

static void wait_for(uint16_t port, const char *name)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	(void)inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	for (int i = 0; i < 200; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int r = connect(fd, (struct sockaddr *)&a, sizeof(a));

		(void)close(fd);
		if (r == 0)
			return;
		(void)usleep(50000);
	}
	die(name, "does not listen; its log is in the directory kept with --keep");
}

static pid_t start(const char *name, char *const argv[])
{
	char log[64];

	(void)snprintf(log, sizeof(log), "%s.out", name);
	return proc_start(argv, world_file(log));
}

static const char *config(const char *name)
{
	static char path[160];

	(void)snprintf(path, sizeof(path), "%s", world_file(name));
	return path;
}

static void start_judges(struct others *o)
{
	o->haproxy = start("haproxy", (char *[]){"/usr/sbin/haproxy", "-db", "-q", "-f",
						 (char *)config("haproxy.cfg"), NULL});
	o->nginx = start("nginx",
			 (char *[]){"/usr/sbin/nginx", "-c", (char *)config("nginx.conf"), NULL});
}

static bool read_ports(const char *name, struct sandboxed *s)
{
	char file[64], line[640], *p = line;
	FILE *f;

	(void)snprintf(file, sizeof(file), "%s.way", name);
	f = fopen(world_file(file), "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	(void)fclose(f);
	s->inside = (uint16_t)strtoumax(p, &p, 10);
	s->host = (uint16_t)strtoumax(p, &p, 10);
	p += strspn(p, " ");
	p[strcspn(p, "\n")] = '\0';
	(void)snprintf(s->auth, sizeof(s->auth), "%.500s", p);
	return s->inside && s->host;
}

/* The network of the first process below it that has one of its own. */
static int network_below(pid_t pid)
{
	pid_t all[MAX_TREE];
	size_t n = proc_tree(pid, all);
	struct stat here, there;

	if (stat("/proc/self/ns/net", &here) < 0)
		die("/proc/self/ns/net", strerror(errno));
	for (size_t i = 0; i < n; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", all[i]);
		if (stat(path, &there) == 0 && there.st_ino != here.st_ino)
			return open(path, O_RDONLY | O_CLOEXEC);
	}
	return -1;
}

/* NAME.sh starts a sandbox, and what runs in it writes NAME.way: its proxy's port in there and out
 * here, and what the proxy wants to be told. */
static void start_sandboxed(const char *name, struct sandboxed *s)
{
	char file[64];
	struct stat st;

	(void)snprintf(file, sizeof(file), "%s.sh", name);
	if (stat(world_file(file), &st) < 0)
		return;
	s->pid = start(name, (char *[]){"/bin/sh", (char *)config(file), NULL});
	for (int i = 0; i < SANDBOX_WAIT_S * 20; i++) {
		if (read_ports(name, s)) {
			s->netns = network_below(s->pid);
			if (s->netns >= 0)
				return;
		}
		(void)usleep(50000);
	}
	emit_absent(name, "its sandbox did not come up");
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

void others_start(struct others *o)
{
	put_config("haproxy.cfg", haproxy_cfg);
	put_config("nginx.conf", nginx_cfg);
	put_config("squid.conf", squid_cfg);
	put_config("tinyproxy.conf", tinyproxy_cfg);
	start_judges(o);
	o->squid = start("squid", (char *[]){"/usr/sbin/squid", "-N", "-f",
					     (char *)config("squid.conf"), NULL});
	o->tinyproxy = start("tinyproxy", (char *[]){"/usr/bin/tinyproxy", "-d", "-c",
						     (char *)config("tinyproxy.conf"), NULL});
	wait_for(4001, "haproxy");
	wait_for(4443, "nginx");
	wait_for(4003, "squid");
	wait_for(4004, "tinyproxy");
	start_sandboxed("srt", &o->srt);
	start_sandboxed("codex", &o->codex);
}

void others_renew(struct others *o)
{
	const pid_t old[] = {o->haproxy, o->nginx};

	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		(void)kill(old[i], SIGTERM);
		(void)waitpid(old[i], NULL, 0);
	}
	start_judges(o);
	wait_for(4001, "haproxy");
	wait_for(4443, "nginx");
}

void others_stop(const struct others *o)
{
	const pid_t all[] = {o->haproxy,   o->nginx,   o->squid,
			     o->tinyproxy, o->srt.pid, o->codex.pid};

	/* Those that take their time end with the process namespace. */
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] > 0)
			(void)kill(all[i], SIGTERM);
	for (int ms = 0; ms < STOP_WAIT_MS; ms += 50) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (kill(o->srt.pid ? o->srt.pid : o->squid, 0) < 0)
			return;
		(void)usleep(50000);
	}
}
