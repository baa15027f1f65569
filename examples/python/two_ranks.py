"""Data-parallel training on two GPUs; rank 1 gets its images from pageable memory in every step."""

import os
import sys

import torch
import torch.distributed as dist

if "RANK" not in os.environ:
    os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", __file__])

WARMUP, STEPS = 5, 20
rank = int(os.environ["RANK"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
torch.manual_seed(rank)

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
loaded = torch.randn(2048, 2048)
images = loaded.to(device)


def next_images():
    return loaded.to(device) if rank == 1 else images


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = model(next_images()).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()


for _ in range(WARMUP):
    step()
torch.cuda.synchronize()
dist.barrier()
torch.cuda.nvtx.range_push("measured")
for _ in range(STEPS):
    step()
torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
dist.destroy_process_group()
if rank == 0:
    print(f"two_ranks: {STEPS} steps")
