"""
Names that must be refused, each with what is wrong with it, and names that must pass.

For every test of something that takes names: the validator, what writes files, ledgers.  Nothing
here needs pytest.  A fault is a key of ``PATH_FAULTS``, ``PAIR_FAULTS`` or ``ID_FAULTS``.
"""

from __future__ import annotations

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_INVISIBLE = [
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x180B, 0x180E, 0x200B, 0x200C, 0x200D),
    *(0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2060, 0x2064, 0x2066, 0x2067),
    *(0x2068, 0x2069, 0x206F, 0x3164, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xE0001, 0xE0100),
]
_DEVICES = [
    *("CON", "con", "Con.txt", "PRN", "prn.tar.gz", "AUX", "aux.md", "NUL", "nul.", "NUL .txt"),
    *("nul.a.b", "CONIN$", "conout$", "CONOUT$.log", "CLOCK$", "com\u00b9", "COM\u00b2.txt"),
    *("LPT\u00b3", *(f"COM{n}" for n in range(1, 10)), *(f"lpt{n}.txt" for n in range(1, 10))),
]
_GIT = [
    *(
        ".git",
        ".GIT",
        ".Git",
        ".git/config",
        "a/.git/hooks/post-checkout",
        ".git.",
        ".git ",
        ".git . .",
    ),
    *(".git...", ".git::$INDEX_ALLOCATION", ".git:stream", ".GIT::$DATA/x", ".git :x"),
    *("git~1", "GIT~1", "git~1/config", "Git~2", "git~1.", "git~1 ", "git~1::$INDEX_ALLOCATION"),
    *(".g\u200cit", ".gi\u200dt", "\u200e.git", ".git\u200f", ".g\u202ait", ".gi\u206at/config"),
    *(".\ufeffgit", ".gi\u206ft", "a/.G\u200cIT", "g\u200cit~1", ".git\u200c .", ".g\u00adit"),
]

PATHS: tuple[tuple[object, str], ...] = (
    *((value, "text") for value in (None, 1, 1.5, True, b"a.txt", ["a"], ("a", "b"))),
    ("", "empty"),
    *((path, "absolute") for path in ("/", "/etc/passwd", "//server/share", "/a/../b", "/..")),
    *((path, "drive") for path in ("C:", "C:/x", "c:x", "z:/a", "C:\\Windows", "a:b")),
    *(
        (path, "backslash")
        for path in (
            "a\\b",
            "\\",
            "\\\\server\\share",
            "..\\x",
            ".git\\config",
            "a/b\\..\\c",
            "a\\",
        )
    ),
    *(
        (path, "outside")
        for path in ("..", "../x", "a/..", "a/../b", "../../etc/passwd", "a/b/../../..", "../.git")
    ),
    *((path, "dot") for path in (".", "./a", "a/.", "a/./b", "./.git")),
    *((path, "part") for path in ("a/", "a//b", "a/b//", "a///b", ".github//x")),
    *((path, "git") for path in _GIT),
    *((f"a{chr(code)}b", "control") for code in _CONTROLS),
    *((path, "control") for path in ("\n", "a\r\n", "a/b\n", "\ta", ".git\n", "..\0", "Icon\r")),
    *((f"a{chr(code)}b", "invisible") for code in _INVISIBLE),
    *((path, "invisible") for path in (".\u200c.", "txt.\u202eexe", "con\u200b", "\u2066a\u2069")),
    *((f"a{character}b", "forbidden") for character in '<>"|?*'),
    *((path, "forbidden") for path in ("ab:c", "dir/x:y", "CON:", "file.txt::$DATA", "*", "a/?")),
    *((f"a{chr(code)}b", "stand-in") for code in (0xF000, 0xF03A, 0xF05C, 0xF0FF)),
    *(
        (f"a{chr(code)}b", "stand-in")
        for code in (0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF)
    ),
    *((path, "device") for path in _DEVICES),
    *((f"a/{path}/b", "device") for path in ("CON", "aux.md", "com1", "NUL.x")),
    *(
        (path, "end")
        for path in ("a.", "a ", "a. ", "...", "a./b", "a /b", "a/b.", " ", "a/ /b", ".. ")
    ),
    *(
        (path, "hyphen")
        for path in ("-", "-rf", "--", "--upload-pack=x", "a/-b", "-a/b", "-rf.txt")
    ),
    *((path, "unicode") for path in ("\ud800", "a/\udfff", "a\udc80b", "\ud83d", "x\udcff.txt")),
    *(
        (path, "wide")
        for path in ("x" * 256, f"a/{'x' * 256}/b", "\u00e9" * 128, "\U00010348" * 64)
    ),
    *((path, "long") for path in ("/".join(["x" * 254] * 17), "a/" * 2_048 + "a")),
    *((path, "deep") for path in ("a/" * 100 + "a", "/".join("ab" * 60))),
)
"""Paths by themselves."""

