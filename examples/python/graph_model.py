"""A PyTorch Geometric training step: graph bookkeeping that asks the GPU for sizes."""

import torch
from torch_geometric.nn import GCNConv, global_mean_pool
from torch_geometric.utils import add_self_loops, to_dense_adj

WARMUP, STEPS, NODES, GRAPHS = 5, 10, 4096, 16
device = torch.device("cuda")
torch.manual_seed(0)

features = torch.randn(NODES, 64, device=device)
edges = torch.randint(0, NODES, (2, 8 * NODES), device=device)
graph_of = torch.arange(GRAPHS, device=device).repeat_interleave(NODES // GRAPHS)
labels = torch.randint(0, 4, (GRAPHS,), device=device)
first, second, head = GCNConv(64, 128).to(device), GCNConv(128, 128).to(device), torch.nn.Linear(128, 4).to(device)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters(), *head.parameters()])


def step():
    looped, _ = add_self_loops(edges)  # the number of nodes comes from the GPU
    hidden = first(features, looped).relu()
    hidden = second(hidden, looped).relu()
    pooled = global_mean_pool(hidden, graph_of)  # so does the number of graphs
    density = to_dense_adj(edges[:, :256], max_num_nodes=NODES).mean()
    loss = torch.nn.functional.cross_entropy(head(pooled), labels) + 0 * density
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
print(f"graph_model: {STEPS} steps, loss {last.item():.3f}")
