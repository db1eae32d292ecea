"""Where the CPU time of a request goes: call stacks sampled by perf, as a budget of stages and as a
flame graph."""

import re
from collections import Counter
from html import escape

# Stage of a function, by its name. Of a stack, the innermost function that a pattern knows decides,
# so that malloc, memmove and the like count for their caller unless listed.
STAGES = (
    (
        "kernel: sockets",
        r"^(tcp_|sock_|__sock|inet_|ip_|__ip_|skb_|__skb|sk_|__sys_(send|recv)"
        r"|__x64_sys_(send|recv)|__libc_(send|recv)|__send|__recv|net_rx|loopback|process_backlog)",
    ),
    ("kernel: epoll", r"^(ep_|eventpoll|do_epoll|__x64_sys_epoll|epoll_)"),
    (
        "kernel: files",
        r"^(ext4_|xfs_|btrfs_|jbd2_|vfs_|blk_|do_fsync|__x64_sys_(fdatasync|fsync|p?write|p?read)"
        r"|filemap_|generic_perform)",
    ),
    (
        "kernel: sleep and wake",
        r"^(futex_|do_futex|__x64_sys_futex|schedule|__schedule|do_sched_yield"
        r"|__x64_sys_sched_yield|try_to_wake)",
    ),
    (
        "memory allocation",
        r"^(malloc|free|cfree|calloc|realloc|_int_(malloc|free|realloc)|operator (new|delete))",
    ),
    ("kernel: entry and exit", r"^(entry_SYSCALL|do_syscall|syscall_|__get_user|asm_)"),
    ("XML", r"(pugi::|xml|XmlDocument|content_problem|is_name|take_pseudo_attribute)"),
    ("SQLite", r"(^sqlite3|^exchange::Sqlite|wal_frame|page_checksum)"),
    ("journal record", r"exchange::(\(anonymous namespace\)::)?(JournalWriter|checksum\b|Encoder)"),
    ("engine", r"exchange::(Exchange|Book|OrderBook|Symbol|Account|Position)"),
    ("core", r"exchange::(Core|Committer|Guarded|Submission)"),
    (
        "session",
        r"exchange::(.*)"
        r"(Session|Conversation|Framer|read_request|append_|parse_|Connection|Decimal)",
    ),
    ("coroutines and Asio", r"(asio|coroutine|co_spawn|boost::)"),
)
PATTERNS = [(stage, re.compile(pattern)) for stage, pattern in STAGES]
# Threads whose whole time is one stage.
THREADS = {
    "projector": "projection",
    "http": "HTTP and dashboard",
    "http-answers": "HTTP and dashboard",
    "sweeper": "deadlines",
}


def read_samples(script):
    """Counter of (thread, functions from the outermost), from the output of `perf script -F
    comm,ip,sym`."""
    samples = Counter()
    for block in script.strip().split("\n\n"):
        lines = block.splitlines()
        if not lines:
            continue
        functions = [line.split(None, 1)[1].strip() for line in lines[1:] if " " in line.strip()]
        samples[(lines[0].strip(), tuple(short_name(one) for one in reversed(functions)))] += 1
    return samples


def short_name(function):
    """Without arguments and template arguments."""
    name, depth = "", 0
    for at, char in enumerate(function):
        if char in "<(" and not function.startswith("(anonymous", at):
            depth += 1
        if depth == 0:
            name += char
        if char in ">)" and depth > 0:
            depth -= 1
    return name.removesuffix(" const") or function


def stage_of(thread, functions):
    if thread in THREADS:
        return THREADS[thread]
    for function in reversed(functions):
        for stage, pattern in PATTERNS:
            if pattern.search(function):
                return stage
    return "other"


def budget(samples):
    """[(stage, share of the samples)], largest first."""
    stages = Counter()
    for (thread, functions), count in samples.items():
        stages[stage_of(thread, functions)] += count
    total = sum(stages.values())
    return [(stage, count / total) for stage, count in stages.most_common()]


WIDTH, ROW, SMALLEST = 1200, 17, 0.0025  # pixels; frames with a smaller share are left out


def flame_graph(samples, title):
    """An SVG: each box is a function, as wide as its share of the samples, above its caller."""
    root = {"count": sum(samples.values()), "children": {}}
    for (thread, functions), count in samples.items():
        node = root
        for name in (thread, *functions):
            node = node["children"].setdefault(name, {"count": 0, "children": {}})
            node["count"] += count
    boxes, deepest = [], 0

    def draw(name, node, left, depth, thread):
        nonlocal deepest
        share = node["count"] / root["count"]
        if share < SMALLEST:
            return
        deepest = max(deepest, depth)
        boxes.append((name, left, share, depth, thread))
        for child, below in sorted(node["children"].items()):
            draw(child, below, left, depth + 1, thread or child)
            left += below["count"] / root["count"]

    draw("server", root, 0.0, 0, "")
    height = (deepest + 2) * ROW + 10
    colors = ("#f2a65a", "#8fb8de", "#a3c9a8", "#d6a2c0", "#d9c77e", "#b6b6d8")
    threads = sorted(root["children"])
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            ' font-family="sans-serif" font-size="11">'
        ),
        (
            f'<rect width="{WIDTH}" height="{height}" fill="white"/><text x="6"'
            f' y="13">{escape(title)}</text>'
        ),
    ]
    for name, left, share, depth, thread in boxes:
        x, y, width = left * WIDTH, height - (depth + 1) * ROW, share * WIDTH
        color = colors[threads.index(thread) % len(colors)] if thread else "#dddddd"
        label = name if len(name) * 6 < width else name[: max(0, int(width / 6) - 1)]
        out.append(
            f'<g><title>{escape(name)}: {100 * share:.1f} %</title><rect x="{x:.1f}" y="{y}"'
            f' width="{max(width - 0.3, 0.2):.1f}" height="{ROW - 1}" fill="{color}"/>'
            + (f'<text x="{x + 2:.1f}" y="{y + 12}">{escape(label)}</text>' if width > 30 else "")
            + "</g>"
        )
    return "\n".join([*out, "</svg>", ""])
