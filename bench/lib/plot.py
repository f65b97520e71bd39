"""Plots as SVG: bars of one number each, and lines over a number. Colours follow the reader's light or dark scheme; the
background comes along, so that text is legible wherever the picture is shown."""
import math
from xml.sax.saxutils import escape

WIDTH = 760
FONT = 13
STYLE = """<style>
text { font: %dpx sans-serif; fill: #1f2328; } .small { font-size: 11px; fill: #59636e; } .title { font-weight: bold; }
.ground { fill: #ffffff; } .grid { stroke: #d1d9e0; } .axis { stroke: #59636e; } .range { stroke: #1f2328; }
.c0 { fill: #0969da; stroke: #0969da; } .c1 { fill: #bc4c00; stroke: #bc4c00; } .c2 { fill: #1a7f37; stroke: #1a7f37; }
.c3 { fill: #8250df; stroke: #8250df; } .rest { fill: #818b98; } .ours { fill: #0969da; }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .small { fill: #9198a1; } .ground { fill: #0d1117; } .grid { stroke: #30363d; }
.axis { stroke: #9198a1; } .range { stroke: #e6edf3; }
.c0 { fill: #4493f8; stroke: #4493f8; } .c1 { fill: #f0883e; stroke: #f0883e; } .c2 { fill: #3fb950; stroke: #3fb950; }
.c3 { fill: #ab7df8; stroke: #ab7df8; } .rest { fill: #6e7681; } .ours { fill: #4493f8; }
.line { fill: none; } }
</style>""" % FONT


def number(v):
    """Short, and never as 1e+04."""
    if v >= 1000:
        return "{:,.0f}".format(float("%.3g" % v))
    return "%.3g" % v


def svg(height, title, parts):
    return "\n".join(
        ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">' % (WIDTH, height),
         "<title>%s</title>" % escape(title), STYLE, '<rect class="ground" width="100%" height="100%"/>',
         text(16, 24, title, "title")] + parts + ["</svg>", ""])


def text(x, y, content, style="", anchor="start", more=""):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s"%s>%s</text>' % (x, y, style, anchor, more, escape(content))


def line(x1, y1, x2, y2, style):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>' % (x1, y1, x2, y2, style)


class Axis:
    """Where a value lies between two ends; logarithmic over whole decades, or linear from nought."""

    def __init__(self, values, start, end, log):
        self.start, self.end, self.log = start, end, log
        if log:
            self.low = math.floor(math.log10(min(values)))
            self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
            self.ticks = [10.0 ** e for e in range(self.low, self.high + 1)]
        else:
            step = 10.0 ** math.floor(math.log10(max(values)))
            step = next(s for s in (step / 5, step / 2, step, step * 2) if max(values) / s <= 6)
            self.ticks = [i * step for i in range(math.ceil(max(values) / step) + 1)]
            self.low, self.high = 0.0, self.ticks[-1]

    def at(self, value):
        v = math.log10(value) if self.log else value
        return self.start + (v - self.low) / (self.high - self.low) * (self.end - self.start)


def bars(title, axis_title, rows, log=False):
    """rows: (label, ours?, {"median", "p10", "p90"}), from top to bottom."""
    left, right, top, step = 250, WIDTH - 90, 44, 28
    bottom = top + step * len(rows)
    axis = Axis([r[2][k] for r in rows for k in ("median", "p10", "p90")], left, right, log)
    parts = []
    for tick in axis.ticks:
        parts.append(line(axis.at(tick), top, axis.at(tick), bottom, "grid"))
        parts.append(text(axis.at(tick), bottom + 16, number(tick), "small", "middle"))
    for i, (label, ours, s) in enumerate(rows):
        y = top + step * i + 5
        x = axis.at(s["median"])
        parts.append(text(left - 8, y + 14, label, "", "end"))
        parts.append('<rect x="%d" y="%.1f" width="%.1f" height="18" class="%s"/>' %
                     (left, y, max(x - left, 1), "ours" if ours else "rest"))
        parts.append(line(axis.at(s["p10"]), y + 9, axis.at(s["p90"]), y + 9, "range"))
        parts.append(text(max(x, axis.at(s["p90"])) + 6, y + 14, number(s["median"])))
    parts.append(line(left, top, left, bottom, "axis"))
    parts.append(text((left + right) / 2, bottom + 36, axis_title + (", logarithmic" if log else ""), "small", "middle"))
    return svg(bottom + 48, title, parts)


def legend(series, x, y):
    parts = []
    for i, (label, style, _) in enumerate(series):
        parts.append(line(x, y + 20 * i, x + 26, y + 20 * i, "line " + style))
        parts.append(text(x + 32, y + 20 * i + 4, label))
    return parts


def lines(title, x_title, y_title, series):
    """series: (label, classes, [(x, {"median", …})]); both axes logarithmic."""
    left, right, top, bottom = 80, WIDTH - 210, 44, 340
    xs = Axis([x for _, _, points in series for x, _ in points], left, right, True)
    ys = Axis([s["median"] for _, _, points in series for _, s in points], bottom, top, True)
    parts = []
    for tick in xs.ticks:
        parts.append(line(xs.at(tick), top, xs.at(tick), bottom, "grid"))
        parts.append(text(xs.at(tick), bottom + 16, number(tick), "small", "middle"))
    for tick in ys.ticks:
        parts.append(line(left, ys.at(tick), right, ys.at(tick), "grid"))
        parts.append(text(left - 6, ys.at(tick) + 4, number(tick), "small", "end"))
    for _, style, points in series:
        path = " ".join("%.1f,%.1f" % (xs.at(x), ys.at(s["median"])) for x, s in points)
        parts.append('<polyline points="%s" class="line %s"/>' % (path, style))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" class="%s"/>' % (xs.at(x), ys.at(s["median"]), style.split()[0])
                  for x, s in points]
    parts += [line(left, top, left, bottom, "axis"), line(left, bottom, right, bottom, "axis")]
    parts += legend(series, right + 20, top + 10)
    parts.append(text((left + right) / 2, bottom + 38, x_title, "small", "middle"))
    middle = (top + bottom) / 2
    parts.append(text(20, middle, y_title, "small", "middle", ' transform="rotate(-90 20 %.1f)"' % middle))
    return svg(bottom + 52, title, parts)
