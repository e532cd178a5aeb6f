"""The usual wrong solutions of each exercise: the code, the check that refuses it, and words of the reason."""

from __future__ import annotations

from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, SOLUTION

PINNED = "from thimble.agent.turns import pinned\n"
TURNS = "from thimble.agent.messages import turns\n" + PINNED


def function(body: str) -> str:
    """A file with a plain function."""
    return f"{TURNS}\n\ndef prepare(messages, budget):\n    " + body.strip().replace("\n", "\n    ") + "\n"


def changed(name: str, *changes: tuple[str, str], file: str = SOLUTION) -> str:
    """The model solution of an exercise with some of its text replaced."""
    code = (BUILT_IN_EXERCISES / name / file).read_text()
    for old, new in changes:
        assert old in code, (name, old)
        code = code.replace(old, new)
    return code


def each(name: str, *rows: tuple[tuple[str, str], str, str]) -> list[tuple[str, str, str]]:
    """A row for each change of the model solution."""
    return [(changed(name, change), check, why) for change, check, why in rows]


SHORT = "return [m for m in messages if m in pinned(messages)]"
MASKED = 'm.rewritten("[masked]", "old")'
ACTING = "acting = [turn for turn in turns(messages) if messages[turn.start].calls]"

EMPTIED = "message.rewritten('x', '') if message is messages[-1] and message.call_id else message"

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "01-count-tokens": [
        (function("return messages"), "as-solution", "is kept, and must be dropped"),
        (function(SHORT), "whole-while-it-fits", "so it fits"),
        (
            function(f"if sum(map(budget.count, messages)) <= budget.limit:\n    return messages\n{SHORT}"),
            "as-solution",
            "the budget counts every token",
        ),
        (
            function(f"if budget.size(messages) < budget.limit:\n    return messages\n{SHORT}"),
            "whole-while-it-fits",
            "so it fits",
        ),
        (
            function(
                "words = sum(len(m.content.split()) for m in messages)\n"
                f"if words <= budget.limit:\n    return messages\n{SHORT}"
            ),
            "as-solution",
            "must be dropped",
        ),
        (
            function(f"if 30 + sum(map(budget.count, messages)) <= budget.limit:\n    return messages\n{SHORT}"),
            "as-solution",
            "the budget counts every token",
        ),
    ],
    "02-window": [
        (function("return messages[:1] + messages[-4:]"), "keeps-pinned", "the task is missing"),
        (function("return pinned(messages) + messages[-4:]"), "keeps-order", "twice"),
        (
            function("return [m for at, m in enumerate(messages) if at >= len(messages) - 5 or m in pinned(messages)]"),
            "as-solution",
            "the 4 newest messages stay",
        ),
        (
            function("return [m for at, m in enumerate(messages) if at < 6 or m in pinned(messages)]"),
            "as-solution",
            "the 4 newest messages stay",
        ),
        (
            function("stays = pinned(messages)\nreturn [*[m for m in messages[-4:] if m not in stays], *stays]"),
            "keeps-order",
            "twice",
        ),
    ],
    "03-orphan": [
        (function("return messages[-6:]"), "keeps-pinned", "missing"),
        (function("return [m for m in messages if m.role != 'tool']"), "keeps-pairs", "has no result"),
        (function("return [m for m in messages if not m.calls]"), "keeps-pairs", "orphan"),
        (
            function(
                "newest = turns(messages)[-3:]\nstart = newest[0].start + 1 if newest else 0\n"
                "return [m for at, m in enumerate(messages) if at >= start or m in pinned(messages)]"
            ),
            "keeps-pairs",
            "orphan",
        ),
        (
            function(
                "newest = turns(messages)[-2:]\nstart = newest[0].start if newest else 0\n"
                "return [m for at, m in enumerate(messages) if at >= start or m in pinned(messages)]"
            ),
            "as-solution",
            "the 3 newest turns stay",
        ),
    ],
    "04-masking": [
        (
            changed("04-masking", ('"[masked]"', '""')),
            "keeps-words",
            "a mask is one line that says what is hidden, and is shorter: not an empty one",
        ),
        (
            changed("04-masking", ('"[masked]"', 'f"<{view[place].content}>"')),
            "keeps-words",
            "a mask is one line that says what is hidden, and is shorter",
        ),
        *(
            (changed("04-masking", ('"[masked]"', mask)), "hides-results", "a short line in its own words")
            for mask in (
                'f"[masked: {view[place].content[12:60]}]"',
                '"[masked " + "".join(filter(str.isdigit, view[place].content)) + "]"',
                '"masked " * (len(view[place].content) // 8)',
                '"."',
            )
        ),
        (
            changed(
                "04-masking",
                ("def prepare", "CHANCE = __import__('random')\n\n\ndef prepare"),
                ('"[masked]"', "str(CHANCE.random())"),
            ),
            "is-deterministic",
            "chance, or memory",
        ),
        (
            function(
                f"old = messages[:-3]\nreturn [{MASKED} if m.role == 'tool' and m in old else m for m in messages]"
            ),
            "as-solution",
            "i < t - 3",
        ),
        (
            function(
                f"{ACTING}\nold = [m for turn in acting[:-3] for m in messages[turn.start : turn.stop]]\n"
                f"return [{MASKED} if m in old else m for m in messages]"
            ),
            "keeps-words",
            "words of the assistant",
        ),
        (
            function(
                f"{ACTING}\nold = [m for turn in acting[:-3] for m in messages[turn.start : turn.stop]]\n"
                "return [m for m in messages if m.role != 'tool' or m not in old]"
            ),
            "keeps-words",
            "this message is gone",
        ),
    ],
    "05-hysteresis": each(
        "05-hysteresis",
        ((" > 0.5 * budget.limit", " > budget.limit"), "frees", "the next edit is near"),
        (("messages[: last_turn(messages)]", "messages"), "keeps-newest", "the model has yet to use"),
        (("if budget.over(view):", "if True:"), "keeps-prefix", "nothing had to change"),
        (
            ("        view = self.masked", "        self.state = {}\n        view = self.masked"),
            "keeps-prefix",
            "the server recomputes everything",
        ),
        (
            (
                '[m.rewritten("[masked]", self.state[m.id]) if m.id in self.state else m for m in messages]',
                "[m for m in messages if m.id not in self.state]",
            ),
            "keeps-words",
            "this message is gone",
        ),
    ),
    "06-summary": [
        *each(
            "06-summary",
            (("{summary}\\nWord for word:{''.join(values)}", "{summary}"), "keeps-values", "nowhere in the view"),
            (("except ModelError", "except ValueError"), "survives-failure", "catch it"),
            ((", covers=tuple(covers)", ""), "nothing-lost", "no message of the view names it"),
            (("[*messages[:place], summary, *rest]", "[*messages[:place], *rest]"), "nothing-lost", "is gone"),
            (("if message not in stays", ""), "keeps-pinned", "missing"),
        ),
    ],
    "07-hybrid": [
        *each(
            "07-hybrid",
            (("            self.mask(messages)", "            self.fold(messages)"), "masks-first", "masks alone"),
            (("except ModelError", "except ValueError"), "survives-failure", "catch it"),
            (("messages[: last_turn(messages)]", "messages"), "keeps-newest", "yet to use"),
            (
                (
                    "        if budget.over(self.view(messages)):\n            self.mask",
                    "        if True:\n            self.mask",
                ),
                "keeps-prefix",
                "nothing had to change",
            ),
            ((", covers=tuple(covers)", ""), "nothing-lost", "no message of the view names it"),
        ),
    ],
    "08-offload": each(
        "08-offload",
        (('    tools = ("recall",)', "    pass"), "can-recall", "no tool brings"),
        ((", ref=message.id", ""), "can-recall", "has no ref"),
        (('(id="{message.id}") shows it', " shows it"), "can-recall", "does not name"),
        (("messages[: last_turn(messages)]", "messages"), "keeps-newest", "yet to use"),
        (("if budget.over(view):", "if True:"), "keeps-prefix", "nothing had to change"),
    ),
    "09-rent-or-buy": each(
        "09-rent-or-buy",
        ((">= price", ">= 10**9"), "costs-little", "with a cached token at 1,"),
        ((">= price", ">= 0"), "costs-little", "with a cached token at 0,"),
        (("budget.prices.cached *", "0.5 *"), "costs-little", "with a cached token at 0,"),
        (("[-4:]", "[-1:]"), "keeps-newest", "the 4 newest turns"),
        (
            ("prompt = budget.prices.prompt", "prompt = lambda tokens, cached: tokens"),
            "costs-little",
            "with a cached token at 0,",
        ),
    ),
    "10-resume": [
        (
            changed("10-resume", ("self.state", "self.masks")),
            "survives-resume",
            "and after a resume masked: state does not hold it all",
        ),
        (
            changed(
                "10-resume",
                ("self.state = {}", "self.state = set()"),
                ('self.state[message.id] = "went over the budget"', "self.state.add(message.id)"),
                ("self.state[m.id]", '"over"'),
            ),
            "survives-resume",
            "cannot be written as JSON",
        ),
        (
            changed(
                "10-resume",
                ("class Mine", "STATE = {}\n\n\nclass Mine"),
                ("        self.state = {}", "        STATE.clear()"),
                ("self.state", "STATE"),
            ),
            "survives-resume",
            "state does not hold it all",
        ),
        (
            changed(
                "10-resume",
                ("self.state[message.id]", "self.state[int(message.id[1:])]"),
                ("self.state[m.id]", "self.state[int(m.id[1:])]"),
                ("m.id in self.state", "int(m.id[1:]) in self.state"),
            ),
            "survives-resume",
            "state does not hold it all",
        ),
        (
            changed("10-resume", ("        view =", "        self.state['me'] = self.state\n        view =")),
            "survives-resume",
            "cannot be written as JSON: Circular reference",
        ),
    ],
    "11-lag": [
        *each(
            "11-lag",
            (("self.errand.look():", "self.errand.wait() is None:"), "never-waits", "the agent waited"),
            (("\\nWord for word:{self.values}", ""), "keeps-values", "nowhere in the view"),
            (("if self.errand and self.errand.look():", "if False:"), "never-waits", "no summary has come"),
            (("if not self.errand and budget", "if budget"), "never-waits", "no summary has come"),
            (
                (
                    "self.covers = [message.id for message in old]",
                    'self.covers = [m.id for m in old]\n        self.state = {"summary": "", "covers": self.covers}',
                ),
                "nothing-lost",
                "says nothing",
            ),
        ),
    ],
    "12-contest": [
        (changed("05-hysteresis"), "wins", "higher wins"),
        (
            changed(
                "05-hysteresis",
                ("from", "import re\n\nfrom"),
                ('"[masked]"', r'" ".join(re.findall(r"\d{4}", m.content))'),
            ),
            "wins",
            "no pattern finds them",
        ),
        (changed("12-contest", ("if budget.over(self.shown(messages)):", "if False:")), "fits", "more than"),
        (changed("12-contest", (", reverse=True", "")), "wins", "higher wins"),
        (changed("12-contest", ("0.7 * budget", "0.1 * budget")), "wins", "higher wins"),
        (
            changed(
                "12-contest",
                ("return [message for", f"return [{EMPTIED} for"),
            ),
            "keeps-newest",
            "yet to use",
        ),
        (
            changed(
                "12-contest",
                ("return [message for", "return [replace(message, calls=()) for"),
                ("from", "from dataclasses import replace\n\nfrom"),
            ),
            "keeps-pairs",
            "calls of this message are changed",
        ),
        (
            changed("12-contest", ("for message in turn}", "for message in turn if message.role == 'tool'}")),
            "keeps-pairs",
            "has no result",
        ),
    ],
}
