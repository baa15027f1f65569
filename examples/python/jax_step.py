"""JAX: a jitted step that gets a NumPy array at every call, and a loss read back with float()."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WARMUP, STEPS = 5, 20

weights = jnp.ones((1024, 256), jnp.float32)
batch = np.ones((64, 1024), np.float32)


@jax.jit
def update(weights, batch):
    loss, gradient = jax.value_and_grad(lambda w: ((batch @ w) ** 2).mean())(weights)
    return weights - 1e-3 * gradient, loss


total = 0.0
for _ in range(WARMUP + STEPS):
    weights, loss = update(weights, batch)  # copies the NumPy array to the GPU
    total += float(loss)  # waits for it
print(f"jax_step: {STEPS} steps on {jax.devices()[0].platform}, loss {total / (WARMUP + STEPS):.4f}")
