"""ansi2svg.py --columns N [--title TEXT] <TEXT >SVG: text with colours, as tmux captures it, as a picture.

Several screens, each behind a line of a form feed and the seconds that it is to be seen, become a picture that moves; where nothing
moves the last one is seen.

Knows what a captured screen has in it: lines of UTF-8 and SGR sequences. Anything else is an error, so
that no picture shows less than the terminal did.
"""
import argparse
import re
import sys
import unicodedata
from xml.sax.saxutils import escape

WIDTH, HEIGHT, PAD = 8.0, 18.0, 16.0
PLAIN, BACK = "#d0d4da", "#16191f"
COLORS = {30: "#5c6370", 31: "#e06c75", 32: "#8cc265", 33: "#d9b36c", 34: "#61afef", 35: "#c678dd",
          36: "#4fb8c4", 37: "#d0d4da"}


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.color, self.bold, self.dim, self.reverse = PLAIN, False, False, False

    def sgr(self, codes):
        for code in codes:
            if code == 0:
                self.reset()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 22:
                self.bold = self.dim = False
            elif code in (7, 27):
                self.reverse = code == 7
            elif code in COLORS:
                self.color = COLORS[code]
            elif code in (39, 49):  # the colours of the terminal itself
                self.color = PLAIN if code == 39 else self.color
            else:
                sys.exit(f"ansi2svg: SGR {code} is not known here")

    def attributes(self):
        text = f'fill="{BACK if self.reverse else self.color}"'
        if self.bold:
            text += ' font-weight="bold"'
        if self.dim:
            text += ' opacity="0.65"'
        return text


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def put(out, text, at, row, style):
    """Words between runs of blanks, each at its own column: fonts differ, the grid must not."""
    if style.reverse and text:
        out.append(f'<rect x="{PAD + at * WIDTH:g}" y="{PAD + row * HEIGHT:g}" width="{columns(text) * WIDTH:g}" '
                   f'height="{HEIGHT:g}" fill="{style.color}"/>')
    for word in re.finditer(r"\S+(?: \S+)*", text):
        x = PAD + (at + columns(text[:word.start()])) * WIDTH
        n = columns(word[0])
        out.append(f'<text x="{x:g}" y="{PAD + (row + 0.75) * HEIGHT:g}" textLength="{n * WIDTH:g}" '
                   f'lengthAdjust="spacingAndGlyphs" {style.attributes()}>{escape(word[0])}</text>')


def draw(lines):
    style, out = Style(), []
    for row, line in enumerate(lines):
        at = 0
        for part in re.split(r"(\033\[[0-9;]*m)", line):
            if part.startswith("\033["):
                style.sgr([int(c or 0) for c in part[2:-1].split(";")])
                continue
            if any(ord(c) < 0x20 for c in part):
                sys.exit(f"ansi2svg: line {row + 1} has a control character")
            put(out, part, at, row, style)
            at += columns(part)
    return out


def screens(text):
    """(seconds, lines) of each."""
    if not text.startswith("\f"):
        return [(0, text.rstrip().split("\n"))]
    found = []
    for screen in text[1:].split("\f"):
        seconds, _, rest = screen.partition("\n")
        found.append((float(seconds), rest.rstrip().split("\n")))
    return found


def motion(seconds):
    """The style that shows one group after the other, for ever."""
    total, start = sum(seconds), 0.0
    out = [".s { visibility: hidden } .s:last-of-type { visibility: visible }", "@media (prefers-reduced-motion: no-preference) {"]
    for n, length in enumerate(seconds):
        a, b = 100 * start / total, 100 * (start + length) / total
        steps = [] if n == 0 else ["0% { visibility: hidden }"]
        steps.append(f"{a:.3f}% {{ visibility: visible }}")
        if n < len(seconds) - 1:
            steps.append(f"{b:.3f}% {{ visibility: hidden }}")
        out.append(f"@keyframes k{n} {{ {' '.join(steps)} }} #s{n} {{ animation: k{n} {total:g}s step-end infinite }}")
        start += length
    return "\n".join(out + ["}"])


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--columns", type=int, required=True)
    args.add_argument("--title", default="")
    args = args.parse_args()
    shown = screens(sys.stdin.read())
    w, h = 2 * PAD + args.columns * WIDTH, 2 * PAD + max(len(lines) for _, lines in shown) * HEIGHT
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" '
          f'font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="13">')
    print(f"<title>{escape(args.title)}</title>")
    if len(shown) > 1:
        print(f"<style>\n{motion([s for s, _ in shown])}\n</style>")
    print(f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>')
    for n, (_, lines) in enumerate(shown):
        print("\n".join(([f'<g class="s" id="s{n}">'] if len(shown) > 1 else []) + draw(lines) + (["</g>"] if len(shown) > 1 else [])))
    print("</svg>")


main()
