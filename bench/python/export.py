"""The Markdown that libexec/ralph/export makes of a conversation of Claude Code, made with the means of a Python
programmer who cares for speed: one pass, json.loads per line, compiled expressions, one write per item.

    export.py TRANSCRIPT OUTPUT [THINKING]     bench/export holds both outputs to each other, byte for byte
"""
import collections
import hashlib
import json
import re
import sys

PART = re.compile(r"(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/_.-]{1,31}\Z")
RESULT_MAX = 4096
SUMMARY_MAX = 120
BOOKKEEPING = {
    "attachment", "queue-operation", "last-prompt", "mode", "permission-mode", "atis-latch", "tools-used",
    "cost-state", "api-request", "api-request-shape", "api-request-blob", "file-history-snapshot",
    "file-history-delta", "summary", "custom-title", "ai-title", "agent-name", "pr-link", "worktree-state",
    "progress", "content-replacement"}
NOISE = ("<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-caveat>",
         "<system-reminder>", "<task-notification>")
TELLING = ("command", "cmd", "file_path", "filePath", "path", "pattern", "url", "query", "description", "prompt")
STARTS = {
    "sk-": 16, "sk_live_": 16, "sk_test_": 16, "rk_live_": 16, "ghp_": 20, "gho_": 20, "ghu_": 20, "ghs_": 20,
    "ghr_": 20, "github_pat_": 20, "glpat-": 16, "xoxb-": 16, "xoxp-": 16, "xoxa-": 16, "xapp-": 16, "AKIA": 20,
    "ASIA": 20, "AIza": 30, "ya29.": 16, "1//0": 20, "npm_": 20, "pypi-": 20, "hf_": 20, "dop_v1_": 20,
    "shpat_": 20, "SG.": 20, "sq0": 20, "AGE-SECRET-KEY-": 20, "eyJ": 24, "lin_api_": 16}
WORD = r"[A-Za-z0-9+/_.-]"
SECRET = re.compile(r"-----BEGIN [^\n]{0,53}PRIVATE KEY.*?(?:-----END [^\n]*?-----|\Z)|(?<!%s)(?:%s)" % (
    WORD, "|".join("%s%s{%d,}" % (re.escape(s), WORD, n - len(s)) for s, n in STARTS.items())), re.S)
HEADING = re.compile(r"^(## (?:user|assistant))(?=[\r\n]|\Z)", re.M)
CONTROL = re.compile(r"[\x00-\x1f]")
TICKS = re.compile(r"`+")


class Export:
    def __init__(self, out, thinking):
        self.out, self.thinking = out, thinking
        self.role = None
        self.secrets = 0
        self.head = {}
        self.tokens = [0, 0, 0, 0]
        self.skipped = 0
        self.counted = collections.deque(maxlen=64)

    def put(self, text):
        text, n = SECRET.subn("[secret removed]", text)
        self.secrets += n
        self.out.write(text)

    def turn(self, role):
        if self.role != role:
            self.role = role
            return "## %s\n\n" % role
        return ""

    def say(self, role, text):
        self.put(self.turn(role) + HEADING.sub(r"\\\1", text) + "\n\n")

    def folded(self, before, title, code, over=0):
        title = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        fence = "`" * (max([2] + [len(t) for t in TICKS.findall(code)]) + 1)
        if not code.endswith("\n"):
            code += "\n"
        if over:
            code += "… %d bytes more\n" % over
        self.put("%s<details><summary>%s</summary>\n\n%stext\n%s%s\n\n</details>\n\n" % (
            before, title, fence, code, fence))


def cut(text, limit):
    """At most limit bytes of it, not in the middle of a character or of a short word, and how many are left."""
    if len(text) * 4 <= limit:
        return text, 0
    data = text.encode()
    if len(data) <= limit:
        return text, 0
    kept = PART.sub("", data[:limit].decode(errors="ignore"))
    return kept, len(data) - len(kept.encode())


def plain(value):
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = []
        for p in value:
            if isinstance(p, str):
                parts.append(p)
            elif isinstance(p, dict):
                parts.append(p["text"] if isinstance(p.get("text"), str) else "[%s]" % p["type"] if "type" in p else "")
        return "\n".join(parts)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def title(name, args):
    for key in TELLING:
        if isinstance(args.get(key), str) and args[key]:
            return "%s: %s" % (name, CONTROL.sub(" ", cut(args[key], SUMMARY_MAX)[0]))
    return name


