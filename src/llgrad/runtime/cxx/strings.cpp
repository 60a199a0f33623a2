// Bodies of the members of std::string, of characters of any type. The libraries keep some in themselves; code that is to
// be differentiated may hold strings in one object with numbers, and then it matters what they do.
#include <string>
#ifndef CHARACTER
#define CHARACTER char
#endif
using text = std::basic_string<CHARACTER>;
template class std::allocator<CHARACTER>;
template class std::basic_string<CHARACTER>;

#ifdef _LIBCPP_VERSION // members and functions that are templates themselves
using letters = const CHARACTER *;
using view = std::basic_string_view<CHARACTER>;
text llgrad_uses_of_strings(text a, text b, letters p, view v, CHARACTER c)
{
    text made(p), viewed(v), filled(3, c), part(p, p + 1), of(a.begin(), a.end());
    made = v;
    made += v;
    made.append(v).assign(v);
    made.append(p, p + 1).assign(p, p + 1);
    made.append(a.begin(), a.end()).assign(a.begin(), a.end());
    made.insert(made.begin(), p, p + 1);
    return a + b + (a + p) + (p + a) + (a + c) + (c + a) + (p + text(p)) + (text(p) + p) + (text(p) + c) + (text(p) + b)
        + (b + text(p)) + (text(p) + text(p)) + viewed + filled + part + of + made;
}
#endif
