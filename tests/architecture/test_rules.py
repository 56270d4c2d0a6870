"""The rules can fail: small trees with one thing wrong each."""

import pytest

import rules

CMAKE = """
falcon_library(base LIBS fmt::fmt)
falcon_library(model DEPENDS base)  # and nothing else
falcon_library(core DEPENDS model TEST_DEPENDS store)
falcon_library(store
  DEPENDS model LIBS SQLite::SQLite3)
falcon_library(http DEPENDS base)
add_executable(falcon apps/falcon/main.cc)
target_link_libraries(falcon PRIVATE falcon::store)
"""


@pytest.fixture
def tree(tmp_path):
    """A tree that keeps all rules; write(name, text) changes it."""
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for cached in (rules.files, rules.read, rules.code, rules.cmake, rules.libraries):
            cached.cache_clear()
        return tmp_path
    write("CMakeLists.txt", CMAKE)
    for folder in ("base", "model", "core", "store", "http"):
        write(f"src/{folder}/thing.h", "// A thing.\n#pragma once\n")
    write("src/model/job.h", 'std::string_view to_string(Reason reason) {\n  return "Waiting";\n}\n')
    write("docs/reasons.md", "# Reasons\n\n### Waiting\n")
    write("docs/dependencies.md", "# Dependencies\n\n| `cmake` | builds |\n")
    write("packages.txt", "# build\ncmake\n")
    write("ARCHITECTURE.md", "# Architecture\n\n" + "".join(
        f"- **{name}** is a folder.\n" for name in ("base", "model", "core", "store", "http")))
    write("apps/falcon/main.cc", '#include "store/thing.h"\nint main() {}\n')
    write.root = tmp_path
    return write


ALL = [rules.arrows, rules.purity, rules.heavy_headers, rules.targets, rules.namespaces, rules.sizes,
       rules.loose_ends, rules.documents, rules.packages_explained, rules.reasons_explained,
       rules.folders_described]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.__name__)
def test_good_tree_has_no_complaints(tree, rule):
    assert rule(tree.root) == []


def only(complaints):
    assert len(complaints) == 1, complaints
    return complaints[0]


@pytest.mark.parametrize("name, text, allowed", [
    ("src/base/a.cc", '#include "model/thing.h"\n', False),        # up
    ("src/model/a.cc", '#include "store/thing.h"\n', False),       # sideways
    ("src/core/a.cc", '#include "base/thing.h"\n', True),          # through model
    ("src/core/a.cc", '#include "store/thing.h"\n', False),
    ("src/core/a_test.cc", '#include "store/thing.h"\n', True),    # TEST_DEPENDS
    ("src/core/a.cc", '#include "thing.h"\n', False),              # not from src/
    ("src/core/a.cc", '#include "model/gone.h"\n', False),
    ("apps/falcon/main.cc", '#include "model/thing.h"\n', True),   # through store
    ("apps/falcon/main.cc", '#include "http/thing.h"\n', False),   # not linked
])
def test_arrows(tree, name, text, allowed):
    complaints = rules.arrows(tree(name, "// One.\n" + text))
    if allowed:
        assert complaints == []
    else:
        assert only(complaints).startswith(f"{name}:2: ")


def test_arrows_in_a_circle(tree):
    root = tree("CMakeLists.txt", "falcon_library(base DEPENDS model)\nfalcon_library(model DEPENDS base)\n")
    assert any("depend on each other" in complaint for complaint in rules.arrows(root))


@pytest.mark.parametrize("text, instead", [
    ("auto t = std::chrono::steady_clock::time_point{};", "take the time as an argument"),
    ("#include <ctime>", "take the time as an argument"),
    ("auto t = Clock::now();", "take the time as an argument"),
    ("#include <random>", "entropy"),
    ("int n = rand();", "entropy"),
    ("#include <mutex>", "caller's thread"),
    ("std::jthread t;", "caller's thread"),
    ("#include <iostream>", "return a value"),
    ("printf(text);", "return a value"),
    ("fmt::print(text);", "return a value"),
    ("#include <sys/socket.h>", "the shell asks the system"),
    ("auto home = std::getenv(name);", "the shell asks the system"),
    ("#include <spdlog/spdlog.h>", "emit a command"),
    ("#include <boost/asio/awaitable.hpp>", "emit a command"),
    ('#include "sqlite3.h"', "emit a command"),
])
def test_purity(tree, text, instead):
    for folder in rules.PURE:
        root = tree(f"src/{folder}/impure.cc", f"\n{text}\n")
        complaints = [line for line in rules.purity(root) if f"src/{folder}/impure.cc:2: " in line]
        assert len(complaints) == 1 and instead in complaints[0]


def test_purity_reads_code_not_words(tree):
    root = tree("src/core/a.cc", '// now() is std::mutex\n/* rand() */ auto s = "printf(\\"rand()"; auto n = 10\'000; int snow();\n')
    assert rules.purity(root) == []
    assert rules.purity(tree("src/store/a.cc", "#include <mutex>\n")) == []  # the shell may


