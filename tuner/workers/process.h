// A child process that never outlives its parent, nor the object that holds it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mmtune {

/// This program again, also after its file was replaced.
inline constexpr const char* kThisProgram = "/proc/self/exe";

/// The descriptor of a child's end of the channel.
inline constexpr int kChannelDescriptor = 3;

/// A child process, to be used by one thread. It must outlive the thread that made it only where the child may then die
/// (see stay_with_parent).
class Process {
 public:
  /// `channel` becomes the child's kChannelDescriptor. The child reads nothing, what it prints goes to stderr, and
  /// signals of the terminal do not reach it. Throws Error.
  Process(const std::string& program, const std::vector<std::string>& arguments, int channel);

  /// Kills it and waits for it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }

  /// Waits for its end, and kills it where it has not come after `grace`. How it ended: "it exited with code 3",
  /// "Segmentation fault". Throws DeviceLostError where even SIGKILL does not end it, which is how a broken GPU driver
  /// shows. Call it once.
  std::string end(std::chrono::milliseconds grace);

 private:
  bool ended_within(std::chrono::milliseconds time, int& status);

  pid_t id_ = 0;
  bool ended_ = false;
};

/// What a child calls first: from here on it is killed when the thread that started it ends, is the first to go where
/// memory is short, and leaves no core file. Ends it at once if `parent` is gone already.
void stay_with_parent(pid_t parent);

/// Lets all other threads of the machine go before the calling one from here on: its niceness is 10 at least.
void give_way();

/// Limits this process, from here on, to so many bytes beyond what it maps now, or as many as the user's own limit
/// allows; more is refused to it. Can be called again.
void limit_memory(std::int64_t more_bytes);

}  // namespace mmtune