PAIRS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("a", "a"), "twice"),
    (("b/c", "a", "b/c"), "twice"),
    (("a", "A"), "same"),
    (("README.md", "readme.md"), "same"),
    (("d/x", "d/X"), "same"),
    (("\u00e9", "e\u0301"), "same"),
    (("\u00e9", "E\u0301"), "same"),
    (("\u212b", "\u00c5"), "same"),
    (("\u1e9b\u0323", "\u1e69"), "same"),
    (("stra\u00dfe", "STRASSE"), "same"),
    (("\u03a3", "\u03c2"), "same"),
    (("\ufb01x", "fix"), "same"),
    (("\u212a", "k"), "same"),
    (("\u017f", "S"), "same"),
    (("\u0130", "i\u0307"), "same"),
    (("\uac00", "\u1100\u1161"), "same"),
    (("a", "a/b"), "both"),
    (("a/b", "a"), "both"),
    (("a/b/c", "a"), "both"),
    (("a/b", "a/b/c/d"), "both"),
    (("A", "a/b"), "both"),
    (("x/y/z", "X"), "both"),
    (("\u00e9/b", "e\u0301"), "both"),
    (("a/x", "A/y"), "spelling"),
    (("a/b/x", "a/B/y"), "spelling"),
    (("A/b/x", "a/b/y"), "spelling"),
    (("\u00e9/x", "e\u0301/y"), "spelling"),
    (("Docs/a", "b", "docs/c"), "spelling"),
)
"""Paths that are good one by one and cannot stand in one folder."""

IDS: tuple[tuple[object, str], ...] = (
    *((value, "text") for value in (None, 7, b"dev", ["dev"])),
    ("", "empty"),
    ("x" * 101, "long"),
    *(
        (text, "letters")
        for text in (
            *("a/b", "refs/heads/dev", "a b", " a", "a\n", "\n", "a\0", "a\\b", "a:b", "a~1", "a^"),
            *("a?", "a*", "a[b", "@{u}", "@", "\u00fcber", "a\u200bb", "\u0430", "a+b", "\ud800"),
            *("a\u0661", "$(x)", "a;b", "a%00", "\uff21"),
        )
    ),
    *((text, "first") for text in (".", "..", ".hidden", "-", "-rf", "--all", "_a", "-.lock")),
    *((text, "dots") for text in ("a..b", "a..", "dev..stable")),
    *((text, "end") for text in ("a.", "a.lock", "a.LOCK", "dev.Lock", "a.b.lock")),
    *((text, "device") for text in ("con", "NUL", "aux.1", "COM1", "lpt9.x")),
)
"""Ids of branches and artifacts."""

GOOD_PATHS = (
    *("a", "a.txt", "b/c/d.txt", "a b.txt", " leading", ".hidden", ".gitignore", ".github/x"),
    *(".gitattributes", ".gitmodules", "git", "git~", "git~x", "x.git", ".git2", "..a", "a..b"),
    *("...a", "com10", "com0", "com", "lpt", "console", "auxiliary.md", "nullable", "x.con"),
    *(
        "xcon",
        "com1x.txt",
        "a-b",
        "a-",
        "~",
        "~user",
        "a~1",
        "#",
        "%20",
        "$HOME",
        "`x`",
        "a;b",
        "a&b",
    ),
    *("(a)", "[a]", "{a}", "a'b", "a=b", "a@b", "a+b", "a,b", "!", "^"),
    *("\u00fcn\u00efcode/\u540d\u524d.txt", "\u0438\u043c\u044f", "\u0645\u0644\u0641.txt"),
    *("e\u0301", "\u00e8/\u00e9", "\U0001f600.md", "a\u00a0b", "\u3000x", "\ue000", "\u0301a"),
    *("x" * 255, "\u00e9" * 127, "/".join(["x" * 200] * 20), "deep/" * 99 + "x"),
)
"""Paths that must pass, alone and all together in one folder."""

GOOD_IDS = (
    *("dev", "stable", "a", "0", "A-b_c.d", "x" * 100, "a.lockx", "lock", "a.lock.b", "1.2.3"),
    *("con1", "com10", "HEAD", "a--b", "a__b"),
)
"""Ids that must pass."""
