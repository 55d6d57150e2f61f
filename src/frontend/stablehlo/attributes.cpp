// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Attributes of an operator: those that its opcode has go to the fields of the instruction, the rest verbatim to `other`.
#include <algorithm>

#include "fmt/format.h"
#include "frontend/stablehlo/convert.h"

namespace shardproof::stablehlo {
namespace {

constexpr int64_t kMaxList = 1 << 22;  // values of an integer list given as a splat

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return s;
}

const Attr* entry(const Attr& dict, std::string_view key) {
  for (const auto& [k, value] : dict.entries)
    if (k == key) return &value;
  return nullptr;
}

}  // namespace

const Attr* Converter::resolve(const Attr* attr) {
  for (int step = 0; attr && attr->kind == Attr::Kind::Alias && step < 64; ++step) {
    auto it = tree_.attr_aliases.find(attr->text);
    if (it == tree_.attr_aliases.end()) parser_.fail(attr->offset, fmt::format("the alias #{} is not defined in the file", attr->text));
    attr = &it->second;
  }
  return attr;
}

const Attr* Converter::get(const Op& op, std::string_view name, std::string_view pretty) {
  for (const NamedAttr& a : op.attrs) {
    if (a.name == name || (!pretty.empty() && a.name == pretty)) {
      used_.insert(a.name);
      return resolve(&a.value);
    }
  }
  return nullptr;
}

std::vector<int64_t> Converter::ints(const Attr& attr) {
  std::vector<int64_t> out;
  if (attr.kind == Attr::Kind::Array) {
    for (const Attr& item : attr.items) {
      if (item.kind == Attr::Kind::Array) {
        std::vector<int64_t> inner = ints(item);  // as deep as kMaxAttrDepth
        out.insert(out.end(), inner.begin(), inner.end());
      } else if (item.kind == Attr::Kind::Int || item.kind == Attr::Kind::Bool) {
        out.push_back(item.i);
      } else {
        parser_.fail(item.offset, "expected an integer");
      }
    }
  } else if (attr.kind == Attr::Kind::Dense && attr.type != kNone) {
    const hlo::Type& type = tree_.types[attr.type];
    int64_t count = 1;
    for (int64_t n : type.shape) count *= n;
    if (count > kMaxList) parser_.fail(attr.offset, fmt::format("a list of {} integers, expected at most {}", count, kMaxList));
    Dense dense = decode_dense(attr, type, tree_, parser_);
    if (!dense.known || (!ir::is_int(type.dtype) && type.dtype != ir::DType::Bool))
      parser_.fail(attr.offset, "expected a list of integers");
    for (const ir::Literal& v : dense.values) out.push_back(v.i);
    if (dense.splat) out.assign(static_cast<size_t>(count), out[0]);
  } else if (attr.kind == Attr::Kind::Int) {
    out.push_back(attr.i);
  } else {
    parser_.fail(attr.offset, "expected a list of integers such as [0, 1] or array<i64: 0, 1>");
  }
  return out;
}

std::vector<int64_t> Converter::get_ints(const Op& op, std::string_view name, std::string_view pretty) {
  const Attr* attr = get(op, name, pretty);
  return attr ? ints(*attr) : std::vector<int64_t>{};
}

std::vector<int64_t> Converter::need_ints(const Op& op, std::string_view name, std::string_view pretty) {
  const Attr* attr = get(op, name, pretty);
  if (!attr) fail(op, fmt::format("expected the attribute {}", name));
  return ints(*attr);
}

int64_t Converter::get_int(const Op& op, int64_t missing, std::string_view name, std::string_view pretty) {
  const Attr* attr = get(op, name, pretty);
  if (!attr) return missing;
  std::vector<int64_t> values = ints(*attr);
  if (values.size() != 1) fail(op, fmt::format("{}: expected one integer", name));
  return values[0];
}

