# SPDX-License-Identifier: GPL-2.0-only
"""
Every command line of bbrctl and bbrmon that a document, a manual page, an alert or a message names is right: the programs
themselves parse it, where they can do nothing. There they are root of a user namespace of nobody, so the kernel refuses all
BPF: a line that is wrong ends with status 1, any other with another one.
"""
import functools
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
TOOLS = ("bbrctl", "bbrmon")
USAGE = 1
ALGORITHMS = ("bbr", "bbr3")
EXAMPLES = {"KEY=VALUE": "cwnd_gain=2", "K": "1"}
OF_THIS_MACHINE = {"--cgroup": "/", "--migrate": "reno"}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-U", "-r", "-m", "-n", "-p", "-f",
          "--mount-proc", "timeout", "5"]
# A place with one named network namespace, $0.
PLACE = \
    'mount -t tmpfs none /run; mkdir /run/netns; >"/run/netns/$0"; mount --bind /proc/self/ns/net "/run/netns/$0"; exec "$@"'
# Of a right command line, whose file is not on this machine.
MISSING_FILE = re.compile(r": No such file or directory\n(  .*\n)*$")


@pytest.fixture(scope="module")
def place():
    """A folder in which nobody may write, with copies of the programs."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bbrt"))
    for tool in TOOLS:
        shutil.copy(BUILD / tool, folder)
    (folder / "work").mkdir()
    folder.chmod(0o755)
    (folder / "work").chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def run(place, words):
    netns = words[words.index("--netns") + 1] if "--netns" in words[:-1] else "none"
    return subprocess.run([*NOBODY, "sh", "-c", PLACE, netns, place / words[0], *words[1:]], cwd=place / "work", text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=30, check=False)


def is_wrong(place, words):
    """Why the programs refuse the command line, or None."""
    done = run(place, words)
    return done.stderr if done.returncode == USAGE and not MISSING_FILE.search(done.stderr) else None


@functools.cache
def help_of(place, *words):
    return run(place, [*words, "--help"]).stdout


def verbs_of(place, tool):
    """The words of each verb."""
    verbs = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", help_of(place, tool), re.M)
    assert len(verbs) > 7
    return [verb.split() for verb in verbs]


def own_help(place, words):
    """The help of the verb that a command line begins with, and how many words name it; None: it begins with none."""
    for n in 3, 2:
        text = help_of(place, *words[:n])
        if len(words) >= n and text.startswith(f"usage: {' '.join(words[:n])} "):
            return text, n
    return None


def filled_in(words):
    """Puts what every machine has, and an example, in the place of what only the reader's machine has, and of placeholders."""
    filled = [EXAMPLES.get(word.rstrip("."), word) for word in words]
    values = {**OF_THIS_MACHINE, "--from": "cubic", "--to": "reno"} if "migrate" in words else OF_THIS_MACHINE
    for option, value in values.items():
        if option in filled[:-1]:
            filled[filled.index(option) + 1] = value
    if "--algorithm" in filled[:-1] and filled[filled.index("--algorithm") + 1] in ("NAME", "1"):
        filled[filled.index("--algorithm") + 1] = "bbr"
    return filled


def parameter_problem(place, verb, arguments):
    """What a verb asks an instance about, without one: keys, values and names of profiles."""
    def load(*options):
        answers = [is_wrong(place, ["bbrctl", "load", "--algorithm", a, *options]) for a in ALGORITHMS]
        return answers[0] if all(answers) else None

    if verb in (["set"], ["profile", "add"]):
        wrong = [load("--set", word) for word in arguments if re.fullmatch(r"[a-z]\w*=.*", word)]
        if any(wrong):
            return next(filter(None, wrong))
    if verb in (["show"], ["reset"]):
        known = "".join(run(place, ["bbrctl", "show", "--defaults", "--algorithm", a]).stdout for a in ALGORITHMS)
        wrong = [word for word in arguments if re.fullmatch(r"[a-z]+_\w+", word) and f"  {word} " not in known]
        if wrong:
            return f"{wrong}: no such parameters"
    if verb == ["profile", "add"] and len(arguments) == 1 and arguments[0].islower():
        return load("--profile", arguments[0])
    return None


def problem(place, words, is_mention=False):
    """Why a command line is wrong, or None. A mention may leave out what the verb needs."""
    words = filled_in(words)
    if words[1].startswith("-"): # not a verb first
        return is_wrong(place, words)
    found = own_help(place, words)
    if not found:
        return f"{words}: no such verb"
    arguments = words[found[1]:]
    if is_mention and not arguments:
        return None
    wrong = is_wrong(place, words)
    if wrong and is_mention and re.search(r" is missing|[01] arms?: ", wrong):
        return None
    return wrong or parameter_problem(place, words[1:found[1]], arguments)


