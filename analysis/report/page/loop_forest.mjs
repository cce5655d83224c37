// The loops and functions of sampled stacks as a tree in which each stands once: under the one from which most of its
// samples come. So every number is the node's own, and recursion makes no circle. Pure.

// nodes: those that are there (others of an edge are left out); edges: {from, to, weight}. Returns parents, -1: nothing around it.
export function spanningParents(nodes, edges, weightOf) {
  const known = new Set(nodes), parents = new Map(), out = new Map(nodes.map((node) => [node, []])), entered = new Set();
  for (const edge of edges) {
    if (!known.has(edge.from) || !known.has(edge.to) || edge.from === edge.to) continue;
    out.get(edge.from).push(edge);
    entered.add(edge.to);
  }
  // The largest edge that leads out of the tree comes next: a heap by weight.
  const heap = [];
  const above = (a, b) => heap[a].weight > heap[b].weight;
  const swap = (a, b) => { [heap[a], heap[b]] = [heap[b], heap[a]]; };
  function push(edge) {
    heap.push(edge);
    for (let i = heap.length - 1; i > 0;) {
      const up = (i - 1) >> 1;
      if (!above(i, up)) break;
      swap(i, up);
      i = up;
    }
  }
  function pop() {
    const first = heap[0], last = heap.pop();
    if (heap.length) {
      heap[0] = last;
      for (let i = 0;;) {
        let next = i;
        for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && above(child, next)) next = child;
        if (next === i) break;
        swap(i, next);
        i = next;
      }
    }
    return first;
  }
  function take(node, parent) {
    parents.set(node, parent);
    for (const edge of out.get(node)) if (!parents.has(edge.to)) push(edge);
  }
  function grow() {
    while (heap.length) {
      const edge = pop();
      if (!parents.has(edge.to)) take(edge.to, edge.from);
    }
  }
  for (const node of nodes) if (!entered.has(node)) take(node, -1);
  grow();
  // What only circles lead to: the largest of it begins.
  for (const node of [...nodes].sort((a, b) => weightOf(b) - weightOf(a))) {
    if (parents.has(node)) continue;
    take(node, -1);
    grow();
  }
  return parents;
}
