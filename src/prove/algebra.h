// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The algebra of polys: interning of nodes in canonical form and the directed rules (docs/lemmas.md gives each rule its number,
// statement and side condition; the code cites them as L-n).
//
// Canonical form of a node (canonical.cpp): from its definition over the variables of some context, take every affine row of every
// access; variables that occur only in one combination become one variable (L-1), each variable is shifted and scaled so that it
// covers the largest range on which all accesses are in bounds (L-2), unused variables are dropped, the rest sorted by how they are
// used. So f(x[b, s + 8]) on one rank and f(X[i]) on a whole tensor are one node, read at different places. This is what
// makes "the operator commutes with cutting" no lemma at all.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "prove/coverage.h"
#include "prove/term.h"

namespace shardproof::prove {

struct Cell;

struct Node {
  Kind kind = Kind::Base;
  ir::Fn fn = ir::Fn::None;
  ir::DType dtype = ir::DType::F32;
  std::vector<uint32_t> classes;  // per dimension: which dimensions are walked together somewhere (see canonical.cpp)
  Ext dims;                       // own variables; kUnbounded where no access bounds one
  std::vector<Poly> args;
  std::vector<int64_t> box;                               // Red: lo, hi of each bound variable
  uint32_t kernel = 0;                                    // Red: equal for equal bodies whatever the box. Bracket: equal for equal e
  int64_t lo = 0, hi = 0;                                 // Bracket
  std::vector<Ext> inner;                                 // Take, Whole: extents of the inner variables of each argument
  std::string name;                                       // Base, Lit, Whole
  std::shared_ptr<const std::vector<ir::Literal>> dense;  // Base made of a dense table
  std::shared_ptr<const std::vector<Cell>> cells;         // Grid
  Known known;
  std::optional<int64_t> not_all;  // Base: some element is another number
  bool kept = false;               // Sum: a name that is not read as what it names (L-44)
  bool hits = false;  // the sequential program reads (or writes) all of it strictly: its indices are in range wherever it is defined
  struct Place {
    Ext ext;                   // of the variables
    std::vector<int64_t> map;  // one row for each dimension, over them
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> met;     // or these places of it only
  bool indexed = false;       // a Take, or a function or name with one inside
  bool masked_index = false;  // likewise, a Take whose index is more than inputs and positions, or that may leave its range
  bool padded = false;        // a padded reading (padded.cpp), or a function, name or sum with one inside
  bool ties = false;          // a sum or maximum over masks of positions and others, or with one inside: known_as_read
  bool positional = false;    // depends on index forms: what is known of it depends on where it is read
  Ext bound;                  // Red: how far each bound variable could run with all accesses in bounds
  Ext result;                 // Whole: dimensions of the result, after the parallel ones in dims
  int num_bound() const { return static_cast<int>(box.size() / 2); }
};

// Affine substitution: old variable j = rows[j] over the new context.
struct Sub {
  int width = 1;  // number of new variables + 1
  std::vector<Row> rows;
  static Sub identity(int n);
};

class Algebra {
 public:
  Algebra();

