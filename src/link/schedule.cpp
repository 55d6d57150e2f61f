// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "link/schedule.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "util/result.h"

namespace shardproof::link {

namespace {

std::string shape_text(const ir::Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

std::string describe(const CommOp& op) {
  const ir::Node& n = *op.op;
  std::string what(ir::name(n.op));
  if (n.op == ir::Op::AllReduce || n.op == ir::Op::ReduceScatter) what += n.a[0] ? " of averages" : fmt::format(" ({})", ir::name(n.fn));
  const ir::Node& data = op.data ? *op.data : n;
  what += fmt::format(" of {}{}", ir::name(data.dtype), shape_text(data.shape));
  if (!n.label.empty()) what += fmt::format(" `{}`", n.label);
  return what;
}

// "" if two members' operations agree, else in what they differ.
std::string disagreement(const CommOp& x, const CommOp& y) {
  const ir::Node &a = *x.op, &b = *y.op;
  if (a.op != b.op) return "the operator";
  if (x.data->dtype != y.data->dtype) return "the element type";
  if (a.op == ir::Op::AllToAll) {
    if (a.a != b.a || a.b.empty() != b.b.empty()) return "the dimensions";
    ir::Shape p = x.data->shape, q = y.data->shape;
    if (!a.b.empty() && p.size() == q.size() && a.a[0] < static_cast<int64_t>(p.size()))
      p[static_cast<size_t>(a.a[0])] = q[static_cast<size_t>(a.a[0])] = 0;
    return p == q ? "" : "the shape";
  }
  if (x.data->shape != y.data->shape) return "the shape";
  if (a.fn != b.fn) return "the reduction";
  if ((a.op == ir::Op::AllReduce || a.op == ir::Op::ReduceScatter) && a.a[0] != b.a[0]) return "the reduction";
  if (a.a != b.a) return a.op == ir::Op::BroadcastFrom ? "the source" : "the dimension";
  if (a.b != b.b) return "the pairs";
  if (a.shape != b.shape) return "the shape";
  return "";
}

class Simulator {
 public:
  Simulator(const std::vector<std::vector<CommOp>>& ops, const std::vector<Communicator>& comms, bool buffered)
      : ops_(ops), comms_(comms), buffered_(buffered), next_(ops.size(), 0), posted_(comms.size()), done_(ops.size()), open_(ops.size()) {
    out_.failed.resize(ops.size());
    for (size_t r = 0; r < ops.size(); ++r) {
      done_[r].assign(ops[r].size(), 0);
      out_.failed[r].assign(ops[r].size(), 0);
    }
  }

  Schedule run() {
    for (;;) {
      bool moved = true;
      while (moved) {
        moved = false;
        for (size_t r = 0; r < ops_.size(); ++r) moved |= advance(r);
      }
      bool finished = true;
      for (size_t r = 0; r < ops_.size(); ++r) finished &= next_[r] == ops_[r].size() && open_[r].empty();
      if (finished) return std::move(out_);
      give_up();
      if (!buffered_) return std::move(out_);  // only asked whether it completes
    }
  }

 private:
  struct Slot {
    std::vector<Event::Place> places;
    size_t count = 0;
    bool broken = false;
  };
  using Channel = std::tuple<int, int, int64_t>;  // source, target, tag

  // Issues operations of rank r as far as possible.
  bool advance(size_t r) {
    bool moved = false;
    for (;;) {
      size_t index = next_[r];
      // Nothing is issued while something that must be complete by now is open.
      std::vector<size_t>& open = open_[r];
      open.erase(std::remove_if(open.begin(), open.end(), [&](size_t k) { return done_[r][k]; }), open.end());
      bool blocked = std::any_of(open.begin(), open.end(), [&](size_t k) { return ops_[r][k].wait_before <= index; });
      if (index == ops_[r].size() || blocked) return moved;
      issue(r, index);
      ++next_[r];
      open.push_back(index);
      moved = true;
    }
  }

  void issue(size_t r, size_t index) {
    const CommOp& op = ops_[r][index];
    Event::Place place{static_cast<int>(r), index};
    if (op.kind == CommOp::Kind::Collective) {
      Posted& posted = posted_[static_cast<size_t>(op.comm)];
      const Communicator& comm = comms_[static_cast<size_t>(op.comm)];
      if (posted.counts.empty()) posted.counts.assign(comm.members.size(), 0);
      size_t k = posted.counts[static_cast<size_t>(op.member)]++;
      while (posted.slots.size() <= k) posted.slots.push_back({std::vector<Event::Place>(comm.members.size(), {-1, 0}), 0, false});
      Slot& slot = posted.slots[k];
      slot.places[static_cast<size_t>(op.member)] = place;
      ++slot.count;
      if (slot.broken)
        fail(place);
      else if (slot.count == comm.members.size())
        finish(slot, comm);
      return;
    }
    Channel channel =
        op.kind == CommOp::Kind::Send ? Channel{static_cast<int>(r), op.peer, op.tag} : Channel{op.peer, static_cast<int>(r), op.tag};
    auto& [sends, receives] = channels_[channel];
    if (op.kind == CommOp::Kind::Send) {
      if (buffered_) done_[r][index] = 1;
      sends.push_back(place);
    } else {
      receives.push_back(place);
    }
    while (!sends.empty() && !receives.empty()) {
      Event::Place from = sends.front(), to = receives.front();
      sends.pop_front();
      receives.pop_front();
      done_[static_cast<size_t>(from.rank)][from.index] = done_[static_cast<size_t>(to.rank)][to.index] = 1;
      if (out_.failed[static_cast<size_t>(to.rank)][to.index]) continue;
      const CommOp &s = at(from), &t = at(to);
      if (s.data->shape != t.op->shape || s.data->dtype != t.op->dtype) {
        fault("mismatched-collective",
              fmt::format("rank {} sends {}, but rank {} receives {}{}", from.rank, describe(s), to.rank, ir::name(t.op->dtype),
                          shape_text(t.op->shape)),
              {from, to});
        fail(to);
      } else {
        out_.events.push_back({{from, to}});
      }
    }
  }

  const CommOp& at(Event::Place p) const { return ops_[static_cast<size_t>(p.rank)][p.index]; }
  void fail(Event::Place p) {
    out_.failed[static_cast<size_t>(p.rank)][p.index] = 1;
    done_[static_cast<size_t>(p.rank)][p.index] = 1;
  }
  // Only the first fault is told: what follows it is its consequence more often than not.
  void fault(std::string kind, std::string explanation, std::vector<Event::Place> sites) {
    if (out_.faults.empty()) out_.faults.push_back({std::move(kind), std::move(explanation), std::move(sites)});
  }

  void finish(Slot& slot, const Communicator& comm) {
    for (Event::Place p : slot.places) done_[static_cast<size_t>(p.rank)][p.index] = 1;
    const CommOp& first = at(slot.places[0]);
    for (Event::Place p : slot.places) {
      std::string difference = disagreement(first, at(p));
      if (difference.empty()) continue;
      fault("mismatched-collective",
            fmt::format("ranks of group {} disagree on {}: rank {} issues {}, rank {} issues {}", comm.name, difference,
                        slot.places[0].rank, describe(first), p.rank, describe(at(p))),
            {slot.places[0], p});
      for (Event::Place q : slot.places) fail(q);
      return;
    }
    if (first.op->op == ir::Op::AllToAll && !first.op->b.empty()) {
      for (size_t i = 0; i < slot.places.size(); ++i) {
        for (size_t j = 0; j < slot.places.size(); ++j) {
          if (at(slot.places[i]).op->b[j] == at(slot.places[j]).op->c[i]) continue;
          fault("mismatched-collective",
                fmt::format("rank {} sends {} rows to rank {}, which receives {}", slot.places[i].rank, at(slot.places[i]).op->b[j],
                            slot.places[j].rank, at(slot.places[j]).op->c[i]),
                {slot.places[i], slot.places[j]});
          for (Event::Place q : slot.places) fail(q);
          return;
        }
      }
    }
    out_.events.push_back({slot.places});
  }

  // No rank can go on: says what each waits for, and gives those operations up.
  void give_up() {
    std::vector<std::string> waits;
    std::vector<Event::Place> sites;
    for (size_t r = 0; r < ops_.size(); ++r) {
      for (size_t index : open_[r]) {
        if (done_[r][index]) continue;
        if (next_[r] < ops_[r].size() && ops_[r][index].wait_before > next_[r]) continue;  // not what holds the rank
        const CommOp& op = ops_[r][index];
        std::string wait = fmt::format("rank {} waits in {}", r, describe(op));
        if (op.kind == CommOp::Kind::Recv) {
          wait += fmt::format(" for a message from rank {}", op.peer);
        } else if (op.kind == CommOp::Kind::Send) {
          wait += fmt::format(" for rank {} to receive", op.peer);
        } else {
          const Communicator& comm = comms_[static_cast<size_t>(op.comm)];
          std::vector<int64_t> missing;
          for (const Slot& slot : posted_[static_cast<size_t>(op.comm)].slots) {
            Event::Place mine = slot.places[static_cast<size_t>(op.member)];
            if (mine.rank != static_cast<int>(r) || mine.index != index) continue;
            for (size_t k = 0; k < comm.members.size(); ++k)
              if (slot.places[k].rank < 0) missing.push_back(comm.members[k]);
          }
          wait += fmt::format(" on group {} for rank{} {}", comm.name, missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
        }
        waits.push_back(std::move(wait));
        sites.push_back({static_cast<int>(r), index});
        break;
      }
    }
    for (size_t r = 0; r < ops_.size(); ++r) {
      if (next_[r] == ops_[r].size() &&
          std::none_of(sites.begin(), sites.end(), [&](Event::Place p) { return p.rank == static_cast<int>(r); }))
        waits.push_back(fmt::format("rank {} has finished", r));
    }
    if (waits.size() > 8) {
      size_t more = waits.size() - 8;
      waits.resize(8);
      waits.push_back(fmt::format("and {} more ranks", more));
    }
    if (sites.size() > 16) sites.resize(16);
    fault("would-hang", fmt::format("communication cannot complete: {}", fmt::join(waits, "; ")), sites);
    bool any = false;
    for (size_t r = 0; r < ops_.size(); ++r) {
      for (size_t index : open_[r]) {
        if (done_[r][index]) continue;
        if (next_[r] < ops_[r].size() && ops_[r][index].wait_before > next_[r]) continue;
        any = true;
        const CommOp& op = ops_[r][index];
        fail({static_cast<int>(r), index});
        if (op.kind != CommOp::Kind::Collective) continue;
        for (Slot& slot : posted_[static_cast<size_t>(op.comm)].slots) {
          Event::Place mine = slot.places[static_cast<size_t>(op.member)];
          if (mine.rank != static_cast<int>(r) || mine.index != index) continue;
          slot.broken = true;
          for (Event::Place p : slot.places)
            if (p.rank >= 0) fail(p);
        }
      }
    }
    SP_CHECK(any);
  }

  struct Posted {
    std::vector<size_t> counts;
    std::deque<Slot> slots;
  };
  const std::vector<std::vector<CommOp>>& ops_;
  const std::vector<Communicator>& comms_;
  bool buffered_;
  std::vector<size_t> next_;
  std::vector<Posted> posted_;
  std::vector<std::vector<char>> done_;
  std::vector<std::vector<size_t>> open_;
  std::map<Channel, std::pair<std::deque<Event::Place>, std::deque<Event::Place>>> channels_;
  Schedule out_;
};

}  // namespace

Schedule simulate(const std::vector<std::vector<CommOp>>& ops, const std::vector<Communicator>& comms) {
  Schedule schedule = Simulator(ops, comms, true).run();
  bool sends = false;
  for (const auto& list : ops)
    sends |= std::any_of(list.begin(), list.end(), [](const CommOp& op) { return op.kind == CommOp::Kind::Send; });
  if (sends && schedule.faults.empty()) schedule.needs_buffering = !Simulator(ops, comms, false).run().faults.empty();
  return schedule;
}

}  // namespace shardproof::link
