// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "cli/guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "util/work_clock.h"

namespace shardproof::cli {

GuardResult guarded(double seconds, const std::function<int()>& work) {
  GuardResult result;
  if (std::getenv("SHARDPROOF_NO_FORK")) {  // for debuggers and profilers
    result.finished = true;
    result.code = work();
    return result;
  }
  std::fflush(stdout);
  std::fflush(stderr);
  // SIGCHLD stays blocked in the parent, so that it can be waited for with a time limit.
  sigset_t child_signal, before;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, &before);
  pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    int code = work();
    std::fflush(stdout);
    std::fflush(stderr);
    std::_Exit(code);
  }
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    result.finished = true;
    result.code = work();
    return result;
  }
  const auto start = std::chrono::steady_clock::now();
  const double limit = seconds > 0 ? std::min(seconds, 1e8) : 1e8;
  clockid_t child_clock{};
  const bool by_work = !util::WorkClock::wall_only && clock_getcpuclockid(child, &child_clock) == 0;
  int status = 0;
  bool overrun = false;
  for (;;) {
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    timespec work{};
    const bool known = by_work && clock_gettime(child_clock, &work) == 0;  // not known: it is ending
    const double left = !by_work
                            ? limit - wall
                            : std::min(limit * util::WorkClock::kPatience - wall,
                                       known ? limit - static_cast<double>(work.tv_sec) - 1e-9 * static_cast<double>(work.tv_nsec) : 1);
    if (left <= 0) {
      overrun = true;
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    timespec wait{};
    wait.tv_sec = static_cast<time_t>(std::min(left, 3600.0));
    wait.tv_nsec = static_cast<long>((std::min(left, 3600.0) - std::floor(std::min(left, 3600.0))) * 1e9);
    sigtimedwait(&child_signal, nullptr, &wait);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (overrun) {
    result.reason = "budget";
    result.detail = "the time limit was overrun";
  } else if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    result.reason = "internal";
    result.detail =
        fmt::format("the check ended by signal {} ({}){}", signal, strsignal(signal), signal == SIGKILL ? ": perhaps memory ran out" : "");
  } else {
    result.finished = true;
    result.code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace shardproof::cli
