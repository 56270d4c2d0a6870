"""What the tree promises, as functions: each takes the root of a tree and returns complaints.

A complaint is one line: where, what, and what to do instead. Used by test_architecture.py on this
repository and by test_rules.py on small bad trees, so that a rule that cannot fail is noticed.
"""

import functools
import pathlib
import re
import subprocess

CXX = (".h", ".cc")
LINES_MAX = 600
FUNCTION_LINES_MAX = 100
COLUMNS_MAX = 100

# Folders without I/O, clock, threads or chance: the same input gives the same output.
PURE = ("model", "core", "words", "wire")

# What a pure folder may not say, and what to do instead.
IMPURE = [
    (r"#include <(ctime|time\.h|sys/time\.h)>|\b(system|steady|high_resolution|utc|tai|gps|file)_clock\b"
     r"|\bnow\(\)|\bgettimeofday\b|\bclock_gettime\b",
     "a clock", "take the time as an argument (base/time.h); the shell reads clocks"),
    (r"#include <random>|\b(random_device|mt19937(_64)?|default_random_engine)\b|\bs?rand\(|(?<=::)s?random\(",
     "chance", "take entropy as an argument, or a seeded base/random.h"),
    (r"#include <(thread|mutex|shared_mutex|atomic|future|condition_variable|semaphore|latch|barrier"
     r"|stop_token)>|\bstd::(jthread|thread|mutex|atomic|async)\b",
     "threads", "stay on the caller's thread; the shell owns concurrency"),
    (r"#include <(iostream|fstream|filesystem|syncstream|print)>|\bstd::(cout|cerr|clog|print(ln)?)\b"
     r"|\bf?printf\(|\bfopen\(|\bf?puts\(|\bfmt::print\(|#include <fmt/(ostream|os)\.h>",
     "input or output", "return a value; the shell reads and writes"),
    (r"#include <(unistd\.h|fcntl\.h|sys/[a-z]+\.h|netinet/[a-z]+\.h|arpa/[a-z]+\.h|netdb\.h|poll\.h|csignal)>"
     r"|\bgetenv\(",
     "the operating system", "take what is needed as an argument; the shell asks the system"),
    (r"#include [<\"](spdlog/|curl/|sqlite3|mysql|boost/asio|boost/beast|openssl/|google/cloud)",
     "a library that acts", "emit a command or return a value; an adapter uses the library"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


# Reading the tree


@functools.lru_cache(maxsize=None)
def files(root):
    """All files that belong to the tree: what git knows or would add; everything without git."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
            check=True, capture_output=True, text=True).stdout
        found = [root / name for name in listed.split("\0") if name]
    else:
        found = [path for path in root.rglob("*") if "build" not in path.relative_to(root).parts]
    return sorted(path for path in found if path.is_file())


def cxx_files(root, *tops):
    return [path for path in files(root)
            if path.suffix in CXX and path.relative_to(root).parts[0] in (tops or ("src", "apps", "bench"))]


def where(root, path, line=None):
    name = path.relative_to(root).as_posix()
    return name if line is None else f"{name}:{line}"


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def blank(text):
    """The text with comments and literals as blanks, line by line in the same places."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
                       r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'", re.DOTALL)
    def empty(match):
        if match.group().startswith('"') and "#include" in text[text.rfind("\n", 0, match.start()) + 1:match.start()]:
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())
    return token.sub(empty, text)


@functools.lru_cache(maxsize=None)
def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


@functools.lru_cache(maxsize=None)
def code(path):
    return blank(read(path))


# What CMake says


@functools.lru_cache(maxsize=None)
def cmake(root):
    texts = [read(path) for path in files(root) if path.name == "CMakeLists.txt"]
    return re.sub(r"#[^\n]*", "", "\n".join(texts))


def cmake_calls(root, name):
    return [call.split() for call in re.findall(rf"\b{name}\s*\(([^)]*)\)", cmake(root))]


@functools.lru_cache(maxsize=None)
def libraries(root):
    """folder -> (its DEPENDS, its TEST_DEPENDS), as written."""
    found = {}
    for words in cmake_calls(root, "falcon_library"):
        parts, now = {"DEPENDS": set(), "TEST_DEPENDS": set()}, None
        for word in words[1:]:
            if word in ("DEPENDS", "TEST_DEPENDS", "LIBS", "TEST_LIBS"):
                now = word
            elif now in parts:
                parts[now].add(word)
        found[words[0]] = (parts["DEPENDS"], parts["TEST_DEPENDS"])
    return found


def closure(root, folders):
    known, reached, todo = libraries(root), set(), list(folders)
    while todo:
        folder = todo.pop()
        if folder not in reached:
            reached.add(folder)
            todo.extend(known.get(folder, (set(), set()))[0])
    return reached


def linked_by_apps(root):
    """program's folder below apps/ -> our folders that its targets link."""
    links = {}
    for words in cmake_calls(root, "target_link_libraries"):
        links.setdefault(words[0], set()).update(w[len("falcon::"):] for w in words if w.startswith("falcon::"))
    found = {}
    for words in cmake_calls(root, "add_executable"):
        for source in words[1:]:
            match = re.match(r"(?:\$\{\w+\}/)?apps/([^/]+)/", source)
            if match:
                found.setdefault(match.group(1), set()).update(links.get(words[0], set()))
    return found


# The rules


def arrows(root):
    """A folder includes only itself and what it DEPENDS on."""
    complaints = []
    known, apps = libraries(root), linked_by_apps(root)
    for path in cxx_files(root, "src", "apps"):
        top, folder = path.relative_to(root).parts[:2]
        if top == "apps":
            allowed, how = closure(root, apps.get(folder, set())), "link falcon::{0} to the program"
        else:
            depends, test_depends = known.get(folder, (set(), set()))
            test = "_test." in path.name
            allowed = closure(root, {folder} | depends | (test_depends if test else set()))
            how = "add {0} to " + ("TEST_DEPENDS" if test else "DEPENDS") + f" of {folder}"
        for match in INCLUDE.finditer(read(path)):
            target = match.group(1).split("/")[0] if "/" in match.group(1) else None
            spot = where(root, path, line_of(read(path), match.start()))
            if top == "apps" and (path.parent / match.group(1)).exists():
                continue
            if target is None or not (root / "src" / match.group(1)).exists():
                complaints.append(f'{spot}: #include "{match.group(1)}" names no file below src/; write it as "folder/file.h"')
            elif target not in allowed:
                complaints.append(f"{spot}: {folder} may not use {target}; {how.format(target)} in CMakeLists.txt"
                                  " only if that arrow is meant, else move what is needed down")
    for folder in sorted(known):
        for other in sorted(known[folder][0]):
            if folder in closure(root, {other}):
                complaints.append(f"CMakeLists.txt: {folder} and {other} depend on each other; arrows go one way")
    return complaints


def purity(root):
    """No clock, chance, threads or I/O where decisions and nouns live."""
    complaints = []
    for path in cxx_files(root, "src"):
        if path.relative_to(root).parts[1] not in PURE:
            continue
        text = code(path)
        for pattern, what, instead in IMPURE:
            for match in re.finditer(pattern, text):
                complaints.append(f"{where(root, path, line_of(text, match.start()))}: `{match.group()}` is {what};"
                                  f" {instead}")
    return complaints


# Headers between the .cc files of src/http, which may show Asio; nobody else includes them.
PRIVATE_HTTP_HEADERS = ("connection.h", "exchange.h")


def heavy_headers(root):
    """Asio and Beast in a few files of src/http only: each costs seconds in every file that sees it."""
    complaints = []
    for path in cxx_files(root):
        parts = path.relative_to(root).parts
        inside = parts[:2] == ("src", "http")
        for match in ANY_INCLUDE.finditer(code(path)):
            heavy = re.match(r"boost/(asio|beast)\b", match.group(1))
            if not heavy and match.group(1) not in [f"http/{name}" for name in PRIVATE_HTTP_HEADERS]:
                continue
            if not inside or (heavy and path.suffix != ".cc" and path.name not in PRIVATE_HTTP_HEADERS):
                spot = where(root, path, line_of(code(path), match.start()))
                complaints.append(f"{spot}: <{match.group(1)}> belongs into a .cc file of src/http; use its interface")
    return complaints


def targets(root):
    """Every source is compiled by some target, every test is run."""
    complaints = []
    known = libraries(root)
    for path in cxx_files(root):
        parts = path.relative_to(root).parts
        if parts[0] == "src":
            if len(parts) != 3:
                complaints.append(f"{where(root, path)}: sources lie in src/<folder>/, where the build finds them")
            elif parts[1] not in known:
                complaints.append(f"{where(root, path)}: no target; add falcon_library({parts[1]} ...) to CMakeLists.txt")
        elif path.suffix == ".cc":
            name = "/".join(parts)
            if name not in cmake(root) and "/".join(parts[:-1]) + "/*.cc" not in cmake(root):
                complaints.append(f"{name}: no target; name it in an add_executable of CMakeLists.txt")
            if path.name.endswith("_test.cc"):
                complaints.append(f"{name}: tests lie beside what they test, in src/<folder>/")
    return complaints


def namespaces(root):
    """One folder, one namespace."""
    complaints = []
    for path in cxx_files(root, "src"):
        folder, text = path.relative_to(root).parts[1], code(path)
        for match in re.finditer(r"^namespace falcon::(\w+)[\w:]* \{$", text, re.MULTILINE):
            if match.group(1) != folder:
                spot = where(root, path, line_of(text, match.start()))
                complaints.append(f"{spot}: falcon::{match.group(1)} lives in src/{match.group(1)}, not in src/{folder}")
    return complaints


NOT_A_FUNCTION = re.compile(r"^\s*(\w+:\s*)*(if|else|for|while|switch|do|try|catch|namespace|class|struct|enum|union"
                            r"|extern|return|case|default)\b")


def functions(path):
    """(first line, last line, head) of every function body, by counting braces."""
    text, stack, head, found = code(path), [], 0, []
    for match in re.finditer(r"[{};]", text):
        if match.group() == "{":
            words = text[head:match.start()]
            is_scope = re.match(r"^\s*(inline\s+|export\s+|template\s*<[^{]*>\s*)*(namespace|class|struct|enum|union|extern)\b",
                                words)
            inside = any(frame[0] == "function" for frame in stack)
            kind = "scope" if is_scope else "block"
            if not is_scope and not inside and "(" in words and not NOT_A_FUNCTION.match(words):
                kind = "function"
            stack.append((kind, head + len(words) - len(words.lstrip()), " ".join(words.split())))
        elif match.group() == "}" and stack:
            kind, start, words = stack.pop()
            if kind == "function":
                found.append((line_of(text, start), line_of(text, match.start()), words))
        head = match.end()
    return found


def sizes(root):
    """Files, functions and lines that a person can take in."""
    complaints = []
    for path in cxx_files(root):
        lines = read(path).split("\n")
        if len(lines) - 1 > LINES_MAX:
            complaints.append(f"{where(root, path)}: {len(lines) - 1} lines, more than {LINES_MAX}; what is the second noun?")
        for first, last, words in functions(path):
            if last - first + 1 > FUNCTION_LINES_MAX:
                complaints.append(f"{where(root, path, first)}: `{words[:60]}` has {last - first + 1} lines, more than"
                                  f" {FUNCTION_LINES_MAX}; give its parts names")
        table = False
        raw = [len(line) for line in re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: re.sub(r"[^\n]", "", m.group()),
                                            read(path), flags=re.DOTALL).split("\n")]
        for number, (line, columns) in enumerate(zip(lines, raw), 1):
            table = "clang-format off" in line or (table and "clang-format on" not in line)
            if columns > COLUMNS_MAX and not table and not line.lstrip().startswith("#include"):
                complaints.append(f"{where(root, path, number)}: {columns} columns, more than {COLUMNS_MAX};"
                                  " tables of data stand between `clang-format off` and `on`")
    return complaints


