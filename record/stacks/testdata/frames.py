"""Compares the recorder's Python frames with what the interpreter says. Run by python_frames_test under every CPython.

usage: frames.py LIBRARY SCENARIO; prints "ok" at the end, a difference and a non-zero exit otherwise.
"""
import ctypes
import functools
import gc
import sys
import threading
import time

LIBRARY = ctypes.CDLL(sys.argv[1])  # its calls release the GIL, as torch does around a wait
HOLDING = ctypes.PyDLL(sys.argv[1])  # the same with the GIL held
BUFFER_BYTES = 1 << 16


def take(library=LIBRARY):
    buffer = ctypes.create_string_buffer(BUFFER_BYTES)
    library.TakeStack(buffer, BUFFER_BYTES)
    frames = []
    for line in buffer.value.decode().splitlines():
        file, number, function = line.split("\t")
        frames.append((file, int(number), function))
    # The innermost frame is this function's.
    return frames[1:] if frames and frames[0][2] == "take" else frames


def here():
    frame = sys._getframe(1)
    frames = []
    while frame is not None:
        code = frame.f_code
        frames.append((code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back
    return frames


def check(name, got, want):
    if got != want:
        print("%s:\n  got  %r\n  want %r" % (name, got, want))
        sys.stdout.flush()
        raise SystemExit(1)
    if not want:
        raise SystemExit("%s: nothing was compared" % name)


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Widget:
    def method(self):
        return take(), here()

    @property
    def value(self):
        return take(), here()

    @staticmethod
    def fixed():
        return take(HOLDING), here()

    def __del__(self):
        Widget.deleted = take(), here()


@decorate
@decorate
def decorated():
    if True:
        x = 1
        return (take(), here()) if x else None


def generator():
    yield take(), here()
    for _ in range(2):
        yield (take(), here())


def delegating():
    yield from generator()


def deep(depth):
    if depth == 0:
        return take(), here()
    return deep(depth - 1)


def with_long_body(flag):
    total = 0
    for i in range(3):
        total += i
    try:
        if flag:
            raise ValueError(total)
    except ValueError:
        result = take(), here()
    finally:
        total = 0
    with threading.Lock():
        second = take(), here()
    return [result, second]


async def coroutine():
    async def inner():
        return take(), here()

    return await inner()


def run_coroutine():
    try:
        coroutine().send(None)
    except StopIteration as stop:
        return stop.value


def plain():
    check("function", *(take(), here()))
    check("gil held", *(take(HOLDING), here()))
    widget = Widget()
    check("method", *widget.method())
    check("property", *widget.value)
    check("static method", *Widget.fixed())
    del widget
    check("finalizer", *Widget.deleted)
    check("decorator", *decorated())
    check("recursion", *deep(40))
    check("lambda", *(lambda: (take(), here()))())
    check("coroutine", *run_coroutine())
    for pair in with_long_body(True):
        check("try and with", *pair)
    for pair in generator():
        check("generator", *pair)
    for pair in delegating():
        check("yield from", *pair)
    for pair in [(take(), here()) for _ in range(3)]:
        check("list comprehension", *pair)
    for pair in {i: (take(), here()) for i in range(3)}.values():
        check("dict comprehension", *pair)
    for pair in ((take(), here()) for _ in range(3)):
        check("generator expression", *pair)


def through_c():
    seen = []

    def key(value):
        seen.append((take(), here()))
        return -value

    sorted([3, 1, 2], key=key)
    functools.reduce(lambda left, right: (seen.append((take(), here())), right)[1], [1, 2, 3])
    list(map(key, [1, 2]))
    max([1, 2], key=functools.partial(lambda scale, value: (seen.append((take(), here())), scale * value)[1], 2))
    for pair in seen:
        check("through C", *pair)
    assert len(seen) == 3 + 2 + 2 + 2


def executed():
    source = "\n" * 4 + "def made():\n    unused = 0\n    return take(), here()\nresult = made()\n"
    space = {"take": take, "here": here}
    exec(compile(source, "<gen\u00e9r\u00e9 \u4e2d \U0001f600>", "exec"), space)
    check("exec", *space["result"])
    check("eval", *eval("(take(), here())"))
    unicode_name = "fonction_\u00e9\u0142\u4e2d"
    exec("def %s():\n  return take(), here()\n" % unicode_name, space)
    check("names beyond ASCII", *space[unicode_name]())


def reused():
    """Code objects of the same shape at the same addresses, one after another."""
    addresses = {}
    for i in range(300):
        name = "f%d" % (i % 7)
        lines = "\n" * (i % 5)
        source = "def %s():\n x = 0\n%s return take(), here()\n" % (name, lines)
        space = {"take": take, "here": here}
        exec(compile(source, "<file %d>" % (i % 3), "exec"), space)
        code = space[name].__code__
        addresses[id(code)] = addresses.get(id(code), 0) + 1
        check("reused %d" % i, *space[name]())
        del space, code
        gc.collect()
    assert max(addresses.values()) > 1, "no address came again: the test shows nothing"


def threads():
    failures = []
    done = threading.Event()

    def busy():
        while not done.is_set():
            sum(range(100))

    def work(number):
        try:
            for _ in range(200):
                check("thread %d" % number, *deep(number))
        except SystemExit as failure:
            failures.append(failure)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    spinner = threading.Thread(target=busy)
    spinner.start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    spinner.join()
    assert not failures


def repeated():
    before = LIBRARY.StackRecords()
    for _ in range(1000):
        take()
    assert LIBRARY.StackRecords() - before == 1, LIBRARY.StackRecords() - before


def truncated():
    sys.setrecursionlimit(2000)
    before = LIBRARY.TruncatedStacks()
    got, want = deep(500)
    check("innermost of a deep stack", got, want[:len(got)])
    assert LIBRARY.TruncatedStacks() == before + 1
    assert len(got) > 100


def allocator_lock():
    """A lock held across the recorder's callback while another thread holds the GIL and wants that lock."""
    stop = threading.Event()
    LIBRARY.SetLockRounds(2000)

    def free_tensors():
        while not stop.is_set():
            HOLDING.LockAndUnlock()  # with the GIL held

    thread = threading.Thread(target=free_tensors)
    thread.start()
    LIBRARY.TakeStacksUnderLock()
    stop.set()
    thread.join()


def at_exit():
    import atexit

    def handler():
        check("atexit", *(take(), here()))
        print("ok")

    atexit.register(handler)


def daemon_at_exit():
    for holder in (LIBRARY, HOLDING):
        threading.Thread(target=lambda library=holder: [take(library) for _ in iter(int, 1)], daemon=True).start()
    threading.Thread(target=LIBRARY.TakeForever, daemon=True).start()
    time.sleep(0.05)
    print("ok")


def finalized():
    """A stack taken while modules are torn down: a native one, or none, but no crash."""

    class Last:
        def __del__(self, library=LIBRARY, buffer=ctypes.create_string_buffer(BUFFER_BYTES), size=BUFFER_BYTES):
            library.TakeStack(buffer, size)

    sys.modules["last"] = Last()  # goes when the modules go
    print("ok")


def collected():
    """A stack taken by finalizers inside a garbage collection."""

    class Node:
        def __del__(self):
            Node.pairs.append((take(), here()))

    Node.pairs = []
    for _ in range(10):
        node = Node()
        node.itself = node
        del node
    gc.collect()
    for pair in Node.pairs:
        check("collection", *pair)
    assert Node.pairs


def cost():
    def at_depth(depth, rounds):
        if depth <= 1:
            return LIBRARY.MedianCost(rounds)
        return at_depth(depth - 1, rounds)

    base = len(here())
    rows = [("depth 16", at_depth(16 - base, 20000)), ("depth 64", at_depth(64 - base, 20000))]
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=busy)
    thread.start()
    rows.append(("depth 16, a second busy thread", at_depth(16 - base, 20000)))
    stop.set()
    thread.join()
    print("python %d.%d.%d" % sys.version_info[:3], "; ".join("%s: %d ns" % row for row in rows))


if __name__ == "__main__":
    scenario = sys.argv[2]
    globals()[scenario]()
    if scenario not in ("at_exit", "daemon_at_exit", "finalized"):
        print("ok")
