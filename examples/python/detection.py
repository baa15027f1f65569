"""A torchvision Faster R-CNN training step: dozens of waits a step that the model's own code hides."""

import torch
import torchvision

WARMUP, STEPS = 3, 3
device = torch.device("cuda")
torch.manual_seed(0)

model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None).to(device).train()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
images = [torch.rand(3, 480, 640, device=device) for _ in range(2)]
boxes = torch.tensor([[40.0, 60.0, 200.0, 220.0], [300.0, 100.0, 420.0, 400.0]], device=device)
targets = [{"boxes": boxes, "labels": torch.tensor([1, 2], device=device)} for _ in images]


def step():
    losses = model(images, targets)
    loss = sum(losses.values())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.detach()


for _ in range(WARMUP):
    step()
torch.cuda.synchronize()
torch.cuda.nvtx.range_push("measured")
for _ in range(STEPS):
    torch.cuda.nvtx.range_push("step")
    last = step()
    torch.cuda.nvtx.range_pop()
torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print(f"detection: {STEPS} steps, loss {last.item():.3f}")
