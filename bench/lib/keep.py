"""The results that are kept in the tree, of which parts may be measured again."""


class OtherMachine(Exception):
    pass


def update(kept, new, order):
    """The kept results, with those of the parts that were measured again in place of theirs."""
    for what in ("machine", "versions"):
        if kept[what] != new[what]:
            raise OtherMachine("the kept results have another %s: run all parts, without --update" %
                               {"machine": "machine", "versions": "set of versions"}[what])
    measured = {p["part"] for p in new["parts"]}
    result = dict(kept)
    for kind in ("parts", "rows", "points", "missing"):
        both = [r for r in kept[kind] if r["part"] not in measured] + new[kind]
        result[kind] = sorted(both, key=lambda r: order.index(r["part"]))
    return result
