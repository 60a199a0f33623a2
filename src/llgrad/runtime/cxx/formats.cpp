/* What libc++ writes text by with <format> and <print>: functions of its headers that are the same whatever is formatted. */
#include <format>
#include <iterator>
#include <print>
#include <string>
_LIBCPP_BEGIN_NAMESPACE_STD
using to_buffer = format_context::iterator;
template string vformat<>(string_view, format_args);
template back_insert_iterator<string> __vformat_to(back_insert_iterator<string>, string_view, format_args);
template char *__vformat_to(char *, string_view, format_args);
template size_t __vformatted_size(string_view, format_args);
#if _LIBCPP_STD_VER >= 23
namespace __print {
template void __vprint_nonunicode<>(FILE *, string_view, format_args, bool);
template void __vprint_unicode<>(FILE *, string_view, format_args, bool);
}
#endif
_LIBCPP_END_NAMESPACE_STD
