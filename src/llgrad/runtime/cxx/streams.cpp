/* What libc++'s streams write text by: functions of its headers, all others are compiled inside it. */
#include <ostream>
namespace std {
template basic_ostream<char> &__put_character_sequence(basic_ostream<char> &, const char *, size_t);
template basic_ostream<wchar_t> &__put_character_sequence(basic_ostream<wchar_t> &, const wchar_t *, size_t);
template basic_ostream<char> &endl(basic_ostream<char> &);
template basic_ostream<wchar_t> &endl(basic_ostream<wchar_t> &);
template char basic_ios<char>::widen(char) const;
template wchar_t basic_ios<wchar_t>::widen(char) const;
}