def test_heavy_headers(tree):
    assert rules.heavy_headers(tree("src/http/server.cc", "#include <boost/beast/core.hpp>\n")) == []
    assert "src/http/server.h:1" in only(rules.heavy_headers(tree("src/http/server.h", "#include <boost/asio.hpp>\n")))
    tree("src/http/server.h", "")
    assert "src/store/a.cc:1" in only(rules.heavy_headers(tree("src/store/a.cc", "#include <boost/asio/post.hpp>\n")))
    tree("src/store/a.cc", "")
    assert rules.heavy_headers(tree("src/http/exchange.h", "#include <boost/asio/awaitable.hpp>\n")) == []
    assert "src/store/a.cc:1" in only(rules.heavy_headers(tree("src/store/a.cc", '#include "http/exchange.h"\n')))


@pytest.mark.parametrize("name", ["src/lost/a.cc", "src/model/deep/a_test.cc", "apps/other/main.cc",
                                  "apps/falcon/second.cc"])
def test_sources_without_target(tree, name):
    assert name in only(rules.targets(tree(name, "")))


def test_namespaces(tree):
    assert rules.namespaces(tree("src/core/a.cc", "namespace falcon::core {\n}\nnamespace falcon {\n}\n")) == []
    assert "lives in src/model" in only(rules.namespaces(tree("src/core/a.cc", "namespace falcon::model {\n}\n")))


def test_long_file(tree):
    assert rules.sizes(tree("src/core/a.cc", "\n" * 600)) == []
    assert "601 lines" in only(rules.sizes(tree("src/core/a.cc", "\n" * 601)))


@pytest.mark.parametrize("before, after", [
    ("int f(int a,\n      int b) {\n", "}\n"),
    ("namespace falcon {\nclass C {\n public:\n  C() : x_(1) {\n", "  }\n};\n}\n"),
    ("TEST(Thing, Does) {\n", "}\n"),
])
def test_long_function(tree, before, after):
    body = '  if (x) { g("}"); }\n'
    assert rules.sizes(tree("src/core/a.cc", before + body * 97 + after)) == []
    assert "lines, more than 100" in only(rules.sizes(tree("src/core/a.cc", before + body * 101 + after)))


def test_long_data_is_no_function(tree):
    assert rules.sizes(tree("src/core/a.cc", "constexpr std::array kTable{\n" + "    Row{1, 2},\n" * 200 + "};\n")) == []


def test_long_lines(tree):
    long_line = "int x;  // " + "x" * 90 + "\n"
    assert "src/core/a.cc:1: 101 columns" in only(rules.sizes(tree("src/core/a.cc", long_line)))
    assert rules.sizes(tree("src/core/a.cc", f"// clang-format off\n{long_line}// clang-format on\n")) == []
    assert len(rules.sizes(tree("src/core/a.cc", f"// clang-format off\n// clang-format on\n{long_line}"))) == 1
    assert rules.sizes(tree("src/core/a.cc", "int x;  // " + "队" * 89 + "\n")) == []  # characters, not bytes


def test_loose_ends(tree):
    assert "src/core/a.cc:2" in only(rules.loose_ends(tree("src/core/a.cc", "\n// TO" "DO: later\n")))
    tree("src/core/a.cc", "")
    assert "notes.md:1" in only(rules.loose_ends(tree("notes.md", "# FIX" "ME\n")))


def test_documents(tree):
    assert rules.documents(tree("a.md", "# A\n\n[b](docs/reasons.md#x) [c](https://example.com) `[d](gone)`\n")) == []
    assert "a.md:3: dead link gone.md" in only(rules.documents(tree("a.md", "# A\n\n[b](gone.md)\n")))
    assert "2 titles" in only(rules.documents(tree("a.md", "# A\n\n# B\n")))
    assert "0 titles" in only(rules.documents(tree("a.md", "text\n")))
    assert rules.documents(tree("a.md", "# A\n\n```\n# a comment\n[x](gone)\n```\n")) == []


def test_packages_explained(tree):
    assert "ninja-build of packages.txt" in only(rules.packages_explained(tree("packages.txt", "cmake\nninja-build\n")))
    assert "cmake is not in" in only(rules.packages_explained(tree("packages.txt", "\n")))


def test_reasons_explained(tree):
    assert "Waiting is not explained" in only(rules.reasons_explained(tree("docs/reasons.md", "# Reasons\n")))
    assert "Odd is no Reason" in only(
        rules.reasons_explained(tree("docs/reasons.md", "# Reasons\n\n### Waiting\n\n### Odd\n")))


def test_folders_described(tree):
    assert "src/fresh" in only(rules.folders_described(tree("src/fresh/a.h", "")))
