# SPDX-License-Identifier: GPL-2.0-only
"""Lists of mutants, ALGORITHM.txt: what each mutant changes, and the change itself."""
import pathlib
import re
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
LIST = HERE / "bbr.txt"


class MutantError(Exception):
    """The list does not fit the source, or is wrong in itself. The run proves nothing."""


class Mutant(NamedTuple):
    file: str
    function: str  # "": anywhere in the file
    rule: str
    text: str
    becomes: str  # "": left out

    @property
    def name(self):
        return f"{self.function or self.file.rpartition('/')[2]}: {self.rule}"


def parse(text):
    """The mutants of a list, see the head of bbr.txt."""
    found, place, rule, sides = [], None, None, None

    def finish():
        if sides is not None:
            if not sides["-"]:
                raise MutantError(f"{rule}: has no line with -")
            found.append(Mutant(*place, rule, "\n".join(sides["-"]), "\n".join(sides["+"])))

    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line[:2] in ("- ", "+ "):
            if sides is None:
                raise MutantError(f"{line!r} belongs to no rule")
            sides[line[0]].append(line[2:])
            continue
        finish()
        sides = None
        if line.startswith("@ "):
            file, _, function = line[2:].partition(" ")
            place = (file, function)
        elif place is None:
            raise MutantError(f"{line!r} belongs to no file")
        else:
            rule, sides = line, {"-": [], "+": []}
    finish()
    names = [mutant.name for mutant in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise MutantError(f"listed twice: {', '.join(sorted(twice))}")
    return found


def load(path=LIST):
    return parse(pathlib.Path(path).read_text())


def _only(pattern, text, what):
    """The one place where the pattern occurs."""
    places = list(re.finditer(pattern, text, re.M | re.S))
    if len(places) != 1:
        raise MutantError(f"{what} occurs {len(places)} times, not once")
    return places[0].span()


def function_span(file, function, source):
    """Where the function begins and ends in the file's source."""
    return _only(rf"^static inline [^\n(]*\b{function}\(.*?^}}$", source, f"{file}: {function}()")


def mutate(mutant, source):
    """Returns source, the text of the mutant's file or of its function alone, with the mistake in it."""
    start, end = 0, len(source)
    if mutant.function:
        start, end = function_span(mutant.file, mutant.function, source)
    words = r"\s+".join(re.escape(word) for word in mutant.text.split())
    first, last = _only(words, source[start:end], f"{mutant.name}: {mutant.text!r}")
    # A statement that is left out leaves an empty one, which may be the branch of an if.
    becomes = mutant.becomes or (";" if mutant.text.endswith(";") else "")
    return source[:start + first] + becomes + source[start + last:]
