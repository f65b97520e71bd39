# Looking into ralph's own processes, as root: `load ../lib/memory` after the helpers.
#
#   helper_of NAME SANDBOX   pids of that program of ralph's for the sandbox: its supervisor, or a child of that
#   memory_holds PID TEXT    how often the text is in all that the process has mapped
# shellcheck shell=bash

helper_of() {
	local p top

	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = "$1" ] || continue
		top=$p
		[ "$1" = supervisor ] || top=/proc/$(awk '{ print $4 }' "$p/stat")
		[ "$(tr '\0' ' ' <"$top/cmdline" 2>/dev/null | cut -d' ' -f2)" != "$2" ] || echo "${p#/proc/}"
	done
}

memory_holds() {
	python3 - "$@" <<-'PY'
		import sys
		pid, needle, n = sys.argv[1], sys.argv[2].encode(), 0
		with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
		    for line in maps:
		        span, mode, *_ = line.split()
		        if "r" not in mode or "[v" in line:
		            continue
		        start, end = (int(x, 16) for x in span.split("-"))
		        try:
		            mem.seek(start)
		            n += mem.read(end - start).count(needle)
		        except OSError:
		            pass
		print(n)
	PY
}
