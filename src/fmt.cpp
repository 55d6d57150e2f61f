// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// fmt 9 or 12, compiled from its headers where its package has no static library (cmake/dependencies.cmake): its functions are no templates
// and defined by the header below, but for those that it expects to be instantiated once. One that is missing here is an error of the
// linker.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
}  // namespace detail
FMT_END_NAMESPACE