  const Node& node(Nid id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  Nid iota() const { return 0; }
  Nid inf() const { return 1; }

  // --- nodes
  Nid add_base(Node node);                            // a fresh unknown
  Nid named_node(const std::string& key, Node node);  // one per key
  Nid literal_real(double value);                     // a literal taken as it is
  Nid surd(int64_t squarefree);                       // sqrt(n)
  // Interns `spec`, whose args are over ctx (then bound, then inner variables); the factor reads it in ctx.
  Factor intern(Node spec, const Ext& ctx);

  // --- polys. All canonical; ctx = extents of the variables.
  static Poly constant(const Rat& c);
  Poly index(const Row& row, const Ext& ctx);  // the integer value of an affine form
  Poly access(Nid id, std::vector<int64_t> map, const Ext& ctx);
  Poly add(Poly a, const Poly& b, const Ext& ctx, bool tried = true);  // tried: the terms of a, and those of b, have met each other
  Poly sum(std::vector<Poly> parts, const Ext& ctx);
  Poly scale(Poly a, const Rat& c);
  Poly mul(const Poly& a, const Poly& b, const Ext& ctx);
  Poly product(const Poly& a, const Poly& b, const Ext& ctx);  // as a program writes it: a mask of 0 hides nothing
  // The product of what factors have become, and a rest. Factors that were no brackets hide nothing of one another (see times_value).
  Poly product_of(Poly rest, const std::vector<Factor>& from, const std::vector<Poly>& to, const Ext& ctx);
  // rest times a value that was one factor: brackets that it shows only now hide nothing of rest.
  Poly times_value(const Poly& rest, const Poly& value, const Ext& ctx);
  Poly pow(const Poly& a, const Rat& e, const Ext& ctx);
  Poly apply(ir::Fn fn, const std::vector<Poly>& args, ir::DType from, ir::DType to, const Ext& ctx);
  Poly bracket(const Poly& e, int64_t lo, int64_t hi, const Ext& ctx);  // [lo <= e < hi]
  Poly compare(ir::Fn fn, const Poly& a, const Poly& b, bool integer, const Ext& ctx);
  Poly select(const Poly& c, const Poly& a, const Poly& b, const Ext& ctx);
  // Sum, max ... over the last `bound` variables of ctx (their ranges start at 0). Result over the others.
  Poly reduce(ir::Fn fn, const Poly& a, const Ext& ctx, int bound);
  // x where the truth value c holds, else 0, whatever x is there.
  Poly where(const Poly& c, const Poly& x, const Ext& ctx);
  // The last variable of ctx_u (extent n) replaced by the integer poly e over ctx. Outside of [0, n) the value is undefined, or Wrap counts
  // from the end. Stops: the sequential program ends where e is out of range.
  enum class Outside : uint8_t { Undefined, Stops, Wraps, WrapsOrStops };
  Poly take(const Poly& data, const Ext& ctx_u, const Poly& e, const Ext& ctx, Outside outside = Outside::Undefined);
  void met(const Factor& f, const Ext& ctx);           // the sequential program reads f strictly, for all of ctx
  bool is_met(const Factor& f, const Ext& ctx) const;  // then the sequential program stops where f is out of range
  // The same where the caller multiplies with a bracket that keeps e in range.
  Poly reindex_trusted(const Poly& data, const Ext& ctx_u, const Poly& e, const Ext& ctx) { return reindex(data, ctx_u, e, ctx); }
  // p, which reads variable v from 0 to n - 1, padded with zeros: now v starts at -low (L-40). nullopt: a diagonal.
  std::optional<Poly> padded(const Poly& p, const Ext& ctx, size_t v, int64_t low, int64_t n);
  Poly subst(const Poly& p, const Sub& sub, const Ext& to);
  bool stays_canonical(const Poly& p, const Sub& sub, const Ext& to) const;
  Poly simplify(const Poly& p, const Ext& ctx);  // again in a smaller context: brackets decided, pieces joined
  Poly argument(const Factor& f, size_t arg, const Ext& ctx) { return arg_at(nodes_[f.node], f, arg, ctx); }
  Poly expand_named(const Factor& factor, const Ext& ctx);  // definition of a Sum factor, in ctx

  // p as one term: a poly of several terms gets a name (L-3).
  Term as_term(const Poly& p, const Ext& ctx, bool clear_denominators = false, bool kept = false);
  // A long sum of the sequential program named, or such names found in one of a rank's (L-44).
  Poly shorten(Poly p, const Ext& ctx);
  // f x + f y = f (x + y) where the sequential program has the name x + y (L-51).
  std::optional<Poly> group_names(const Poly& p, const Ext& ctx);
  // c m/D - c m/D R/T = c m/T, where D + R = T (L-57).
  std::optional<Poly> join_weights(const Term& common, const std::vector<Factor>& weight, const Ext& ctx);
  Poly merge_parts(Poly p, const Ext& ctx);                                // a sum of normalised parts, their weights multiplied out (L-57)
  bool opens(const Term& rest, const Factor& name, const Ext& ctx) const;  // rest may be multiplied into what the name stands for
  uint64_t pair_key(const Term& x, const Term& y) const;                   // of two terms, wherever they are read
  Poly lengthen(const Poly& p, const Ext& ctx);                            // names, also kept ones, read as what they name, once

  std::optional<Rat> as_constant(const Poly& p) const;
  // Nothing but fn of something: no rule wrote it as anything else.
  bool is_function(const Poly& p, ir::Fn fn) const {
    return p.size() == 1 && p[0].coef.is_one() && p[0].f.size() == 1 && p[0].f[0].exp.is_one() && nodes_[p[0].f[0].node].kind == Kind::Fn &&
           nodes_[p[0].f[0].node].fn == fn;
  }
  Known known(const Poly& p, const Ext& ctx, int depth = 0) const;
  Known known(const Term& t, const Ext& ctx, int depth = 0) const;
  Known known(const Factor& f, const Ext& ctx, int depth = 0) const;
  Known known_in_range(const Factor& f, const Ext& ctx, int depth) const;
  Known known_as_read(const Factor& f, const Ext& ctx, Known k, int depth) const;
  std::pair<int64_t, int64_t> range(const Poly& p, const Ext& ctx) const;  // bounds of an integer poly
  // The same by cases of the brackets in p (masked indices).
  std::pair<int64_t, int64_t> range_by_cases(const Poly& p, const Ext& ctx, std::vector<Factor> guards = {}, int depth = 0);
  // where_defined: only where a is defined (a is the sequential side).
  bool equal(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined = false);
  Poly pull_divisors(const Poly& p, const std::vector<Factor>& divisors, const Ext& ctx);
  // The same, with names of one side read as what they name.
  bool equal_opened(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined = false);
  // The same, with nested sums opened, too (L-65): much work where the two are not equal.
  bool thorough = false;
  bool equal_flat(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined = false);
  bool has_angle() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const Node& n) { return n.kind == Kind::Fn && (n.fn == ir::Fn::Sin || n.fn == ir::Fn::Cos); });
  }
  bool by_angle = false;  // products of sines and cosines are sums of them (L-94)
  bool by_order = false;  // sorts are read by their order (order.cpp), and sums over what they pick are sums over the picks
  // Scalars of the sequential program: where one of them is undefined, nothing is asked of what is compared now (L-75).
  std::vector<Poly> losses;
  bool losses_used = false;
  bool finite_with_losses(const Term& t, const Ext& ctx, int depth);

