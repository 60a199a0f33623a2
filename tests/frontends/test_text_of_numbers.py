"""Active numbers that C++'s libraries make text or bytes of: where these become numbers again, that is refused.

(That text may be made of them, and looked at, is tested by `tests/programs/cpp_text_of_errors.cpp` and below.)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness import has_libcxx

import llgrad
from llgrad.errors import NoRuleError, UnsupportedError

HEAD = """
#include <algorithm>
#include <charconv>
#include <complex>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
static double digits(const char *from, const char *to)
{
    double value = 0, unit = 0;
    for (; from != to; from++) {
        if (*from == '.') unit = 1;
        else value = 10 * value + (*from - '0'), unit *= 10;
    }
    return value / (unit ? unit : 1);
}
__attribute__((noinline)) static void copied(char *to, const char *from) noexcept
{
    for (int i = 0; i < 64; i++) to[i] = from[63 - i];
}
"""
BACK = {
    "digits of to_string": "std::string t = std::to_string(x * x); return digits(&t[0], &t[0] + t.size());",
    "digits of a stream": """std::ostringstream o; o << x * x; std::string t = o.str();
        return digits(&t[0], &t[0] + t.size());""",
    "digits of to_chars": "char t[64]; auto end = std::to_chars(t, t + 64, x * x); return digits(t, end.ptr);",
    "digits in a table": """static const double of[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        std::string t = std::to_string(x * x); return of[t[0] - '0'];""",
    "from_chars": """char t[64]; int n = snprintf(t, 64, "%.17g", x * x); double y = 0;
        std::from_chars(t, t + n, y); return y;""",
    "copies of text by a function": """char t[64] = {0}, u[64], v[64]; snprintf(t, 64, "%.17g", x * x); copied(u, t);
        copied(v, u); return strtod(v, nullptr);""",
    "a complex number": """std::complex<double> z(x, x * x), w; std::stringstream s; s << z; s >> w;
        return w.imag();""",
    "a facet": """std::ostringstream o;
        std::use_facet<std::num_put<char>>(o.getloc()).put(std::ostreambuf_iterator<char>(o), o, ' ', x * x);
        return std::stod(o.str());""",
    "bytes of a stream": """double v = x * x, y; std::stringstream s; s.write((char *)&v, 8); s.read((char *)&y, 8);
        return y;""",
    "bytes in the text of a stream": """double v = x * x, y; std::ostringstream s; s.write((char *)&v, 8);
        std::string t = s.str(); memcpy(&y, t.data(), 8); return y;""",
    "bytes one by one": """double v = x * x, y; std::stringstream s;
        for (int i = 0; i < 8; i++) s.put(((char *)&v)[i]);
        for (int i = 0; i < 8; i++) ((char *)&y)[i] = s.get();
        return y;""",
    "bytes in a string": """double v = x * x, y; std::string s; s.append((char *)&v, 8); memcpy(&y, s.data(), 8);
        return y;""",
    "bytes copied by a string": """double v = x * x, y; std::string s; s.assign((char *)&v, 8); s.copy((char *)&y, 8);
        return y;""",
    "bytes in a view": """double v = x * x, y; std::string_view w((char *)&v, 8); std::string s(w);
        memcpy(&y, s.data(), 8); return y;""",
}
SOME = (
    "digits of to_string", "digits of to_chars", "digits of a stream", "a complex number", "bytes copied by a string",
    "bytes in a view",
)  # fmt: skip
LIBRARIES = [pytest.param(library, name, id=f"{name} ({library})", marks=() if quick else pytest.mark.full)
             for name in BACK for library in ("libstdc++", "libc++")
             for quick in [library == "libstdc++" or name in SOME]]  # fmt: skip


def loaded(tmp_path: Path, library: str, body: str) -> llgrad.Library:
    if library == "libc++" and not has_libcxx():
        pytest.skip("no libc++ (Debian: libc++-22-dev)")
    path = tmp_path / "a.cpp"
    path.write_text(f"{HEAD}double f(double x)\n{{\n    {body}\n}}\n")
    return llgrad.load(path, flags=["-std=c++17", f"-stdlib={library}"])


@pytest.mark.parametrize(("library", "name"), LIBRARIES)
def test_numbers_that_were_text_or_bytes(library: str, name: str, tmp_path: Path) -> None:
    with pytest.raises((UnsupportedError, NoRuleError)):
        llgrad.grad(loaded(tmp_path, library, BACK[name]).f)(1.5)


# What looks alike and is right.
APART = """
    std::string given = "12.5", t = std::to_string(x * x);
    std::ostringstream o;
    o << std::setprecision(3) << t << x * x;
    if (o.str().empty() || t[0] != '2') return 0;
    return x * x;
"""


OUTPUT = """
    struct Log {
        std::ostringstream text;
        double sum = 0;
        void add(const std::string &name, double v) { text << name << std::setw(5) << v << std::endl; sum += v * v; }
    } log;
    std::map<std::string, double> values;
    values["a"] = x * x;
    values["b"] = x;
    for (auto &[name, v] : values) log.add(name, v);
    std::cout << std::fixed << std::setprecision(2) << log.sum << '\\n' << log.text.str() << std::flush;
    return log.sum;
"""


@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_output(library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Streams beside numbers, of memory and of the console, are inactive."""
    assert np.isclose(llgrad.grad(loaded(tmp_path, library, OUTPUT).f)(1.5), 4 * 1.5**3 + 2 * 1.5)
    assert capfd.readouterr().out.endswith("7.31\na 2.25\nb  1.5\n")


CAUGHT = """
    try {
        std::ostringstream o;
        o << "too small: " << x;
        if (x < 9) throw std::runtime_error(o.str());
    } catch (const std::exception &e) {
        std::cout << e.what() << std::endl;
        return x * x;
    }
    return x;
"""


@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_text_of_what_was_caught(library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert np.isclose(llgrad.grad(loaded(tmp_path, library, CAUGHT).f)(1.5), 3)
    assert capfd.readouterr().out.endswith("too small: 1.5\n")


@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_text_that_is_looked_at(library: str, tmp_path: Path) -> None:
    assert np.isclose(llgrad.grad(loaded(tmp_path, library, APART).f)(1.5), 3)
