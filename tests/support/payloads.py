# ruff: noqa: E501, RUF005
"""Text that would steer a terminal, rich or Markdown: what must never get through, by kind."""

from __future__ import annotations

ESC, BEL, ST = "\x1b", "\x07", "\x1b\\"
CSI, OSC, DCS, APC, PM, SOS = (ESC + letter for letter in "[]P_^X")

PAYLOADS: dict[str, list[str]] = {
    "erase": [f"{CSI}{how}{what}" for what in "JK" for how in ("", "0", "1", "2", "3", "?2")]
    + [f"{CSI}9999X", f"{CSI}20P", f"{CSI}5M", f"{CSI}5L", f"{CSI}3@", f"{CSI}2$z", f"{CSI}1;1;9;9${{", f"{ESC}#8"],
    "cursor": [f"{CSI}{count}{what}" for what in "ABCDEFGdae" for count in ("", "99")]
    + [f"{CSI}H", f"{CSI}1;1H", f"{CSI}1;1f", f"{CSI}s", f"{CSI}u", f"{ESC}7", f"{ESC}8", f"{CSI}4 q", f"{CSI}9I"]
    + [f"{CSI}9Z", f"{CSI}9b", f"{CSI}5`"],
    "scroll": [f"{CSI}5S", f"{CSI}5T", f"{CSI}3;9r", f"{CSI}3;9s", f"{ESC}D", f"{ESC}M", f"{ESC}E", f"{CSI}3 @"]
    + [f"{CSI}3 A", f"{ESC}6", f"{ESC}9"],
    "colour": [f"{CSI}{how}m" for how in ("", "0", "1", "5", "7", "8", "31", "97;41", "38;5;9", "48;2;1;2;3")]
    + [f"{CSI}38:2::255:0:0m", f"{CSI}4:3m", f"{CSI}58:5:9m", f"{CSI}>4;2m", f"{CSI}?4m", f"{CSI}8m hidden {CSI}28m"],
    "modes": [f"{CSI}?{mode}{how}" for mode in (1, 3, 5, 7, 25, 47, 1000, 1004, 1006, 1049, 2004, 2026) for how in "hl"]
    + [f"{CSI}4h", f"{CSI}20h", f"{CSI}2l", f"{CSI}!p", f"{CSI}61;1\"p", f"{ESC}=", f"{ESC}>", f"{CSI}>5u", f"{ESC}c"],
    "questions that a terminal answers": [f"{CSI}{how}n" for how in ("5", "6", "?6", "?15", "?25", "?26", "?996")]
    + [f"{CSI}{how}c" for how in ("", "0", ">", ">0", "=", "?1")]
    + [f"{CSI}?2004$p", f"{CSI}x", f"{CSI}>q", f"{CSI}?u", f"{ESC}Z", "\x05", f"{CSI}1;1;1;1;9;9*y", f"{CSI}&u"],
    "windows": [f"{CSI}{how}t" for how in ("2", "3;0;0", "8;5;5", "9;1", "11", "13", "14", "18", "20", "21", "22", "23")],
    "character sets": [f"{ESC}(0", f"{ESC})0", f"{ESC}*B", f"{ESC}+B", f"{ESC}n", f"{ESC}o", f"{ESC}N", f"{ESC}O", "\x0e", "\x0f"]
    + [f"{ESC}%G", f"{ESC}%@", f"{ESC}~", f"{ESC} F", f"{ESC}/A"],
    "titles, links and the clipboard": [
        f"{OSC}{what}{end}"
        for what in (
            "0;a title", "1;an icon", "2;a title", "4;1;rgb:ff/00/00", "4;1;?", "7;file://host/etc", "8;;http://evil.example",
            "8;id=1;file:///etc/passwd", "9;a notice", "9;4;1;50", "10;?", "11;#000000", "12;red", "22;wait",
            "50;?", "52;c;ZXZpbA==", "52;c;?", "52;p;!", "99;i=1;notice", "104", "133;A", "133;D;0", "633;E;rm",
            "777;notify;a;b", "1337;File=inline=1:AAAA", "1337;SetMark", "1337;CopyToClipboard=", "L label", "l title",
        )
        for end in (BEL, ST)
    ],
    "device control": [
        f"{DCS}q#0;2;0;0;0#0~~$-{ST}", f"{DCS}0;1;0q\"1;1;9;9#1!9~{ST}", f"{DCS}$qm{ST}", f"{DCS}$q\"p{ST}",
        f"{DCS}+q544e{ST}", f"{DCS}+p6b31=41{ST}", f"{DCS}tmux;{ESC}{OSC}52;c;AA=={BEL}{ST}", f"{DCS}{CSI}2J{ST}",
        f"{DCS}1$r0m{ST}", f"{DCS}1|17/17{ST}", f"{DCS}1$t{ST}", f"{DCS}!uA1B2{ST}", f"{DCS}=1s{ST}", f"{DCS}>|x{ST}",
    ],
    "graphics and other strings": [
        f"{APC}Ga=T,f=100;AAAA{ST}", f"{APC}Ga=q,i=1;AAAA{ST}", f"{APC}Ga=d{ST}", f"{APC}tmux{ST}", f"{APC}>;x{ST}",
        f"{PM}a message{ST}", f"{PM}!{CSI}2J{ST}", f"{SOS}a string{ST}", f"{SOS}{OSC}0;x{ST}", f"{ESC}ka name{ST}",
        f"{APC}G{BEL}", f"{PM}{BEL}", f"{SOS}\x9c",
    ],
    "eight bits": [f"\x9b{how}" for how in ("2J", "31m", "?1049h", "6n", "c", "21t", "1;1H", "\x0031m")]
    + ["\x9d0;t\x07", "\x9d52;c;AA==\x9c", "\x9d8;;http://e\x9c", "\x90q~\x9c", "\x90$qm\x9c", "\x9fGa=T;A\x9c", "\x9ex\x9c"]
    + ["\x98x\x9c", "\x84", "\x85", "\x88", "\x8d", "\x8e", "\x8f", "\x96", "\x97", "\x9a", "\x9c", "\x80", "\xc2\x9b31m"],
    "controls": ["\x00", "\x01", "\x03", "\x04", BEL, "\x08\x08\x08gone", "over\rwritten", "\r\x1b[K", "\x0b", "\x0c", "\x10"]
    + ["\x11", "\x13", "\x15", "\x16", "\x17", "\x18", "\x19", "\x1a", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "a\x7f\x7fb"],
    "split and nested": [
        f"{ESC}{ESC}[31m", f"{ESC}\x00[31m", f"{CSI}3\x081m", f"{CSI}\n31m", f"{CSI}31\r\nm", f"{ESC}\x18[31m", f"{ESC}\x1a]0;x",
        f"{OSC}0;{CSI}31m{BEL}", f"{OSC}0;{ESC}[2J{ST}", f"{OSC}0;{OSC}0;x{BEL}{BEL}", f"{DCS}q{DCS}q{ST}{ST}",
        f"{OSC}8;;http://e{ST}here{OSC}8;;{ST}", f"{CSI}{CSI}31m31m", f"{ESC}[{ESC}]0;x{BEL}31m", f"\x9b{ESC}[31m",
        f"{ESC}\x9b31m", "\x90\x9b31m\x9c", f"{CSI}31{ESC}\\m", f"[31m{ESC}", f"31m{CSI}", f"{OSC}0;\x9c31m", f"{CSI}1;{'9' * 300}m",
        f"{CSI}\u0661m", f"{ESC}\u200b[31m", f"{OSC}0;a\nb{BEL}",
    ],
    "reordering": [f"abc{mark}def" for mark in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
    + ["\u202etxt.exe\u202c", "\u2066\u202ea\u2069b", "user\u202e \u2066# check\u2069 \u2066"],
    "surrogates": ["\ud800", "\udfff", "\ud83d", "\udc9b31m", "\udc1b[31m", "\ude00\ud83d"],
    "markup": [
        "[bold]x[/bold]", "[/]", "[/foo]", "[link=http://evil.example]x[/link]", "[@click=app.bell]x[/]", "[blink red]x",
        ":smile:", ":warning-emoji:", "\\[bold]x", "[[bold]]", "[#ff0000]x[/]", "[not a tag", "{0.__class__}", "%s%n", "<b>x</b>",
        "<ansired>x</ansired>", "[conceal]x[/conceal]",
    ],
    "Markdown": [
        "[x](http://evil.example)", "[x](javascript:alert(1))", "![x](http://evil.example/p.png)", "<http://evil.example>",
        "[x]: http://evil.example\n\n[x]", "<img src=x onerror=alert(1)>", "<script>x</script>", "<!-- hidden -->",
        "&#27;[31m", "&#x1b;[2J", "&#x9b;31m", "&#155;31m", "&#x202e;evil", "&#8238;evil", "&bel;", "&#7;", "&RightToLeftMark;",
        "&#0;", "&amp;#27;[31m", "\\&#27;[31m", "`&#27;[31m`", "```\n&#27;[31m\n```", "| &#27;[31m |\n|---|\n| &#x202e; |",
        f"[{CSI}31mx](http://e)", f"[x](http://e/{CSI}31m)", f"```{CSI}31m\nx\n```", f"# {CSI}31m", f"| {CSI}31m |\n|---|\n| {OSC}0;x{BEL} |",
        f"- {CSI}2J\n- {BEL}", f"> {CSI}2J", "```ansi\n\x1b[31mred\n```", "[x](http://e%1b%5b31m)", "<https://e/\x1b[31m>",
    ],
    "lines": ["\u2028", "\u2029", "a\u0085b", "\t" * 40, "\n" * 40, " " * 200 + "x", "x" * 3000, "\u200b" * 50, "e" + "\u0301" * 200],
}  # fmt: skip
"""Whole sequences: what follows one is not swallowed by it."""

OPEN = [
    ESC, CSI, f"{CSI}31", f"{CSI}?", f"{CSI}31;", OSC, f"{OSC}0;a title", f"{OSC}8;;http://e", f"{OSC}52;c;AAAA", DCS, f"{DCS}q",
    f"{DCS}tmux;", APC, f"{APC}Ga=T;", PM, SOS, f"{SOS}x", f"{ESC}(", f"{ESC} ", f"{ESC}#", "\x9b", "\x9b31", "\x9d", "\x9d0;t",
    "\x90", "\x9f", "\x9e", "\x98", f"{ESC}%", f"{DCS}{ESC}", f"{OSC}0;x{ESC}", f"{CSI}1;1;{ESC}", "\u202e", "\ud83d", "\r",
]  # fmt: skip
"""Sequences without an end."""

ALL = [*(text for texts in PAYLOADS.values() for text in texts), *OPEN]
