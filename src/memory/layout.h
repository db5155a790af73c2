// Places in an arena for what must not overlap while it is alive together.
#pragma once

#include <cstdint>
#include <vector>

namespace reckon {

// So many bytes at one place, alive over some spans of time.
struct MemoryBlock {
  struct Span {
    std::int64_t first, last;
  };
  std::int64_t size = 0;
  std::vector<Span> spans;
  std::int64_t offset = -1;
};

// Frames on top of each other, alike but for when their blocks are alive. Below them lie further ones that are not told
// apart.
struct Stack {
  std::vector<std::vector<std::size_t>> frames;  // their blocks, from the lowest frame
  std::int64_t below = 0;                        // frames
  std::vector<MemoryBlock::Span> alive;          // when something in those below is
};

// Gives every block its offset and returns the end of the last. That is `peak`, the most that is ever alive, unless no
// such layout is found.
std::int64_t lay_out(std::vector<MemoryBlock>& blocks, const std::vector<Stack>& stacks, std::int64_t peak);

}  // namespace reckon