def commands_in(line):
    """The command lines of bbrctl and bbrmon in a line for a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    words, redirected = [], False
    for word in [*lexer, ";"]:
        if redirected:
            redirected = False
        elif word[0] in "<>":
            redirected = True
        elif word[0] in "();|&":
            for tool in TOOLS:
                if tool in words:
                    yield words[words.index(tool):]
            words = []
        else:
            words.append(word)


def blocks(text):
    """The blocks of a Markdown file that are shown as they are: (number of the first line, lines without the indent)."""
    block, begin, fence = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        is_mark = line.startswith("```")
        if fence and not is_mark or not fence and line.startswith("    "):
            begin = begin or number
            block.append(line if fence else line[4:])
        elif block and (is_mark or line):
            yield begin, block
            block, begin = [], 0
        fence ^= is_mark
    if block:
        yield begin, block


def shown(block):
    """Command lines with their number and the line after them. A block with prompts also has output."""
    has_prompts = any(re.match(r"[#$] ", line) for line in block)
    at = 0
    while at < len(block):
        line, first = block[at], at
        while line.endswith("\\") and at + 1 < len(block):
            at += 1
            line = line[:-1] + block[at]
        at += 1
        if re.match(r"[#$] ", line) if has_prompts else re.match(r"(bbrctl|bbrmon) [a-z-]", line):
            after = block[at] if at < len(block) else ""
            yield first, re.sub("^[#$] ", "", line), after


def spans(text):
    """The text between backticks, outside of blocks."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for paragraph in re.split(r"\n\s*\n", re.sub(r"^    .*$", "", text, flags=re.M)):
        for span in re.findall(r"`([^`]+)`", paragraph):
            yield " ".join(span.split())


def documents():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in names if name != "CHANGELOG.md"]


def from_documents():
    for path in documents():
        text = path.read_text()
        for begin, block in blocks(text):
            for at, line, after in shown(block):
                for words in commands_in(line):
                    yield f"{path.relative_to(ROOT)}:{begin + at}", words, after, False
        for span in spans(text):
            if re.match(r"(bbrctl|bbrmon) [a-z-]", span):
                yield f"{path.relative_to(ROOT)}", next(commands_in(span)), "", True


def from_manuals():
    for path in sorted((ROOT / "docs/man").glob("*.8")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r"(# |\.B )((?:bbrctl|bbrmon) [a-z-].*)", line)
            for words in commands_in(found[2].replace("\\-", "-").replace("\\(aq", "'")) if found else ():
                yield f"{path.relative_to(ROOT)}:{number}", words, "", found[1] != "# "


CASES = [*from_documents(), *from_manuals()]


@pytest.mark.parametrize("words, after, is_mention", [case[1:] for case in CASES],
                         ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_a_command_to_paste(place, words, after, is_mention):
    wrong = problem(place, words, is_mention)
    # An example of a mistake shows what the program says.
    assert not wrong or after.startswith("bbrctl: ") and after in wrong.splitlines(), (words, wrong)


def test_lines_to_paste_are_a_shells():
    lines = [line for path in documents() for _, block in blocks(path.read_text()) for _, line, _ in shown(block)]
    wrong = [line for line in lines if subprocess.run(["bash", "-nc", line], stderr=subprocess.DEVNULL, check=False).returncode]
    assert not wrong and len(lines) > 60
    # The line before one that only has options continues it.
    for path in documents():
        for begin, block in blocks(path.read_text()):
            for first, second in zip(block, block[1:]):
                if re.match("[#$] ", first) and re.match(r"\s+--\w", second):
                    assert first.endswith("\\"), (path, begin, second)


def sentences():
    """Texts in which a command stands without quotes: of alerts, of configuration files, and of messages in the sources."""
    for path in (ROOT / "packaging/prometheus").glob("*.rules.yml"):
        for text in re.findall(r"action: (.*)", path.read_text()):
            yield path, text.strip('"')
    for path in [ROOT / "packaging/etc/bpf-bbr/bpf-bbr.conf", *(ROOT / "packaging/systemd").glob("*.service")]:
        for text in path.read_text().splitlines():
            yield path, re.sub(r"^Exec\w+=/usr/local/sbin/", "", text)
    for place in "experiment", "lib", "loader", "tools":
        for path in (ROOT / place).rglob("*.c"):
            for literals in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', path.read_text()):
                text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))
                yield path, text.replace("\\n", " ").replace('\\"', '"')


def begins(place, text):
    """The command line that a text begins with: the verb, its options with their values, and words that are no prose."""
    text = re.sub(r"(?<=[a-z])%s", "", text)  # an end that may be empty: "--default%s"
    text = re.sub(r"%[-*.0-9l]*[sdu]", "1", re.split(r"[;:,]( |$)|\. |\.$|\)", text)[0])
    text = re.sub(r"\{\{.*?\}\}", "x", text)
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    found = own_help(place, words)
    if not found:
        return None
    help_text, n = found
    end = n
    while end < len(words):
        takes = re.search(rf"(?:^|\s){re.escape(words[end])}(?:, --\w+)? ([A-Z][A-Z=|]*)\b", help_text)
        if words[end].startswith("-"):
            end += 2 if takes else 1
        elif " " in words[end] or re.fullmatch(r"[A-Z1=./|]+|[a-z_]+=.*|/.*", words[end]):
            end += 1
        else:
            break
    return words[:end]


