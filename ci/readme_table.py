"""Tables that a tool writes into a README, between `<!-- NAME: begin ... -->` and `<!-- NAME: end -->`."""

import re


def table(columns, rows):
    lines = [columns, *rows]
    lines = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])


def source(device, software, date, commit):
    """What the numbers of a table come from; `software` is ["driver 580.159", ...], `date` starts with the day."""
    return f"{', '.join([device, *software, date[:10], f'commit {commit}'])}."


def with_text(readme, name, text):
    """The README with `text` between its marks; ValueError if it has none."""
    marks = re.compile(rf"(?P<begin><!-- {name}: begin\b[^\n]*?-->\n).*?(?P<end>^<!-- {name}: end -->)", re.DOTALL | re.MULTILINE)
    if not marks.search(readme):
        raise ValueError(f"it needs a line `<!-- {name}: begin -->` and behind it a line `<!-- {name}: end -->`")
    return marks.sub(lambda found: found["begin"] + text + "\n" + found["end"], readme, count=1)
