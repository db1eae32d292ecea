"""Writes measured figures as JSON: no more digits than they are worth, short values on one line;
and counts in sentences."""

import json

COLUMNS_MAX = 200


def counted(number, one, many=None):
    """ "1 server", "2 servers", "1,200 servers"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def rounded(value):
    """Floating-point numbers to six digits: repeated measurements differ by more."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def text(value, indent=0):
    """JSON in which every list or object is on one line if it fits there."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if indent + len(line) <= COLUMNS_MAX or not isinstance(value, (dict, list)):
        return line
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(name, ensure_ascii=False)}:{text(one, indent + 1)}"
            for name, one in value.items()
        ]
    else:
        parts = [text(one, indent + 1) for one in value]
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return f"{opened}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closed}"
