// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the commands use of fmt 9, compiled from its headers where its package has no static library (cmake/dependencies.cmake). The
// functions are inline there; naming them makes the compiler write them out. One that is missing here is an error of the linker.
#define FMT_HEADER_ONLY 1
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
}
FMT_END_NAMESPACE

namespace {

struct Used {
  void (*assert_fail)(const char*, int, const char*);
  bool (*is_printable)(uint32_t);
  void (*throw_format_error)(const char*);
  std::string (*vformat)(fmt::string_view, fmt::format_args);
};
[[gnu::used]] const Used kUsed{fmt::detail::assert_fail, fmt::detail::is_printable, fmt::detail::throw_format_error, fmt::vformat};

}  // namespace