int64_t Converter::need_int(const Op& op, std::string_view name, std::string_view pretty) {
  if (!get(op, name, pretty)) fail(op, fmt::format("expected the attribute {}", name));
  return get_int(op, 0, name, pretty);
}

// Present as a unit attribute, or = true.
bool Converter::get_bool(const Op& op, std::string_view name) {
  const Attr* attr = get(op, name);
  if (!attr) return false;
  if (attr->kind == Attr::Kind::Unit) return true;
  if (attr->kind != Attr::Kind::Bool && attr->kind != Attr::Kind::Int) fail(op, fmt::format("{}: expected true or false", name));
  return attr->i != 0;
}

std::string Converter::word(const Op& op, const Attr* attr) {
  if (!attr) return {};
  std::string_view text = attr->text;
  if (attr->kind == Attr::Kind::String) return attr->string;
  if (attr->kind == Attr::Kind::Opaque) {  // #stablehlo<comparison_direction GE>, #stablehlo.enum<GE>
    size_t close = text.rfind('>');
    size_t start = text.find_last_of(" <", close == std::string_view::npos ? close : close - 1);
    if (close == std::string_view::npos || start == std::string_view::npos || start + 1 >= close)
      fail(op, "expected a word such as #stablehlo<precision DEFAULT>");
    text = text.substr(start + 1, close - start - 1);
  } else if (attr->kind != Attr::Kind::Keyword && attr->kind != Attr::Kind::Bool) {
    fail(op, "expected a word such as DEFAULT");
  }
  return std::string(text);
}

std::string Converter::verbatim(const Attr& attr) const {
  if (attr.kind == Attr::Kind::Unit) return "true";
  if (attr.kind == Attr::Kind::String) return attr.string;
  if (attr.kind == Attr::Kind::Symbol) return "@" + attr.string;
  if (attr.kind == Attr::Kind::Keyword || attr.kind == Attr::Kind::Bool || attr.kind == Attr::Kind::Opaque) return std::string(attr.text);
  if (attr.kind == Attr::Kind::Dense || attr.kind == Attr::Kind::Resource) return "dense<" + std::string(attr.text) + ">";
  if (attr.end > attr.offset && attr.end <= text_.size()) return std::string(text_.substr(attr.offset, attr.end - attr.offset));
  return attr.kind == Attr::Kind::Int ? fmt::format("{}", attr.i) : "";
}

