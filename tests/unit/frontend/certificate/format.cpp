// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The reader of certificates: what is written is read back, and what is malformed is named.
#include "frontend/certificate/certificate.h"

#include <doctest/doctest.h>

using namespace shardproof;
using namespace shardproof::certificate;

namespace {

Certificate small() {
  Certificate c;
  c.product = "1";
  c.manifest = "m";
  c.manifest_hash = "h";
  c.files = {{"a", "b"}};
  c.outputs = {{"y", "Replicate", {{3, 4}}}};
  c.linked = 5;
  TermNode x;
  x.kind = TermKind::Base;
  x.dims = {4, 6};
  x.origin = 0;
  TermNode sum;
  sum.kind = TermKind::Red;
  sum.fn = ir::Fn::Add;
  sum.dims = {4};
  sum.box = {0, 6};
  sum.args = {{Product{1, 2, {Factor{0, 1, 1, {1, 0, 0, 0, 1, 0}}}}}};
  c.terms = {x, sum};
  c.ranks = {1};
  c.claims = {Claim{3, {Cell{{4}, {1, 0}, {Product{-3, 1, {Factor{1, 2, 1, {1, 0}}}}}}}}};
  return c;
}

}  // namespace

TEST_CASE("what is written is read back") {
  const std::string bytes = certificate::encode(small());
  Result<Certificate> back = decode(bytes, "f");
  REQUIRE(back.ok());
  CHECK(certificate::encode(*back) == bytes);
  CHECK(back->terms[1].box == std::vector<int64_t>{0, 6});
  CHECK(back->claims[0].cells[0].poly[0].num == -3);
}

TEST_CASE("an empty tensor of many dimensions may be claimed last") {
  Certificate c = small();
  c.ranks.push_back(7);
  c.claims.push_back(Claim{4, {}});
  Result<Certificate> back = decode(certificate::encode(c), "f");
  REQUIRE(back.ok());
  CHECK(back->ranks.back() == 7);
}

TEST_CASE("a certificate that is cut anywhere, or has more bytes, cannot be read") {
  const std::string bytes = certificate::encode(small());
  for (size_t n = 0; n < bytes.size(); ++n) CHECK_FALSE(decode(bytes.substr(0, n), "f").ok());
  CHECK_FALSE(decode(bytes + "x", "f").ok());
}

TEST_CASE("malformed contents are named") {
  auto why = [](Certificate c) {
    Result<Certificate> r = decode(certificate::encode(c), "f");
    return r.ok() ? std::string() : r.error().message;
  };
  Certificate c = small();
  c.terms[1].args[0][0].f[0].node = 1;
  CHECK(why(c).find("not defined before") != std::string::npos);
  c = small();
  c.terms[1].args[0][0].den = 0;
  CHECK(why(c).find("fraction") != std::string::npos);
  c = small();
  c.terms[1].args[0][0].f[0].map.pop_back();
  CHECK(why(c).find("number of indices") != std::string::npos);
  c = small();
  c.terms[1].box = {6, 0};
  CHECK(why(c).find("reversed range") != std::string::npos);
  c = small();
  c.claims[0].cells[0].ext = {0};
  CHECK(why(c).find("extent") != std::string::npos);
  c = small();
  TermNode less;  // x < and nothing: its second argument would be read beyond its end
  less.kind = TermKind::Fn;
  less.fn = ir::Fn::Lt;
  less.dtype = ir::DType::Bool;
  less.dims = {4};
  less.args = {{Product{1, 1, {Factor{1, 1, 1, {1, 0}}}}}};
  c.terms.push_back(less);
  CHECK(why(c).find("number of arguments") != std::string::npos);
  c.terms.back().args.push_back(c.terms.back().args[0]);
  CHECK(why(c).empty());
  c.terms.back().inner.assign(c.terms.back().args.size(), {2});  // else the extents of an argument that has none are read
  CHECK(why(c).find("inner") != std::string::npos);
  c = small();
  c.terms[0].origin = ir::kNoNode;
  CHECK_FALSE(why(c).empty());
}
