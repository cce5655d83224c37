// What scaling shows beside the command's numbers. Pure.

// What each run lacks to a global efficiency of 1, among the factors by their logarithms; factors above 1 take nothing.
// `hybrid`: MPI's part, and OpenMP's.
export function lossesOf(factors, hybrid = false) {
  const of = hybrid ? 'mpi_' : '';
  const split = factors[`${of}serialization`] != null && factors[`${of}transfer`] != null;
  const keys = [`${of}load_balance`, ...(split ? [`${of}serialization`, `${of}transfer`] : [`${of}communication`]), ...(hybrid ? ['openmp'] : []), 'computation'];
  const weights = keys.map((key) => Math.max(0, -Math.log(factors[key] > 0 ? Math.min(factors[key], 1) : 1e-9)));
  const sum = weights.reduce((a, b) => a + b, 0), lost = Math.max(0, 1 - factors.global);
  return keys.map((key, i) => ({ key: key.replace('mpi_', ''), share: sum > 0 ? (lost * weights[i]) / sum : 0 }));
}

// c0 + c1 p^i log2(p)^j
export const modelAt = (model, p) => model.constant + model.factor * p ** model.exponent * Math.log2(p) ** model.logarithms;
