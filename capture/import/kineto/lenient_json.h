#pragma once

// Reading JSON that no parser accepts but that exporters have written: unescaped backslashes and quotes in names,
// control characters, bytes that are no UTF-8, bare NaN, N/A and inf. Guesses are local and bounded.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stallhound::capture {

// True if `after`, the text behind a quote, looks as if the quote ended a string: white space, then one of , : } ] or
// the end of the text; after a comma another key, value or container must begin.
bool EndsString(std::string_view after);

// The same behind a backslash and a quote, which end a string only if that ends in a backslash by mistake: stricter,
// because strings may hold JSON, whose quotes are all escaped.
bool EndsStringInBackslash(std::string_view after);

// The size of the object at the beginning of `text`, with broken quoting guessed; nullopt if it is not all there.
std::optional<size_t> TolerantObjectSize(std::string_view text);

// Receives the members of an object: `value` is the token as written (strings with their quotes, containers whole).
using MemberSink = std::function<void(std::string_view key, std::string_view value)>;

// Calls `sink` for each member of the object `text`, as far as it can be told. Returns false if `text` is no object.
bool ForEachMember(std::string_view text, const MemberSink& sink);

// The characters that `raw` (the inside of a JSON string) stands for. Invalid escapes keep their backslash, invalid
// UTF-8 and control characters become U+FFFD and '?'; each counts as forgiven.
std::string Unescape(std::string_view raw, int64_t* forgiven_count);

}  // namespace stallhound::capture