  std::string str(const Poly& p) const;
  std::string str(const Factor& f) const;
  Nid sequential_nodes = 0;  // nodes of the sequential program: ids below this, once its structure is known
  bool sequential(Nid id) const { return !structure_known || id < sequential_nodes; }
  uint32_t sequential_kernels = 0;  // bodies of sums that the sequential program has: numbers below this
  // Was a form of the sequential program made before the program showed that other forms belong to it (L-47)?
  bool premature();
  void end_of_sequential();
  void forget_names() { long_sums_.clear(), pairs_.clear(); }  // of the sequential program, which is evaluated again
  bool structure_known = false;  // the sequential program is done: dimensions that it never walked together stay apart
  // Something was concluded from where the context's variables run (a sign, a bound, a bracket that is decided, a place that is in bounds):
  // whoever wants to know clears it first (shift_memo.h). What does not set it holds wherever the same forms are read.
  mutable bool ranged = false;
  double deadline = 0;        // of util::WorkClock, in seconds; 0: none
  uint64_t applications = 0;  // of rules, for statistics
  uint64_t interned_hits = 0;
  void check_time(uint64_t count) const;  // throws Overflow("time limit") behind the deadline; looks at the clock for some counts only

 private:
  friend class Canonicalizer;
  struct KeyHash {
    size_t operator()(const std::vector<int64_t>& key) const;
  };
  static Poly take_guards(Poly& p);
  Poly hide_guards(const Poly& guards, const Poly& other, const Ext& ctx);
  std::optional<Poly> open_select(const Term& t, const Ext& ctx);
  Poly make_term(Term t, const Ext& ctx);         // canonical poly of one product
  bool combine_factors(Term& t, const Ext& ctx);  // false: the term is 0
  std::optional<Poly> try_join(const Term& x, const Term& y, const Ext& ctx);
  bool sum_of_product(Nid id) const {
    const Node& n = nodes_[id];
    return n.kind == Kind::Red && n.fn == ir::Fn::Add && n.args[0].size() == 1;
  }
  bool made_alike(const std::vector<Factor>& body, const std::vector<Factor>& rest) const;
  Poly slice_of(const Factor& red, const Term& body, const Ext& ext, const Ext& ctx, int k, int64_t at, int64_t width);
  std::unordered_map<std::vector<int64_t>, std::pair<Poly, bool>, KeyHash> slices_;  // what it gave, and whether that was ranged
  std::optional<Poly> extend_red(const Term& common, const Factor& red, const std::vector<Factor>& rest, const Ext& ctx);
  std::optional<Poly> roll_sums(const Term& common, const Factor& x, const Factor& y, const Ext& ctx);
  std::optional<Poly> join_windows(const Term& common, const Factor& x, const Factor& y, const Ext& ctx);
  std::optional<Poly> join_bodies(const Term& common, const Factor& x, const Factor& y, const Ext& ctx);
  std::optional<Poly> roll_pair(const Term& common, const std::vector<Factor>& x, const std::vector<Factor>& y, const Ext& ctx);
  std::pair<Term, Ext> open_red(const Factor& red, const Ext& ctx) const;  // body over ctx + bound variables (ranges from 0)
  // The sum at `at`, once, opened in the product t: over ext and the sum's variables. Its factors are not sorted.
  std::pair<Term, Ext> open_in(const Term& t, size_t at, const Ext& ext) const;
  Poly arg_at(const Node& n, const Factor& f, size_t arg, const Ext& ctx);  // an argument of a factor's node, in ctx
  bool decide(const Poly& e, int64_t lo, int64_t hi, const Ext& ctx, bool& value) const;
  std::optional<Poly> bracket_of(const Poly& p, int64_t lo, int64_t hi, const Ext& ctx);
  std::optional<Poly> divided_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx);
  Poly under(const Poly& e, const std::vector<Factor>& guards, const Ext& ctx, bool& changed);
  Poly unclamp(const Poly& e, const std::vector<Factor>& guards, const Ext& ctx, bool& changed, int depth);
  Poly rewrite_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx, bool& changed, int depth);
  bool simplify_brackets(Term& t, const Ext& ctx);  // false: the term is 0
  // L-10 .. L-13: pieces of ranges. from: of each term, 0 or 1 for a sum whose terms have been tried with each other, 2 for none.
  void join(Poly& p, const Ext& ctx, const std::vector<char>* from = nullptr);
  bool join_brackets(Poly& p, const Ext& ctx);
  bool join_halves(Poly& p, const Ext& ctx);                                         // L-95
  std::optional<Poly> join_functions(const Term& x, const Term& y, const Ext& ctx);  // L-103, L-105
  bool centre_squares(Poly& p, const Ext& ctx);                                      // L-41
  std::optional<Poly> join_named(const Term& common, const Rat& c, const Factor& r, const Rat& d, const std::vector<Factor>& rest,
                                 const Ext& ctx);
  std::optional<Factor> unpadded(const Factor& f, const Ext& ctx);
  std::optional<Poly> settle_padded(const Factor& red, const Ext& ctx);
  void collect_iota(Poly& p, const Ext& ctx);
  // What becomes of bound variables that one factor alone uses: summed inside of it if it is a sum (L-36), also if it is the name of one,
  // or not.
  enum class Inner : uint8_t { Sums, Names, Flat };
  Poly reduce_term(const Term& t, const Ext& ctx, int bound, Inner inner = Inner::Sums);
  Poly distribute(const Term& rest, const Poly& sum, const Ext& ctx);
  std::optional<Poly> sum_angles(const Term& t, const Ext& ctx);
  std::optional<Poly> reduce_picks(const Term& t, const Ext& ctx, int bound, Inner inner);
  Poly as_window(Poly half, const Ext& ctx, int64_t asked = 0);  // L-54; of this width only
  std::optional<Poly> count_below(const Poly& e, int64_t lo, int64_t hi, const Ext& ctx, int64_t n);
  Poly settle(const Term& body, const Ext& ext, int bound);
  bool sequential_form(const Poly& p) const;  // one product, and all sums in it have bodies that the sequential program has
  std::optional<Poly> exchange(const Term& body, const Ext& ext, int bound);  // L-50
  struct During {                                                             // raises a flag while it lives, also where a limit throws
    bool& flag;
    explicit During(bool& f) : flag(f) { flag = true; }
    During(const During&) = delete;
    During& operator=(const During&) = delete;
    ~During() { flag = false; }
  };
  bool exchanging_ = false;
  // --- nested sums opened (open.cpp)
  bool flat_ = false;         // sums stay flat and names opened
  bool written_out_ = false;  // elements are not rolled into sums
  bool equal_inside(const Poly& a, const Poly& b, const Ext& ctx, int depth);
  bool equal_opening(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined);
  bool equal_levels(Poly x, Poly y, const Ext& ctx, bool where_defined, int levels);
  bool equal_everywhere(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined);
  std::optional<Poly> write_out(const Poly& p, const Ext& ctx);
  int64_t cut_of(const Term& t, const Ext& ext, size_t v);
  std::optional<Poly> cut_sums(const Poly& p, const Ext& ctx);
  // What second looks may cost. Each gets a share of what is left: what is hopeless takes little from the others.
  struct Budget {
    uint64_t openings = 0, work = 0;
    int64_t ticks = 0;
  };
  Budget left_, limit_;
  uint64_t openings_ = 0;  // of this comparison
  bool budget_known_ = false;
  bool spent() const;
  std::vector<uint32_t> depths_;
  uint32_t depth_of(Nid id);
  bool is_sum(const Factor& f) const;
  uint32_t next_level(const Poly& p, uint32_t limit);
  std::optional<Poly> open_level(const Poly& p, uint32_t level, const Ext& ctx);
  // --- products by the cases of their factors (cases.cpp)
  struct Truth {
    Factor b;
    Rat value;
  };
  struct Facts {
    std::vector<Truth> truths;
    std::vector<Factor> divisors;  // finite and not 0
  };
  std::unordered_map<Nid, std::vector<char>> mentions_;
  bool mentions(Nid id, Nid what);
  bool touches(const Factor& f, const Facts& facts);
  std::optional<Truth> truth_of(const Factor& f, const Ext& ctx);
  int sign_of(const Factor& f, const Ext& ctx);
  std::optional<Poly> compare_signs(ir::Fn fn, const Poly& y, const std::vector<Factor>& divisors, const Ext& ctx);
  Poly given(const Factor& f, const Facts& facts, const Ext& ctx, bool& changed, int depth);
  Poly poly_given(const Poly& p, const Facts& facts, const Ext& ctx, bool& changed, int depth);
  Poly product_given(const Term& t, const Facts& facts, const Ext& ctx, bool& changed, int depth);
  Poly by_cases(const Poly& p, const Ext& ctx);
  Poly take_again(const Factor& f, const Poly& e, const Poly& data, const Ext& wide, const Ext& ctx);
  std::unordered_map<std::vector<int64_t>, Poly, KeyHash> made_here_;
  Poly made_here(const Factor& f, const Ext& ctx, bool& changed, int depth);
  Poly made_here(const Poly& p, const Ext& ctx);
  bool vanishes(const Term& t, const Ext& ctx);
  Factor widen(Factor red, const Ext& ctx);  // L-27: the box grows where brackets make the summand 0
  Poly reduce_extreme(ir::Fn fn, const Poly& a, const Ext& ctx, int bound);
  Poly exp(const Poly& a, const Ext& ctx);
  Poly log(const Poly& a, const Ext& ctx);
  std::optional<Poly> some_of(const std::vector<Poly>& parts, const Ext& ctx);  // L-96
  std::optional<Poly> compare_counts(ir::Fn fn, const Poly& x, const Ext& ctx);
  Poly extreme(ir::Fn fn, const std::vector<Poly>& args, const Ext& ctx);
  void roll_extremes(std::vector<Poly>& parts, const Ext& ctx);
  Poly int_divide(ir::Fn fn, const Poly& a, const Poly& b, const Ext& ctx);
  Poly make_fn(ir::Fn fn, std::vector<Poly> args, const Ext& ctx, ir::DType from, ir::DType to);
  Known compute_known(const Node& n, int depth = 0) const;
  Poly apply_again(const Node& n, const std::vector<Poly>& args, const Ext& ctx);  // a scalar function over other arguments
  std::optional<Poly> sorted_operand(const Factor& f, size_t operand, const Ext& ctx);
  std::optional<Poly> keys_of_order(const Factor& f, const Ext& ctx);
  std::optional<Poly> taken_by_order(const Term& data, const Poly& at, const Ext& ctx);
  bool concerns(Nid guard, Nid node);
  std::unordered_map<uint64_t, bool> concerns_;  // (guard, node) -> it does
  std::optional<Poly> sum_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx, int depth);
  std::unordered_map<std::vector<int64_t>, std::optional<Poly>, KeyHash> sum_under_;  // (sum, guards, context) -> what it is there
  std::optional<Poly> sorted_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx);
  Poly inner_data(const Factor& f, size_t arg, const Ext& ctx);  // over ctx and the one inner variable
  std::optional<Row> affine_row(const Poly& p, const Ext& ctx) const;
  Poly take_factor(const Factor& f, const Ext& ctx_u, const Poly& e, const Ext& ctx);
  Poly reindex(const Poly& p, const Ext& from, const Poly& e, const Ext& ctx);
  bool fixed_extreme(const Node& n, int depth) const;
  bool meets_itself(const Factor& f, const Ext& ctx, int depth) const;
  mutable std::unordered_map<std::vector<int64_t>, bool, KeyHash> meets_;  // (node, rows, ranges of the context) -> it does
  bool writes_inside(const Node& n) const;
  bool holds_somewhere(const Factor& bracket, const Ext& ctx, size_t free);
  bool may_hide(const Term& flat, const Ext& wide, size_t free);
  bool masked(const Poly& p) const;   // every term has a bracket
  bool selects(const Term& t) const;  // brackets, and nothing else
  bool finite_without(const Term& t, size_t factor, const Ext& ctx) const;
  bool counts_some(const Node& n) const;
  bool finite_where(const Node& select, size_t branch) const;

  bool names(const Factor& f) const { return nodes_[f.node].kind == Kind::Sum && !nodes_[f.node].kept; }  // a name read as what it names

  using Parts = std::vector<std::pair<Nid, Rat>>;
  struct LongSum {
    Nid name;
    std::vector<Parts> summands;
  };
  std::unordered_set<uint64_t> pairs_;  // keys of the sequential program's names of two terms
  Parts parts_of(const Term& t) const;
  std::unordered_map<Nid, std::vector<LongSum>> long_sums_;  // by the newest node in them
  std::deque<Node> nodes_;                                   // references stay good while nodes are added
  std::unordered_map<std::vector<int64_t>, Nid, KeyHash> table_;
  std::unordered_map<std::vector<int64_t>, uint32_t, KeyHash> kernels_;
  std::unordered_map<std::string, Nid> named_;
  // Classes of dimensions: union-find; steps of mixed rows have classes of their own.
  std::vector<uint32_t> class_parent_;
  std::unordered_map<uint64_t, uint32_t> step_class_;
  struct Steps {
    std::vector<int64_t> free, bound;  // of free parts; of bound variables above the smallest
  };
  struct InnerSteps {
    int64_t step = 0;        // of free parts beside inner variables
    bool constants = false;  // a constant stood there before any free part
  };
  std::unordered_map<uint64_t, InnerSteps> inner_steps_;  // by (node, row)
  std::unordered_map<uint64_t, Steps> steps_;             // (node, row) -> steps in which mixed rows walk it
  std::vector<std::pair<uint32_t, uint32_t>>
      kept_apart_;                        // classes of equal constants that the sequential program had not walked together by then
  std::set<int64_t> window_widths_;       // of the sequential program's brackets of positions
  std::set<std::pair<Nid, int>> chosen_;  // brackets by which it chooses, and which choice is infinite: 1, 2, or 0 for none
  bool infinite(const Poly& p) const { return p.size() == 1 && p[0].f.size() == 1 && p[0].f[0].node == inf(); }
  std::set<Nid> half_lines_;  // brackets with one bound that its functions and sums are made of
  bool steps_grew_ = false;   // a dimension that was walked in steps is walked in other steps, too
  uint32_t class_of(Nid id, size_t dim);
  uint32_t class_root(uint32_t c);
  void class_join(uint32_t a, uint32_t b);
  bool ties_masks(const Node& n) const;
  mutable std::unordered_map<std::vector<int64_t>, Known, KeyHash> as_read_;  // (node, ranges of what it reads, rows) -> known
  mutable std::unordered_map<std::vector<int64_t>, Known, KeyHash> known_;    // (node, ranges of its variables) -> known
};

// Order of factors and terms; used everywhere, so that equal polys are equal vectors.
int compare(const Factor& a, const Factor& b);
inline bool before(const Factor& a, const Factor& b) { return compare(a, b) < 0; }
int compare(const Term& a, const Term& b);  // monomials only, not coefficients
bool same_monomial(const Term& a, const Term& b);
// The terms that only one of two polys has; and those of both, if asked for.
void tell_apart(const Poly& a, const Poly& b, Poly& left, Poly& right, Poly* same = nullptr);

// Which of its results a node is, if it is one of a sort ("sort:descending:which" and the layout of digits); else -1.
inline int result_of_sort(const Node& n) {
  if (n.kind != Kind::Whole || !n.name.starts_with("sort:")) return -1;
  return std::atoi(n.name.c_str() + n.name.find(':', 5) + 1);
}

inline int64_t row_const(const Factor& f, size_t row, int width) { return f.map[row * width + width - 1]; }

}  // namespace shardproof::prove