def arguments(args):
    lines = []
    for key, value in args.items():
        text, over = cut(plain(value), RESULT_MAX)
        if "\n" in text:
            body = "  " + text.replace("\n", "\n  ")
            lines.append("%s: |\n%s" % (key, body[:-2] if text.endswith("\n") else body))
        else:
            lines.append("%s: %s" % (key, text))
        if over:
            lines.append("  … %d bytes more" % over)
    return "\n".join(lines) + "\n"


def block(e, b, role):
    kind = b.get("type")
    if kind == "text":
        if not b["text"].startswith(NOISE):
            e.say(role, b["text"])
    elif kind == "thinking":
        text, over = cut(b["thinking"], RESULT_MAX)
        if e.thinking and text:
            e.folded(e.turn("assistant"), "thinking", text, over)
    elif kind == "tool_use":
        e.folded(e.turn("assistant"), title(b.get("name", "tool"), b["input"]), arguments(b["input"]))
    elif kind == "tool_result":
        text, over = cut(plain(b["content"]), RESULT_MAX)
        e.folded(e.turn("assistant"), "result: failed" if b.get("is_error") else "result", text, over)


def message(e, record, role):
    m = record["message"]
    if role == "assistant":
        if m.get("model") != "<synthetic>":
            e.head["model"] = m.get("model")
        if m.get("id") not in e.counted:
            e.counted.append(m.get("id"))
            u = m.get("usage", {})
            for i, key in enumerate(("input_tokens", "output_tokens", "cache_read_input_tokens",
                                     "cache_creation_input_tokens")):
                e.tokens[i] += u.get(key, 0)
    if isinstance(m["content"], str):
        if not m["content"].startswith(NOISE):
            e.say(role, m["content"])
        return
    for b in m["content"]:
        block(e, b, role)


def times(e, record):
    if "timestamp" in record:
        e.head.setdefault("start", record["timestamp"])
        e.head["end"] = record["timestamp"]


def one(e, record):
    kind = record.get("type")
    if kind in ("user", "assistant"):
        e.head.setdefault("id", record.get("agentId", record.get("sessionId")))
        e.head.setdefault("workspace", record.get("cwd"))
        if record.get("gitBranch", "HEAD") != "HEAD":
            e.head.setdefault("branch", record["gitBranch"])
        e.head["version"] = record.get("version", e.head.get("version"))
        if record.get("isCompactSummary"):
            times(e, record)
            e.put("> *continued from a summary*\n\n")
            e.role = None
        elif not record.get("isMeta"):
            if record["message"]["content"]:
                times(e, record)
            message(e, record, kind)
    elif kind == "system":
        if record.get("subtype") == "compact_boundary":
            times(e, record)
            e.put("> *the conversation was compacted*\n\n")
            e.role = None
    elif kind not in BOOKKEEPING:
        e.skipped += 1


def front(e, digest, source):
    lines = ["---", 'agent: "claude"']
    for key in ("version", "model", "id", "workspace", "branch", "start", "end"):
        if e.head.get(key):
            lines.append("%s: %s" % (key, json.dumps(e.head[key], ensure_ascii=False)))
    lines.append("tokens: {input: %d, output: %d, cache_read: %d, cache_write: %d}" % tuple(e.tokens))
    if e.skipped:
        lines.append("skipped_records: %d" % e.skipped)
    if e.secrets:
        lines.append("secrets_removed: %d" % e.secrets)
    lines += ['source: "%s"' % source, 'source_sha256: "%s"' % digest, "---", "", ""]
    return "\n".join(lines)


def main():
    source, target, thinking = sys.argv[1], sys.argv[2], len(sys.argv) > 3
    digest = hashlib.sha256()
    with open(target + ".body", "w+", encoding="utf-8", newline="") as body:
        e = Export(body, thinking)
        with open(source, "rb") as lines:
            for line in lines:
                digest.update(line)
                try:
                    record = json.loads(line)
                except ValueError:
                    e.skipped += 1
                    continue
                one(e, record)
        body.seek(0)
        with open(target, "w", encoding="utf-8", newline="") as out:
            out.write(front(e, digest.hexdigest(), source[source.index(".claude"):]))
            while chunk := body.read(1 << 20):
                out.write(chunk)


main()
