// Bodies of the members of std::string. libstdc++ keeps them in its library; code that is to be differentiated may hold
// strings in one object with numbers, and then it matters what they do.
#include <string>
template class std::allocator<char>;
template class std::basic_string<char>;