def test_commands_in_sentences(place):
    checked, wrong = 0, []
    for path, text in sentences():
        for start in re.finditer(r"(?<![\w/.-])(?:bbrctl|bbrmon) (?=[a-z])", text):
            words = begins(place, text[start.start():])
            if words:
                checked += 1
                reason = problem(place, words, True)
                if reason:
                    wrong.append((str(path.relative_to(ROOT)), words, reason))
    assert not wrong and checked > 40, (checked, wrong)


@pytest.mark.parametrize("line", [
    "bbrmon top --sort losses", "bbrmon stream 'polizer = detected'", "bbrctl set cwnd_gain=300", "bbrctl set min_rtt_win=20",
    "bbrctl show cwnd_gian", "bbrctl profile add tsunamy", "bbrctl profile add x cwnd_gian=2", "bbrctl rule", "bbrctl lod",
    "bbrctl rule add --dport 99999 --profile x", "bbrmon export --listen nowhere", "bbrmon report", "bbrmon record -w x",
    "bbrctl experiment start x --design switchback --arm a=cubic --arm b=reno --guard 'goodput > 1x'"])
def test_what_is_wrong_is_found(place, line):
    assert problem(place, shlex.split(line))


def test_help_fits_a_terminal(place):
    for tool in TOOLS:
        for words in [], *verbs_of(place, tool):
            assert all(len(line) <= 80 for line in help_of(place, tool, *words).splitlines()), (tool, words)


def json_keys(*places):
    """The keys that the sources of these places, folders or files, print."""
    sources = [path for place in places for path in [ROOT / place, *sorted((ROOT / place).rglob("*.c"))] if path.is_file()]
    text = "".join(path.read_text() for path in sources)
    calls = r'(?:json_\w+ ?|param_add_\w+|add_code|add_defaults)\([^;"]*"(\w+)"'
    return set(re.findall(calls, text)) | set(re.findall(r'json_add_endpoint\([^;"]*"\w+"[^;"]*"(\w+)"', text))


def test_the_manual_has_the_json_keys():
    """Of bbrctl each key; of bbrmon the ends that show a unit."""
    manual = {tool: (ROOT / f"docs/man/{tool}.8").read_text() for tool in TOOLS}
    section = manual["bbrctl"].partition("\n.SH JSON\n")[2].partition("\n.SH ")[0]
    documented = {key for key in re.findall(r"\\fB(\w+)\\fR", section) if key[0] != "_"}
    printed = json_keys("loader", "experiment/running", "experiment/verbs", "experiment/handle.c") - {"ended"}  # bbrmon adds this
    # These are no literals in the calls.
    printed |= {f"{no}{of}" for no in ("", "not_") for of in ("dst", "src", "dport", "sport", "mark", "dev", "cgroup")}
    assert len(printed) > 150 and documented == printed | {"added", "deleted"}
    output = manual["bbrmon"].partition("\n.SH OUTPUT\n")[2].partition("\n.SH ")[0]
    ends = set(re.findall(r"(?<!\w)_[a-z]+", output))
    units = "_us", "_ms", "_ns", "_s", "_bps", "_bytes", "_kbit", "_percent", "_seconds", "_ticks"
    keys = json_keys("tools", "experiment/results")
    assert ends == {unit for unit in units if any(key.endswith(unit) for key in keys)} > {"_bps"}


def test_each_kind_of_text_is_read():
    """A continued line, a comment, a pipe, output, and backticks over two lines."""
    text = ("a `bbrctl\nstatus -j` b\n\n    # sudo bbrctl load \\\n        --name x    # why\n    bbrctl: no\n"
            "    # bbrmon top | cat >f\n")
    ((_, block),) = blocks(text)
    found = [(list(commands_in(line)), after) for _, line, after in shown(block)]
    assert found == [([["bbrctl", "load", "--name", "x"]], "bbrctl: no"), ([["bbrmon", "top"]], "")]
    assert list(spans(text)) == ["bbrctl status -j"] and len(CASES) > 100


@pytest.mark.parametrize("tool", TOOLS)
def test_the_manual_has_each_verb_and_option(place, tool):
    manual = (ROOT / f"docs/man/{tool}.8").read_text().replace("\\-", "-")
    for verb in verbs_of(place, tool):
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_of(place, tool, *verb)))
        missing = [word for word in (*verb, *options) if not re.search(rf"(?<![\w-]){word}(?![\w-])", manual)]
        assert options and not missing, (verb, missing)
