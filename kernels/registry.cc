#include "kernels/registry.h"

// A line for each layer: NAME stands for `Pair NAMEPair()`, defined in the layer's *_pair.cc.
#define STALLHOUND_LAYERS(LAYER) LAYER(LayerNorm) LAYER(RadiusSearch)

namespace stallhound::kernels {

#define STALLHOUND_DECLARE(NAME) Pair NAME##Pair();
STALLHOUND_LAYERS(STALLHOUND_DECLARE)
#undef STALLHOUND_DECLARE

const std::vector<Pair>& AllPairs() {
#define STALLHOUND_MAKE(NAME) NAME##Pair(),
  static const auto* const pairs = new std::vector<Pair>{STALLHOUND_LAYERS(STALLHOUND_MAKE)};
#undef STALLHOUND_MAKE
  return *pairs;
}

const Pair* FindPair(std::string_view name) {
  for (const Pair& pair : AllPairs()) {
    if (pair.name == name) return &pair;
  }
  return nullptr;
}

}  // namespace stallhound::kernels
