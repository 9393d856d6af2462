// The parts of fmt that are not in its headers. They are compiled into the stand-in, which is loaded before the
// libraries of any program and must not bring any of its own along.
#include <fmt/format-inl.h>

#include <locale>

// These are the templates of the file above that fmt's other headers expect to be instantiated elsewhere.
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
