// Trying instructions that a processor announces: some announce what they then fault on.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#define INKBLUR_SIGNALS 1
#include <csetjmp>
#include <csignal>
#endif

namespace {

#ifdef INKBLUR_SIGNALS
thread_local sigjmp_buf escape;
thread_local volatile std::sig_atomic_t guarding = 0;
const int kFaults[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};

void on_fault(int signal) {
  if (guarding) siglongjmp(escape, 1);
  std::signal(signal, SIG_DFL);  // some other thread's real fault, in this short while: let it be
}
#endif

// Runs a test; false when it says so or when the processor faults on it.
bool survives(bool (*test)()) {
#ifdef INKBLUR_SIGNALS
  struct sigaction ours = {}, before[4];
  ours.sa_handler = on_fault;
  ours.sa_flags = SA_ONSTACK;
  for (int k = 0; k < 4; ++k) sigaction(kFaults[k], &ours, &before[k]);
  volatile bool good = false;
  if (sigsetjmp(escape, 1) == 0) {
    guarding = 1;
    good = test();
  }
  guarding = 0;
  for (int k = 0; k < 4; ++k) sigaction(kFaults[k], &before[k], nullptr);
  return good;
#else
  return test();
#endif
}

}  // namespace