// dot_general, gather, scatter
void Converter::dimension_numbers(const Op& op, hlo::Instruction& i) {
  auto body = [&](std::string_view name) {
    const Attr* attr = get(op, name);
    if (!attr || attr->kind != Attr::Kind::Opaque) fail(op, fmt::format("expected the attribute {}", name));
    return parser_.parse_body(*attr);
  };
  auto list = [&](const Attr& dict, std::string_view key) {
    const Attr* attr = entry(dict, key);
    return attr ? ints(*attr) : std::vector<int64_t>{};
  };
  auto known = [&](const Attr& dict, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : dict.entries)
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fail(op, fmt::format("'{}' is not known among its dimension numbers", key), "SP241");
  };
  auto number = [&](const Attr& dict, std::string_view key) {
    std::vector<int64_t> v = list(dict, key);
    return v.empty() ? int64_t{0} : v[0];  // MLIR leaves a zero out
  };
  if (i.opcode == "dot") {
    if (op.name == "stablehlo.dot") return;
    if (op.find("dot_dimension_numbers")) {
      Attr dict = body("dot_dimension_numbers");
      known(dict, {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions"});
      i.lhs_batch = list(dict, "lhs_batching_dimensions");
      i.rhs_batch = list(dict, "rhs_batching_dimensions");
      i.lhs_contract = list(dict, "lhs_contracting_dimensions");
      i.rhs_contract = list(dict, "rhs_contracting_dimensions");
      return;
    }
    auto pair = [&](std::string_view name, std::vector<int64_t>* left, std::vector<int64_t>* right) {
      const Attr* attr = get(op, name);
      if (!attr) return;
      if (attr->kind != Attr::Kind::Array || attr->items.size() != 2 || attr->items[0].kind != Attr::Kind::Array)
        fail(op, fmt::format("{}: expected [..] x [..]", name));
      *left = ints(attr->items[0]);
      *right = ints(attr->items[1]);
    };
    pair("batching_dims", &i.lhs_batch, &i.rhs_batch);
    pair("contracting_dims", &i.lhs_contract, &i.rhs_contract);
  } else if (i.opcode == "gather" || i.opcode == "dynamic-gather") {
    Attr dict = body("dimension_numbers");
    known(dict, {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map",
                 "index_vector_dim"});
    i.offset_dims = list(dict, "offset_dims");
    i.collapsed_slice_dims = list(dict, "collapsed_slice_dims");
    i.operand_batching_dims = list(dict, "operand_batching_dims");
    i.start_indices_batching_dims = list(dict, "start_indices_batching_dims");
    i.start_index_map = list(dict, "start_index_map");
    i.index_vector_dim = number(dict, "index_vector_dim");
    i.slice_sizes = get_ints(op, "slice_sizes");
    i.indices_are_sorted = get_bool(op, "indices_are_sorted");
  } else {
    Attr dict = body("scatter_dimension_numbers");
    known(dict, {"update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
                 "scatter_dims_to_operand_dims", "index_vector_dim"});
    i.update_window_dims = list(dict, "update_window_dims");
    i.inserted_window_dims = list(dict, "inserted_window_dims");
    i.input_batching_dims = list(dict, "input_batching_dims");
    i.scatter_indices_batching_dims = list(dict, "scatter_indices_batching_dims");
    i.scatter_dims_to_operand_dims = list(dict, "scatter_dims_to_operand_dims");
    i.index_vector_dim = number(dict, "index_vector_dim");
    i.indices_are_sorted = get_bool(op, "indices_are_sorted");
    i.unique_indices = get_bool(op, "unique_indices");
  }
}

// Strides, dilations and padding of i.window, which has `rank` entries already.
void Converter::windows(const Op& op, hlo::Instruction& i, size_t rank, std::string_view strides, std::string_view base,
                        std::string_view dilation) {
  auto read = [&](const Attr* attr, std::string_view name, int64_t hlo::WindowDim::*field) {
    if (!attr) return;
    std::vector<int64_t> values = ints(*attr);
    if (values.empty() && rank > 0 && attr->kind == Attr::Kind::Array) return;
    if (values.size() != rank) fail(op, fmt::format("{}: {} values, expected {}", name, values.size(), rank));
    for (size_t k = 0; k < rank; ++k) i.window[k].*field = values[k];
  };
  auto pads = [&](const Attr* attr) {
    if (!attr) return;
    std::vector<int64_t> values = ints(*attr);
    if (values.empty()) return;
    if (values.size() != 2 * rank) fail(op, fmt::format("padding: {} values, expected {} pairs", values.size(), rank));
    for (size_t k = 0; k < rank; ++k) i.window[k].pad_low = values[2 * k], i.window[k].pad_high = values[2 * k + 1];
  };
  auto reversal = [&](const Attr* attr) {
    if (!attr) return;
    std::vector<int64_t> values = ints(*attr);
    if (values.empty()) return;
    if (values.size() != rank) fail(op, fmt::format("reversal: {} values, expected {}", values.size(), rank));
    for (size_t k = 0; k < rank; ++k) i.window[k].reversal = values[k] != 0;
  };
  read(get(op, strides), strides, &hlo::WindowDim::stride);
  read(get(op, base), base, &hlo::WindowDim::base_dilation);
  read(get(op, dilation), dilation, &hlo::WindowDim::window_dilation);
  pads(get(op, "padding"));
  reversal(get(op, "window_reversal"));
  if (const Attr* w = get(op, "window"); w && w->kind == Attr::Kind::Dict) {
    for (const auto& [key, value] : w->entries) {
      if (key == "stride")
        read(&value, key, &hlo::WindowDim::stride);
      else if (key == "lhs_dilate")
        read(&value, key, &hlo::WindowDim::base_dilation);
      else if (key == "rhs_dilate")
        read(&value, key, &hlo::WindowDim::window_dilation);
      else if (key == "pad")
        pads(&value);
      else if (key == "reverse")
        reversal(&value);
      else
        fail(op, fmt::format("window: '{}' is not known", key), "SP241");
    }
  }
}

void Converter::convolution(const Op& op, hlo::Instruction& i, const Builder& b) {
  i.feature_group_count = get_int(op, 1, "feature_group_count");
  i.batch_group_count = get_int(op, 1, "batch_group_count");
  const Attr* numbers = get(op, "dimension_numbers");
  if (!numbers) fail(op, "expected the attribute dim_numbers = [...]x[...]->[...]");
  std::string_view text = numbers->text;
  size_t open = text.find('[');
  size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || text.find("raw") < open)
    fail(op, "expected dim_numbers as [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "SP241");
  // [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]  ->  b01f_01io->b01f
  text = text.substr(open, close + 1 - open);
  std::string label;
  std::vector<std::string> parts;
  std::string part;
  size_t labels = 0, kernel_rank = 0;
  std::vector<std::pair<int64_t, size_t>> kernel_spatial;  // label, dimension of the kernel
  auto finish_label = [&] {
    if (label.empty()) return;
    if (label.size() != 1 ||
        (label[0] != 'b' && label[0] != 'f' && label[0] != 'i' && label[0] != 'o' && (label[0] < '0' || label[0] > '9')))
      fail(op, fmt::format("dimension label '{}': expected b, f, i, o or a digit", label), "SP241");
    if (parts.size() == 1 && label[0] >= '0' && label[0] <= '9') kernel_spatial.emplace_back(label[0] - '0', labels);
    part += label;
    ++labels;
    label.clear();
  };
  for (char c : text) {
    if (c == '[') {
      part.clear();
      labels = 0;
    } else if (c == ']') {
      finish_label();
      if (parts.size() == 1) kernel_rank = labels;
      parts.push_back(part);
    } else if (c == ',' || c == ' ') {
      finish_label();
    } else if (c != 'x' && c != '-' && c != '>') {
      label += c;
    }
  }
  if (parts.size() != 3) fail(op, "expected dim_numbers as [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]");
  i.dim_labels = parts[0] + "_" + parts[1] + "->" + parts[2];
  if (i.operands.size() != 2) fail(op, "expected two operands");
  const hlo::Type& kernel = b.type(i.operands[1]);
  if (kernel.shape.size() != kernel_rank)
    fail(op, fmt::format("the kernel has rank {}, expected {} as its dimension labels", kernel.shape.size(), kernel_rank));
  i.window.resize(kernel_spatial.size());
  std::vector<char> set(kernel_spatial.size(), 0);
  for (auto [spatial, dim] : kernel_spatial) {
    size_t k = static_cast<size_t>(spatial);
    if (k >= i.window.size() || set[k]) fail(op, "the spatial dimension labels of the kernel are not 0, 1, ...");
    set[k] = 1;
    i.window[k].size = kernel.shape[dim];
  }
  windows(op, i, i.window.size(), "window_strides", "lhs_dilation", "rhs_dilation");
}

void Converter::collective(const Op& op, hlo::Instruction& i) {
  if (const Attr* groups = get(op, "replica_groups")) i.replica_groups = replica_groups(op, *groups);
  if (const Attr* handle = get(op, "channel_handle"); handle && handle->kind == Attr::Kind::Opaque) {
    Attr dict = parser_.parse_body(*handle);
    if (const Attr* id = entry(dict, "handle")) i.channel_id = id->i;
    if (const Attr* type = entry(dict, "type")) i.other.emplace_back("channel_type", fmt::format("{}", type->i));
  } else if (handle) {
    fail(op, "channel_handle: expected #stablehlo.channel_handle<handle = 1, type = 0>");
  }
  if (get(op, "channel_id")) i.channel_id = get_int(op, 0, "channel_id");
  i.use_global_device_ids = get_bool(op, "use_global_device_ids");
  if (i.opcode == "all-gather") i.dimensions = {need_int(op, "all_gather_dim")};
  if (i.opcode == "reduce-scatter") i.dimensions = {need_int(op, "scatter_dimension")};
  if (i.opcode == "all-to-all") {
    i.dimensions = {need_int(op, "split_dimension")};
    int64_t concat = need_int(op, "concat_dimension");
    if (concat != i.dimensions[0]) i.concat_dimension = concat;
    i.split_count = need_int(op, "split_count");
  }
  if (i.opcode == "collective-permute") {
    std::vector<int64_t> pairs = need_ints(op, "source_target_pairs");
    if (pairs.size() % 2 != 0) fail(op, "source_target_pairs: expected pairs");
    for (size_t k = 0; k < pairs.size(); k += 2) i.source_target_pairs.emplace_back(pairs[k], pairs[k + 1]);
  }
}

void Converter::attributes(const Op& op, hlo::Instruction& i, const Builder& b) {
  const std::string& o = i.opcode;
  if (o == "broadcast") {
    if (op.name == "stablehlo.broadcast") {  // new dimensions first
      size_t added = need_ints(op, "broadcast_sizes", "sizes").size();
      if (i.operands.size() != 1) fail(op, "expected one operand");
      for (size_t k = 0; k < b.type(i.operands[0]).shape.size(); ++k) i.dimensions.push_back(static_cast<int64_t>(added + k));
    } else {
      i.dimensions = need_ints(op, "broadcast_dimensions", "dims");
    }
  } else if (o == "transpose") {
    i.dimensions = need_ints(op, "permutation", "dims");
  } else if (o == "reverse") {
    i.dimensions = need_ints(op, "dimensions", "dims");
  } else if (o == "reduce" || o == "map") {
    i.dimensions = need_ints(op, "dimensions");
  } else if (o == "iota") {
    i.dimensions = {need_int(op, "iota_dimension", "dim")};
  } else if (o == "concatenate" || o == "get-dimension-size" || o == "set-dimension-size") {
    i.dimensions = {need_int(op, "dimension", "dim")};
  } else if (o == "sort") {
    const Attr* dim = get(op, "dimension");
    int64_t d = dim ? get_int(op, -1, "dimension") : -1;  // the default is the last dimension
    if (d < 0 && !i.operands.empty()) d += static_cast<int64_t>(b.type(i.operands[0]).shape.size());
    i.dimensions = {d};
    i.is_stable = get_bool(op, "is_stable");
  } else if (o == "slice") {
    i.slice_start = need_ints(op, "start_indices");
    i.slice_limit = need_ints(op, "limit_indices");
    i.slice_stride = need_ints(op, "strides");
  } else if (o == "pad") {
    i.pad_low = need_ints(op, "edge_padding_low", "low");
    i.pad_high = need_ints(op, "edge_padding_high", "high");
    i.pad_interior = need_ints(op, "interior_padding", "interior");
  } else if (o == "dynamic-slice") {
    i.dynamic_slice_sizes = need_ints(op, "slice_sizes", "sizes");
  } else if (o == "dot" || o == "gather" || o == "dynamic-gather" || o == "scatter") {
    dimension_numbers(op, i);
    if (op.name == "stablehlo.dot") {  // last dimension with first
      if (i.operands.size() != 2 || b.type(i.operands[0]).shape.empty() || b.type(i.operands[1]).shape.empty())
        fail(op, "expected two operands of rank 1 or 2");
      i.lhs_contract = {static_cast<int64_t>(b.type(i.operands[0]).shape.size()) - 1};
      i.rhs_contract = {0};
    }
  } else if (o == "compare") {
    i.direction = word(op, get(op, "comparison_direction", "word0"));
    i.compare_type = word(op, get(op, "compare_type", "word1"));
    if (i.compare_type == "NOTYPE") i.compare_type.clear();
    if (i.direction.empty()) fail(op, "expected a direction: EQ, NE, LT, LE, GT or GE");
  } else if (o == "convolution") {
    convolution(op, i, b);
  } else if (o == "reduce-window") {
    std::vector<int64_t> sizes = need_ints(op, "window_dimensions");
    i.window.resize(sizes.size());
    for (size_t k = 0; k < sizes.size(); ++k) i.window[k].size = sizes[k];
    windows(op, i, sizes.size(), "window_strides", "base_dilations", "window_dilations");
  } else if (o == "select-and-scatter") {
    std::vector<int64_t> sizes = get_ints(op, "window_dimensions");
    if (sizes.empty() && !i.operands.empty()) sizes.assign(b.type(i.operands[0]).shape.size(), 1);
    i.window.resize(sizes.size());
    for (size_t k = 0; k < sizes.size(); ++k) i.window[k].size = sizes[k];
    windows(op, i, sizes.size(), "window_strides", "base_dilations", "window_dilations");
  } else if (o == "all-reduce" || o == "all-gather" || o == "reduce-scatter" || o == "all-to-all" || o == "collective-permute" ||
             o == "collective-broadcast") {
    collective(op, i);
  } else if (o == "send" || o == "recv") {
    collective(op, i);
  } else if (o == "get-tuple-element") {
    i.tuple_index = need_int(op, "index");
  } else if (o == "reduce-precision") {
    if (const Attr* format = get(op, "format")) {  // e8m10
      std::string text(format->text);
      size_t m = text.find('m');
      int64_t* field = nullptr;
      for (size_t k = 0; k < text.size(); ++k) {
        if (text[k] == 'e')
          field = &i.exponent_bits;
        else if (k == m)
          field = &i.mantissa_bits;
        else if (text[k] >= '0' && text[k] <= '9' && field && *field < 1000)
          *field = *field * 10 + (text[k] - '0');
        else
          fail(op, "format: expected e<bits>m<bits>");
      }
    } else {
      i.exponent_bits = need_int(op, "exponent_bits");
      i.mantissa_bits = need_int(op, "mantissa_bits");
    }
  } else if (o == "rng") {
    i.distribution = "rng_" + lower(word(op, get(op, "rng_distribution", "distribution")));
    if (i.operands.size() == 3) i.operands.pop_back();  // the shape, which the type says
  } else if (o == "rng-bit-generator") {
    i.algorithm = "rng_" + lower(word(op, get(op, "rng_algorithm", "algorithm")));
  } else if (o == "cholesky") {
    i.transpose_a = get_bool(op, "lower") ? "lower=true" : "lower=false";
  } else if (o == "triangular-solve") {
    std::string transpose = word(op, get(op, "transpose_a"));
    bool left = get_bool(op, "left_side"), low = get_bool(op, "lower"), unit = get_bool(op, "unit_diagonal");
    i.transpose_a = fmt::format("left_side={}, lower={}, unit_diagonal={}, transpose_a={}", left, low, unit, transpose);
  } else if (op.name == "chlo.top_k") {
    i.other.emplace_back("k", fmt::format("{}", need_int(op, "k")));
    i.other.emplace_back("largest", "true");
  }
  static const std::unordered_set<std::string_view> skip = {"callee",        "decomposition", "call_target_name",   "sdy.sharding",
                                                            "mhlo.sharding", "sharding",      "called_computations"};
  for (const NamedAttr& a : op.attrs)
    if (!used_.count(a.name) && !skip.count(a.name)) i.other.emplace_back(a.name, verbatim(a.value));
  std::sort(i.other.begin(), i.other.end());
}

}  // namespace shardproof::stablehlo