def loose_ends(root):
    """Nothing is left for later in the text; what is not done is not promised."""
    complaints = []
    pattern = re.compile(r"\b(TO" + r"DO|FIX" + r"ME)\b")
    for path in files(root):
        if path.suffix in (*CXX, ".py", ".md", ".txt", ".sh", ".yaml", ".json", "") and path.stat().st_size < 1_000_000:
            for match in pattern.finditer(read(path)):
                complaints.append(f"{where(root, path, line_of(read(path), match.start()))}: {match.group()};"
                                  " do it now, or write an issue and take the words out")
    return complaints


def without_code(text):
    """Markdown without fenced blocks and code spans, lines kept."""
    text = re.sub(r"^( *)(```|~~~).*?^\1?\2[^\n]*$", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), text)


def documents(root):
    """One title a document, at its top; no dead links inside the tree."""
    complaints = []
    for path in files(root):
        if path.suffix != ".md":
            continue
        text = without_code(read(path))
        titles = re.findall(r"^# \S", text, re.MULTILINE)
        if len(titles) != 1 or not text.lstrip().startswith("# "):
            complaints.append(f"{where(root, path)}: {len(titles)} titles; a document begins with its one `# Title`")
        for match in re.finditer(r"\[[^\]]*\]\(([^)\s]+)\)", text):
            link = match.group(1)
            if re.match(r"[a-z]+:", link) or link.startswith("#"):
                continue
            target = link.split("#")[0]
            if not (path.parent / target).resolve().exists():
                complaints.append(f"{where(root, path, line_of(text, match.start()))}: dead link {link}")
    return complaints


