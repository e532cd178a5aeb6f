"""stack_trace: what was raised weighs most, then the user's frame nearest to it, then the other ones of the user."""

from __future__ import annotations

import json
import traceback

import pytest

from strategies.kinds.excerpt import excerpt
from strategies.kinds.stack_trace import NEAREST, OTHERS, OWN, RAISED, STACK_TRACE

JAVA = """start
Exception in thread "main" java.lang.RuntimeException: outer 1
	at org.acme.shop.Cart.add(Cart.java:42)
	at java.base/java.lang.Iterable.forEach(Iterable.java:75)
	at org.springframework.web.Filter.run(Filter.java:9)
Caused by: java.sql.SQLException: no rows
	at org.acme.shop.Store.load(Store.java:7)
	... 23 more
"""
JAVASCRIPT = """/app/src/cart.js:3
  return item.price;
              ^

TypeError: Cannot read properties of undefined
    at total (/app/src/cart.js:3:15)
    at async /app/src/main.js:9:3
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at Layer.handle (/app/node_modules/express/lib/router/layer.js:95:5)
"""
GO = """panic: runtime error: index out of range [3] with length 0

goroutine 1 [running]:
main.pick(...)
	/src/shop/main.go:3
main.main()
	/src/shop/main.go:4 +0xa8
runtime.main()
	/usr/local/go/src/runtime/proc.go:283 +0x28
exit status 2
"""
RUST = """start

thread 'main' panicked at src/main.rs:1:51:
index out of bounds: the len is 3 but the index is 4
stack backtrace:
   0: core::panicking::panic_bounds_check
             at /rustc/5980/library/core/src/panicking.rs:271:5
   1: shop::pick
             at ./src/main.rs:1:51
   2: shop::main
             at ./src/main.rs:2:32
note: Some details are omitted.
"""
CSHARP = """Unhandled exception. System.InvalidOperationException: outer
 ---> System.ArgumentException: no such item
   at Shop.Store.Load(Int32 id) in /src/Store.cs:line 7
   --- End of inner exception stack trace ---
   at Shop.Cart.Add(Item item) in /src/Cart.cs:line 42
   at System.Threading.Tasks.Task.Execute()
"""
PYTEST = """shop/test_cart.py:5: in test_add
    cart.add(parse("{bad"))
             ^^^^^^^^^^^^^
/usr/lib/python3.11/json/__init__.py:346: in loads
    return _default_decoder.decode(s)
E   ValueError: no JSON
"""
TRACES = {
    "java": (JAVA, ["Cart.java:42", "Store.java:7"], 0, 3, ["outer 1", "no rows"]),
    "javascript": (JAVASCRIPT, ["cart.js:3:15"], 1, 2, ["Cannot read properties"]),
    "go": (GO, ["main.pick"], 1, 1, ["index out of range"]),
    "rust": (RUST, ["shop::pick"], 1, 1, ["index is 4"]),
    "c#": (CSHARP, ["Store.cs", "Cart.cs"], 0, 1, ["no such item"]),
    "pytest": (PYTEST, ["test_cart.py:5"], 0, 1, ["no JSON"]),
}


@pytest.mark.parametrize(("text", "nearest", "own", "others", "raised"), TRACES.values(), ids=TRACES)
def test_frames_and_what_was_raised(text: str, nearest: list[str], own: int, others: int, raised: list[str]) -> None:
    units = STACK_TRACE.units(text)
    assert units is not None
    assert "".join(unit.text for unit in units) == text
    assert [unit.weight for unit in units if unit.shape == "frame"].count(OWN) == own
    assert [unit.weight for unit in units if unit.shape == "frame"].count(OTHERS) == others
    near = [unit.text for unit in units if unit.weight == NEAREST]
    assert all(frame in unit for frame, unit in zip(nearest, near, strict=True))
    heaviest = "".join(unit.text for unit in units if unit.weight == RAISED)
    assert all(message in heaviest for message in raised)


def test_a_trace_of_this_python_after_much_output() -> None:
    try:
        json.loads("{bad")
    except ValueError:
        trace = traceback.format_exc()
    text = "".join(f"step {n} done\n" for n in range(500)) + trace
    units = STACK_TRACE.units(text) or []
    frames = [unit for unit in units if unit.shape == "frame"]
    assert [unit.weight for unit in frames] == [NEAREST, *[OTHERS] * (len(frames) - 1)]
    assert frames[0].text.count("\n") >= 2
    assert units[-1].weight == RAISED
    short = excerpt(text, 1_000)
    assert frames[0].text in short
    assert units[-1].text in short


def test_frames_of_a_recursion_are_equal() -> None:
    frame = '  File "a.py", line 3, in f\n    f()\n'
    units = STACK_TRACE.units(f"Traceback (most recent call last):\n{frame * 50}RecursionError: too deep\n") or []
    assert len({(unit.shape, unit.cells) for unit in units if unit.shape == "frame"}) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"# A bug\n\n```\n{JAVA}```\nWhat now?\n",
        "The panic: it came at noon (and went).\n    at home (near the sea), we saw it.\nWords.\n",
        'raise ValueError("Traceback (most recent call last):")\nat = (1, 2)\n',
    ],
    ids=["page", "prose", "source"],
)
def test_a_page_about_a_trace_is_none(text: str) -> None:
    assert STACK_TRACE.units(text) is None
