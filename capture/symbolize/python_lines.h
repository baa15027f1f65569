#pragma once

// The source line of a Python instruction, from the line table of its code object: co_lnotab of 3.9 and before, PEP 626
// tables of 3.10, PEP 657 location tables from 3.11 on. Pure functions, std only, safe on any bytes.

#include <cstdint>
#include <optional>
#include <span>

namespace stallhound::capture {

// `python_version` is 0x030b for 3.11; `instruction_offset` counts bytes from the code object's first instruction to
// the executing one, -1 for a frame that has not started, which is on its first line. nullopt: the instruction has no
// line, or the table does not cover it. Cost: linear in the table.
std::optional<int32_t> FindPythonLine(uint32_t python_version, std::span<const uint8_t> table, int32_t first_line,
                                      int32_t instruction_offset);

}  // namespace stallhound::capture