def packages_explained(root):
    """docs/dependencies.md says of each package why it is there."""
    listed = [line.split("#")[0].strip() for line in read(root / "packages.txt").splitlines()]
    listed = {name for name in listed if name}
    explained = set(re.findall(r"`([a-z0-9.+-]+)`", "".join(
        line.split("|")[1] for line in read(root / "docs" / "dependencies.md").splitlines() if line.startswith("| `"))))
    return ([f"docs/dependencies.md: {name} of packages.txt is not explained" for name in sorted(listed - explained)]
            + [f"docs/dependencies.md: {name} is not in packages.txt" for name in sorted(explained - listed)])


def reasons_explained(root):
    """docs/reasons.md has one section for each Reason of src/model/job.h, and no other."""
    body = re.search(r"to_string\(Reason reason\) \{(.*?)\n\}", read(root / "src" / "model" / "job.h"), re.DOTALL)
    known = set(re.findall(r'return "(\w+)";', body.group(1))) if body else set()
    explained = set(re.findall(r"^### (\w+)$", read(root / "docs" / "reasons.md"), re.MULTILINE))
    if not known:
        return ["src/model/job.h: to_string(Reason) was not found; this rule reads it"]
    return ([f"docs/reasons.md: {name} is not explained" for name in sorted(known - explained)]
            + [f"docs/reasons.md: {name} is no Reason of src/model/job.h" for name in sorted(explained - known)])


def folders_described(root):
    """ARCHITECTURE.md has a paragraph for each folder of src/."""
    described = set(re.findall(r"^- \*\*(\w+)\*\*", read(root / "ARCHITECTURE.md"), re.MULTILINE))
    there = {path.relative_to(root).parts[1] for path in cxx_files(root, "src")}
    return [f"ARCHITECTURE.md: src/{name} has no paragraph (`- **{name}** ...`)" for name in sorted(there - described)]
