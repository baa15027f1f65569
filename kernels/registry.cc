#include "kernels/registry.h"

namespace stallhound::kernels {

// STALLHOUND_LAYERS comes from BUILD: LAYER(name) for each layer. Its *_pair.cc defines MakePair.
#define LAYER(NAME) \
  namespace NAME {  \
  Pair MakePair();  \
  }
STALLHOUND_LAYERS
#undef LAYER

const std::vector<Pair>& AllPairs() {
#define LAYER(NAME) NAME::MakePair(),
  static const auto* const pairs = new std::vector<Pair>{STALLHOUND_LAYERS};
#undef LAYER
  return *pairs;
}

const Pair* FindPair(std::string_view name) {
  for (const Pair& pair : AllPairs()) {
    if (pair.name == name) return &pair;
  }
  return nullptr;
}

}  // namespace stallhound::kernels
