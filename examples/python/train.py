"""A PyTorch training loop whose step waits for the GPU in five places that do not look like it."""

import torch

WARMUP, STEPS = 5, 20
device = torch.device("cuda")
torch.manual_seed(0)

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
inputs = torch.randn(4096, 1024)
targets = torch.randint(0, 10, (4096,), device=device)
history = []


def accuracy(logits):
    hits = logits.argmax(1) == targets
    return float(hits.sum()) / len(targets)  # reads the sum back


def step():
    batch = inputs.to(device)  # copies from pageable memory
    logits = model(batch)
    loss = torch.nn.functional.cross_entropy(logits, targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if norm > 100:  # a condition on a GPU value
        raise RuntimeError("diverged")
    optimizer.step()
    hard = logits[logits.softmax(1).amax(1) < 0.5]  # a mask: its size must be known
    history.append((loss.item(), accuracy(logits), len(hard)))  # reads the loss back


for _ in range(WARMUP):
    step()
torch.cuda.synchronize()
torch.cuda.nvtx.range_push("measured")
for _ in range(STEPS):
    torch.cuda.nvtx.range_push("step")
    step()
    torch.cuda.nvtx.range_pop()
torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print(f"train: {STEPS} steps, loss {history[-1][0]:.4f}, accuracy {history[-1][1]:.3f}")
