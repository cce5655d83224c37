// Sums over trees: of a metric and those below it, a call path and those below it, a rank and its
// threads. Pure.

// parents[i] is the index of i's parent or -1; parents may come after their children.
export class Forest {
  constructor(parents) {
    this.parents = parents;
    this.children = parents.map(() => []);
    this.roots = [];
    parents.forEach((parent, i) => {
      if (parent >= 0 && parent < parents.length && parent !== i) this.children[parent].push(i);
      else this.roots.push(i);
    });
    // From the roots down; whatever lies in a circle is left out.
    this.order = [...this.roots];
    for (let i = 0; i < this.order.length; ++i) this.order.push(...this.children[this.order[i]]);
  }

  inclusive(exclusive) {
    const out = Float64Array.from(exclusive);
    for (let i = this.order.length - 1; i >= 0; --i) {
      const node = this.order[i], parent = this.parents[node];
      if (parent >= 0 && parent < out.length && parent !== node) out[parent] += out[node];
    }
    return out;
  }

  below(root) {
    const inside = new Uint8Array(this.parents.length);
    const list = [root];
    for (let i = 0; i < list.length; ++i) {
      inside[list[i]] = 1;
      list.push(...this.children[list[i]]);
    }
    return inside;
  }

  chain(node) {
    const out = [];
    for (let at = node; at >= 0 && at < this.parents.length && out.length <= this.parents.length; at = this.parents[at])
      out.unshift(at);
    return out;
  }
}

// Values of (metric, path, location), exclusive in metrics and paths, with only those that are not 0.
export class Severities {
  constructor(values, metrics, paths, locations) {
    Object.assign(this, { values, metrics, paths, locations });
    this.n = values.length / 4;
  }

  byMetric() {
    const own = new Float64Array(this.metrics.parents.length);
    for (let i = 0; i < this.n; ++i) own[this.values[4 * i]] += this.values[4 * i + 3];
    return own;
  }

  #sum(metric, inclusive, to, index, also = () => true) {
    const inside = inclusive ? this.metrics.below(metric) : null;
    const { values } = this;
    for (let i = 0; i < this.n; ++i) {
      const at = values[4 * i];
      if (inside ? !inside[at] : at !== metric) continue;
      if (also(4 * i)) to[values[4 * i + index]] += values[4 * i + 3];
    }
    return to;
  }

  byPath(metric, inclusive) {
    return this.#sum(metric, inclusive, new Float64Array(this.paths.parents.length), 1);
  }

  // Of one path and, if inclusive, those below it; of all of them where path is -1.
  byLocation(metric, metricInclusive, path, pathInclusive) {
    const to = new Float64Array(this.locations);
    if (path < 0) return this.#sum(metric, metricInclusive, to, 2);
    const inside = pathInclusive ? this.paths.below(path) : null;
    return this.#sum(metric, metricInclusive, to, 2, (i) =>
      inside ? inside[this.values[i + 1]] : this.values[i + 1] === path);
  }
}
