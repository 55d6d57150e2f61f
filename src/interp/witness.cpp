#include "interp/falsify.h"
namespace shardproof::interp {
std::string write_witness(const link::Problem&, const Refutation&, const std::optional<Blame>&) { return {}; }
}
