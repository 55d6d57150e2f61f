// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "cli/guard.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "util/work_clock.h"

namespace shardproof::cli {

namespace {

constexpr const char* kOverrun = "overrun";
constexpr double kAlone = 0.25;  // seconds of work before a child goes on with it
constexpr double kAloneWall = 1;

double wall_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(clockid_t clock, bool& known) {
  timespec t{};
  known = clock_gettime(clock, &t) == 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Waits for the child, and kills it when the limit is over; wall and work: seconds that were used before it was made. SIGCHLD must be
// blocked. Takes no memory and no lock, since it may run in a signal's handler. False: the limit was overrun.
bool wait_for(pid_t child, double seconds, double wall, double work, int& status) {
  const double start = wall_now() - wall;
  const double limit = seconds > 0 ? std::min(seconds, 1e8) : 1e8;
  clockid_t child_clock{};
  const bool by_work = !util::WorkClock::wall_only && clock_getcpuclockid(child, &child_clock) == 0;
  for (;;) {
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    const double passed = wall_now() - start;
    double left = limit - passed;
    if (by_work) {
      bool known = false;
      const double used = work + seconds_of(child_clock, known);  // not known: it is ending
      left = std::min(limit * util::WorkClock::kPatience - passed, known ? limit - used : 1);
    }
    if (left <= 0) {
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return false;
    }
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    timespec wait{};
    wait.tv_sec = static_cast<time_t>(std::min(left, 3600.0));
    wait.tv_nsec = static_cast<long>((std::min(left, 3600.0) - std::floor(std::min(left, 3600.0))) * 1e9);
    sigtimedwait(&child_signal, nullptr, &wait);
  }
}

GuardResult after_signal(int signal) {
  GuardResult result;
  result.reason = "internal";
  result.detail =
      fmt::format("the check ended by signal {} ({}){}", signal, strsignal(signal), signal == SIGKILL ? ": perhaps memory ran out" : "");
  return result;
}

// --- in this process first. What the handlers need stands here: a handler must not ask for memory.
struct Alone {
  double seconds = 0, start = 0;
  char* const* restart = nullptr;
  char* because = nullptr;
  rlimit space{};
};
Alone alone;

void stop_timers() {
  const itimerval none{};
  setitimer(ITIMER_PROF, &none, nullptr);
  setitimer(ITIMER_REAL, &none, nullptr);
}

// Never returns. word "signal" is followed by the number.
[[noreturn]] void answer(const char* word, int signal) {
  stop_timers();
  setrlimit(RLIMIT_AS, &alone.space);
  char* at = alone.because;
  for (; *word; ++word) *at++ = *word;
  if (signal > 0) {
    *at++ = static_cast<char>('0' + signal / 10);
    *at++ = static_cast<char>('0' + signal % 10);
  }
  *at = 0;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv("/proc/self/exe", alone.restart);
  execv(alone.restart[0], alone.restart);
  constexpr char kWords[] = "shardproof: the check ended early, and no answer could be given\n";
  [[maybe_unused]] ssize_t written = ::write(2, kWords, sizeof kWords - 1);
  _exit(3);
}

[[maybe_unused]] void on_crash(int signal) { answer("signal", signal); }

// The check takes longer: a child goes on with it where the signal interrupted it, and this process waits.
void on_timer(int) {
  const int kept = errno;
  stop_timers();
  bool known = false;
  const double work = seconds_of(CLOCK_PROCESS_CPUTIME_ID, known), wall = wall_now() - alone.start;
  const pid_t child = fork();
  if (child <= 0) {
    if (child == 0) {
#ifdef __linux__
      prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
      util::WorkClock::before = std::chrono::nanoseconds(static_cast<int64_t>(work * 1e9));
    }
    errno = kept;
    return;
  }
  int status = 0;
  if (!wait_for(child, alone.seconds, wall, work, status)) answer(kOverrun, 0);
  if (WIFSIGNALED(status)) answer("signal", WTERMSIG(status));
  _exit(WEXITSTATUS(status));
}

itimerval once(double seconds) {
  itimerval t{};
  t.it_value.tv_sec = static_cast<time_t>(seconds);
  t.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  return t;
}

}  // namespace

GuardResult because(const std::string& word) {
  if (word.starts_with("signal")) return after_signal(std::atoi(word.c_str() + 6));
  GuardResult result;
  result.reason = "budget";
  result.detail = "the time limit was overrun";
  return result;
}

int guarded_here(double seconds, char* const* restart, char* because, const std::function<int()>& work) {
  alone.seconds = seconds;
  alone.start = wall_now();
  alone.restart = restart;
  alone.because = because;
  getrlimit(RLIMIT_AS, &alone.space);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have handlers of their own
  alignas(16) static char stack[65536];                              // for a stack that overflowed
  stack_t place{};
  place.ss_sp = stack;
  place.ss_size = sizeof stack;
  sigaltstack(&place, nullptr);
  struct sigaction crash {};
  crash.sa_handler = on_crash;
  crash.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigfillset(&crash.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS}) sigaction(signal, &crash, nullptr);
#endif
  struct sigaction timer {};
  timer.sa_handler = on_timer;
  timer.sa_flags = SA_RESTART;
  sigemptyset(&timer.sa_mask);
  for (int signal : {SIGPROF, SIGALRM, SIGCHLD}) sigaddset(&timer.sa_mask, signal);
  sigaction(SIGPROF, &timer, nullptr);
  sigaction(SIGALRM, &timer, nullptr);
  const double first = seconds > 0 ? std::min(kAlone, seconds) : kAlone;
  const itimerval busy = once(first), slow = once(std::max(first, kAloneWall));
  setitimer(ITIMER_PROF, &busy, nullptr);
  setitimer(ITIMER_REAL, &slow, nullptr);
  const int code = work();
  stop_timers();
  return code;
}

GuardResult guarded(double seconds, const std::function<int()>& work) {
  GuardResult result;
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
  int status = 0;
  const bool in_time = wait_for(child, seconds, 0, 0, status);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!in_time) return because(kOverrun);
  if (WIFSIGNALED(status)) return after_signal(WTERMSIG(status));
  result.finished = true;
  result.code = WEXITSTATUS(status);
  return result;
}

}  // namespace shardproof::cli
