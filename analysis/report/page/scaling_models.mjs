// What scaling shows beside the command's numbers. Pure.

// What each run lacks to a global efficiency of 1, among the factors by their logarithms; factors above 1 take nothing.
export function lossesOf(factors) {
  const split = factors.serialization != null && factors.transfer != null;
  const keys = ['load_balance', ...(split ? ['serialization', 'transfer'] : ['communication']), 'computation'];
  const weights = keys.map((key) => Math.max(0, -Math.log(factors[key] > 0 ? Math.min(factors[key], 1) : 1e-9)));
  const sum = weights.reduce((a, b) => a + b, 0), lost = Math.max(0, 1 - factors.global);
  return keys.map((key, i) => ({ key, share: sum > 0 ? (lost * weights[i]) / sum : 0 }));
}

// c0 + c1 p^i log2(p)^j
export const modelAt = (model, p) => model.constant + model.factor * p ** model.exponent * Math.log2(p) ** model.logarithms;
