"""Which results of benchmarks are kept, and what docs/benchmarks.md says of any: test-bench-render.py ROOT."""
import importlib.machinery
import importlib.util
import sys
import unittest

sys.dont_write_bytecode = True
root = sys.argv.pop(1)
loader = importlib.machinery.SourceFileLoader("render", root + "/bench/render")
render = importlib.util.module_from_spec(importlib.util.spec_from_loader("render", loader))
loader.exec_module(render)
sys.path.insert(0, root + "/bench/lib")
import keep  # noqa: E402

ONE = {"median": 3.0, "p10": 2.0, "p90": 4.0}


def row(key, holds=True, **more):
    bar = render.BARS[key]
    return dict({"row": key, "part": bar.part, "what": bar.what, "peer": bar.peer, "unit": bar.unit, "rounds": 9, "ours": ONE,
                 "theirs": ONE if bar.peer else None, "ratio": ONE if bar.form != "value" else None,
                 "bar": "%s %g" % (bar.op, bar.limit) if bar.op else None, "holds": holds if bar.op else None}, **more)


def results(**more):
    return dict({"quick": False, "versions": {"bubblewrap": "0.8.0"}, "missing": [],
                 "machine": {"processor": "p", "cores": 2, "memory": "4 GiB", "kernel": "6.1", "system": "s", "user": "root"},
                 "parts": [{"part": "exec", "date": "2026-01-01", "seconds": 60, "failed": ""}], "rows": [row(k) for k in render.BARS],
                 "points": []}, **more)


def page(reasons=None, **more):
    return render.page(results(**more), reasons or {})["docs/benchmarks.md"]


def points(name, unit, tools, x=None):
    return [{"point": name, "tool": t, "x": x, "unit": unit, "is": ONE, "rounds": 9} for t in tools]


class Render(unittest.TestCase):
    def test_a_missed_bar_is_listed_first_with_why(self):
        rows = [row(k, k != "hook.evasion") for k in render.BARS]
        text = page({"hook.evasion": "Because of a reason."}, rows=rows)
        first = text.index("included: an evasion")
        self.assertLess(first, text.index("## Every row"))
        self.assertEqual(text.count("\n- **"), 1)
        self.assertIn("Because of a reason.", text[first:text.index("## Every row")])
        self.assertIn("**missed**", text)

    def test_a_missed_bar_without_a_reason_says_so(self):
        self.assertIn("not known yet", page(rows=[row("run.srt", False)]))

    def test_where_all_bars_hold_none_is_listed(self):
        text = page()
        self.assertIn("## Bars that are missed\n\nNone.", text)
        self.assertNotIn("**missed**", text)
        self.assertNotIn("## Not measured", text)

    def test_what_comes_on_top_of_a_peer_has_its_unit(self):
        text = page(rows=[row("git.run", False)])
        self.assertIn("3 ms more (2–4)", text)
        self.assertIn("the bar is ≤ 0.3 ms.", text)

    def test_a_missing_peer_is_named_with_the_reason(self):
        rows = [row(k) for k in render.BARS if k != "run.srt"]
        text = page(rows=rows, missing=[{"missing": "srt", "part": "exec", "why": "no network"}])
        named = text.index("- srt (`bench/exec`): no network")
        self.assertLess(named, text.index("## Every row"))
        self.assertIn("beside srt: no result", text)

    def test_a_part_that_failed_is_named(self):
        failed = {"part": "exec", "date": "2026-01-01", "seconds": 9, "failed": "took more than 9 s"}
        self.assertIn("- `bench/exec`: took more than 9 s", page(parts=[failed]))

    def test_every_row_with_a_bar_is_in_the_table(self):
        lines = [line for line in page().splitlines() if line.startswith("| ") and ("holds" in line)]
        self.assertEqual(len(lines), sum(b.op is not None for b in render.BARS.values()))

    def test_engines_have_a_table_of_their_own_that_says_which_is_emulated(self):
        text = page()
        before, after = text.split("## Engines with a kernel of their own")
        first = next(line for line in after.splitlines() if line.startswith("| a sandbox made"))
        self.assertEqual(first.count("3 × (2–4)"), 2)
        self.assertIn("machine, emulated", after)
        self.assertNotIn(" | native | ", before)
        only = next(line for line in after.splitlines() if line.startswith("| `npm install`"))
        self.assertTrue(only.endswith("|  |  |"))
        self.assertNotIn("## Engines", page(rows=[row("run.bwrap")]))

    def test_a_quick_run_says_that_it_was_one(self):
        self.assertIn("a quick one", page(quick=True))
        self.assertNotIn("a quick one", page())

    def test_a_plot_is_made_of_its_points_and_labelled(self):
        made = render.page(results(points=points("startup", "ms", ["bwrap", "ralph <exec>"])
                                   + points("memory", "MB", ["ralph"], 1) + points("memory", "MB", ["ralph"], 500)), {})
        self.assertEqual({p for p in made if p.endswith(".svg")},
                         {"docs/images/bench-startup.svg", "docs/images/bench-memory.svg"})
        expected = {"startup": ["milliseconds, logarithmic", "ralph &lt;exec&gt;"], "memory": ["sandboxes", "MB, PSS"]}
        for name, labels in expected.items():
            for label in labels:
                self.assertIn(label, made["docs/images/bench-%s.svg" % name])
            self.assertIn("prefers-color-scheme: dark", made["docs/images/bench-%s.svg" % name])
            self.assertIn("(images/bench-%s.svg)" % name, made["docs/benchmarks.md"])


class Keep(unittest.TestCase):
    order = ["exec", "hook"]

    def test_a_part_that_was_measured_again_takes_the_place_of_its_old_results(self):
        hook = {"part": "hook", "date": "2026-01-01", "seconds": 9, "failed": ""}
        kept = results(parts=[dict(hook, part="exec"), hook], rows=[row("run.srt", False), row("hook.same", False)],
                       missing=[{"missing": "srt", "part": "exec", "why": "no network"}])
        new = results(parts=[dict(hook, part="exec", date="2026-02-02")], rows=[row("run.srt")])
        both = keep.update(kept, new, self.order)
        self.assertEqual([(p["part"], p["date"]) for p in both["parts"]], [("exec", "2026-02-02"), ("hook", "2026-01-01")])
        self.assertEqual([(r["row"], r["holds"]) for r in both["rows"]], [("run.srt", True), ("hook.same", False)])
        self.assertEqual(both["missing"], [])

    def test_results_of_another_machine_or_of_other_versions_are_not_mixed(self):
        for other in ({"machine": {"cores": 4}}, {"versions": {"bubblewrap": "0.9.0"}}):
            with self.assertRaises(keep.OtherMachine):
                keep.update(results(), results(**other), self.order)


unittest.main()
