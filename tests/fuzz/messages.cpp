// What a worker says to its parent, or the other way round: the body of a message, as it comes out of the socket.
#include <sys/socket.h>

#include "tests/fuzz/fuzz.h"
#include "tuner/workers/channel.h"
#include "tuner/workers/protocol.h"

namespace {

using namespace mmtune;

/// A message that can be read as T is sound, and says the same again.
template <class T>
void read_as(std::string_view message) {
  fuzz::allow<WireError>([&] {
    const T value = decode<T>(message);
    fuzz::require(fault_of_value(value).empty(), "what is read is sound");
    const std::string written = encode(value);
    fuzz::require(encode(decode<T>(written)) == written, "reads what it writes");
  });
}

}  // namespace

MMTUNE_FUZZER(messages) {
  constexpr std::size_t kSocketHolds = 100'000;
  if (size > kSocketHolds) return 0;
  auto [ours, theirs] = socket_pair();
  std::string bytes = "mmtw";
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(size >> shift & 0xff);
  bytes += fuzz::text_of(data, size);
  fuzz::require(send(theirs.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "it is sent");
  Channel channel(std::move(ours));
  try {
    const std::string message = channel.receive(std::chrono::steady_clock::now() + std::chrono::seconds(10));
    read_as<Verdict>(message);
    read_as<RaceResult>(message);
    read_as<Compilation>(message);
    read_as<std::vector<Timing>>(message);
    read_as<std::vector<DeviceSpec>>(message);
    read_as<SentProgram>(message);
    read_as<CompilerFacts>(message);
    read_as<Environment>(message);
    read_as<Problem>(message);
    read_as<RequestMessage>(message);
    try {
      result_of(message);
    } catch (const Error& error) {  // The words of such an error are those of a worker.
      fuzz::require(*error.what() != '\0', "a refusal says something");
    }
  } catch (const ChannelError& error) {
    fuzz::require(error.kind() == ChannelError::Kind::garbled, "a whole message is neither late nor missing");
  }
  return 0;
}
