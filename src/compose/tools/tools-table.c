#include "compose/tools/tools-table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "compose/tools.h"

/* clang-format off */
static const struct tools_root roots[] = {
	{".nvm", "nvm", NULL},
	{".fnm", "fnm", NULL},
	{".local/share/fnm", "fnm", NULL},
	{".volta", "Volta", NULL},
	{".nodenv", "nodenv", NULL},
	{".n", "n", NULL},
	{".bun", "Bun", NULL},
	{".deno", "Deno", NULL},
	{".npm-global", "npm's global packages", NULL},
	{".npm-packages", "npm's global packages", NULL},
	{".local/lib/node_modules", "npm's global packages", NULL},
	{".local/share/pnpm", "pnpm's global packages", NULL},
	{".yarn/bin", "yarn", NULL},
	{".pyenv", "pyenv", NULL},
	{".local/share/pipx", "pipx", NULL},
	{".local/pipx", "pipx", NULL},
	{".local/share/uv", "uv", NULL},
	{".local/share/pypoetry", "Poetry", NULL},
	{".pixi/bin", "pixi", ".pixi/envs"},
	{".pixi/envs", "pixi", NULL},
	{"miniconda3", "conda", NULL},
	{"anaconda3", "conda", NULL},
	{"miniforge3", "conda", NULL},
	{"mambaforge", "conda", NULL},
	{".rbenv", "rbenv", NULL},
	{".rvm", "rvm", NULL},
	{".local/share/gem", "RubyGems", NULL},
	{".asdf", "asdf", NULL},
	{".local/share/mise", "mise", NULL},
	{".proto", "proto", NULL},
	{".sdkman", "SDKMAN", NULL},
	{".jenv", "jenv", NULL},
	{".rustup", "rustup", NULL},
	{".cargo/bin", "cargo", ".rustup"},
	{"go/bin", "Go", NULL},
	{".go/bin", "Go", NULL},
	{".goenv", "goenv", NULL},
	{".ghcup", "GHCup", NULL},
	{".cabal/bin", "cabal", NULL},
	{".opam", "opam", NULL},
	{".elan", "elan", NULL},
	{".juliaup", "juliaup", NULL},
	{".dotnet", ".NET", NULL},
	{".swiftly", "swiftly", NULL},
	{".foundry/bin", "Foundry", NULL},
	{".krew/bin", "krew", NULL},
	{".tfenv", "tfenv", NULL},
	{".linuxbrew", "Homebrew", NULL},
	{"/home/linuxbrew/.linuxbrew", "Homebrew", NULL},
	{"/nix/store", "Nix", NULL},
	{".local/share/cursor-agent", "Cursor", NULL},
};

/* Credentials, sessions, histories, mail: what is in, is, or contains one of these stays out. Rows
 * of agents name theirs themselves. */
static const char *const private_places[] = {
	".ssh", ".gnupg", ".pki", ".aws", ".azure", ".config", ".kube", ".docker", ".oci", ".ibmcloud",
	".qwen", ".cursor", ".factory", ".aider.conf.yml", ".goose", ".continue", ".local/share/goose",
	 ".cargo", ".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml",
	".pypirc", ".gem", ".m2", ".gradle", ".ivy2", ".composer", ".nuget", ".cabal", ".git-credentials",
	".gitconfig", ".vault-token", ".terraform.d", ".terraformrc", ".boto", ".s3cfg", ".pgpass",
	".my.cnf", ".mylogin.cnf", ".databricks", ".databrickscfg", ".snowflake", ".snowsql", ".wrangler",
	".fly", ".netlify", ".vercel", ".huggingface", ".kaggle", ".password-store", ".keychain",
	".local/share/keyrings", ".local/share/kwalletd", ".local/share/containers", ".local/share/ralph",
	".local/state", ".mozilla", ".thunderbird", ".var", "snap", ".cache", ".dbus", ".electrum",
	".bitcoin", ".ethereum", ".foundry", ".krew", ".Xauthority", ".ICEauthority", ".env", ".subversion",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".lesshst",
};

/* File names at the top of a directory. */
static const char *const credential_names[] = {
	"*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.jks", "*.kdbx", "id_rsa*", "id_ed25519*",
	"id_ecdsa*", "id_dsa*", "credentials*", ".credentials*", "*credentials.json", "auth.json",
	"*token", "*tokens.json", "*token.json", ".netrc", "_netrc", "secret", "secrets", "secrets.*",
	".env", ".env.*", "oauth*.json", "hosts.yml", ".git-credentials", ".pypirc", ".pgpass",
};
/* clang-format on */

bool tools_root_of(const char *path, struct tools_root *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (!path_under(path, roots[i].path))
			continue;
		*ret = roots[i];
		return true;
	}
	for (size_t i = 0; i < agent_count(); i++)
		for (const char *const *dir = agent_at(i)->installed; *dir; dir++) {
			if (!path_under(path, *dir))
				continue;
			*ret = (struct tools_root){*dir, agent_at(i)->title, NULL};
			return true;
		}
	return false;
}

const char *tools_private_place(size_t i)
{
	if (i < ARRAY_SIZE(private_places))
		return private_places[i];
	i -= ARRAY_SIZE(private_places);
	for (size_t k = 0; k < agent_count(); k++)
		for (const char *const *place = agent_at(k)->private; *place; place++)
			if (i-- == 0)
				return *place;
	return NULL;
}

bool tools_rel_is_private(const char *rel)
{
	struct tools_root root;
	const char *place;

	/* A root may lie in a private place (.cargo/bin): naming it here says that it is safe. */
	if (tools_root_of(rel, &root))
		return false;
	for (size_t i = 0; (place = tools_private_place(i)); i++)
		if (path_under(rel, place) || path_under(place, rel))
			return true;
	return false;
}

/* Many projects carry an .npmrc that holds settings only. Absent: no token. */
static bool npmrc_has_token(int dir, const char *name)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	cleanup_buf struct buf b = {0};

	buf_init(&b, 64 * KiB);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return false;
	return fd < 0 || fd_read_all(fd, &b) < 0 || strstr(buf_str(&b), "_auth") ||
	       strstr(buf_str(&b), "_password");
}

bool tools_is_credential(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(credential_names); i++)
		if (fnmatch(credential_names[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

bool tools_has_credentials(const char *dir)
{
	DIR *d = opendir(dir);
	bool found = false;
	struct dirent *e;

	if (!d)
		return true; /* a directory that cannot be read is not handed out whole */
	/* npm keeps what was set for all users of a prefix in its etc/npmrc. */
	found = npmrc_has_token(dirfd(d), ".npmrc") || npmrc_has_token(dirfd(d), "etc/npmrc");
	while (!found && (e = readdir(d)) != NULL)
		found = e->d_type != DT_DIR && tools_is_credential(e->d_name);
	(void)closedir(d);
	return found;
}
