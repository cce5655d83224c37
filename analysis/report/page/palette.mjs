// Colours that the colour-blind can tell apart: Okabe and Ito's for classes of time, viridis and
// cividis for scales.

import { interpolateCividis, interpolateViridis } from 'd3-scale-chromatic';

const kClasses = {
  useful: '#009e73', synchronization: '#d55e00', imbalance: '#e69f00', limited_parallelism: '#f0e442',
  thread_management: '#cc79a7', mpi_point_to_point: '#0072b2', mpi_collective: '#56b4e9',
  mpi_synchronization: '#1b3a6b', mpi_one_sided: '#7b5ea7', mpi_io: '#8c6d31', mpi_management: '#8a9199',
  target_wait: '#4d4d4d', target_data: '#a6761d', target_kernels: '#66a61e', file_io: '#b15928',
  unknown: '#c3c7cc', program: '#b9d6cb', skipped: '#c3c7cc',
};
const kNames = {
  useful: 'useful computation', synchronization: 'threads, synchronization', imbalance: 'OpenMP, imbalance',
  limited_parallelism: 'OpenMP, limited parallelism', thread_management: 'threads, management',
  mpi_point_to_point: 'MPI, point-to-point', mpi_collective: 'MPI, collective',
  mpi_synchronization: 'MPI, synchronization', mpi_one_sided: 'MPI, one-sided', mpi_io: 'MPI, file I/O',
  mpi_management: 'MPI, management', target_wait: 'devices, waiting and management',
  target_data: 'devices, data', target_kernels: 'devices, submission of kernels', file_io: 'file I/O', unknown: 'not known',
};
export const kSeries = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442',
  '#7b5ea7', '#8c6d31', '#1b3a6b', '#8a9199', '#5ab4ac'];

const bare = (key) => String(key).replace(/_ns$/, '');
export const classColor = (key) => kClasses[bare(key)] ?? kClasses.unknown;
export const className = (key) => kNames[bare(key)] ?? bare(key).replaceAll('_', ' ');
export const classOrder = Object.keys(kNames);

export function rgb(color) {
  if (color[0] === '#') {
    const n = parseInt(color.slice(1), 16);
    return [n >> 16, (n >> 8) & 255, n & 255];
  }
  return color.match(/[\d.]+/g).slice(0, 3).map(Number);
}

// As it lies in an ImageData on a little-endian machine: 0xAABBGGRR.
export const pixel = ([r, g, b], alpha = 255) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

const tables = new Map();
function table(scale) {
  if (!tables.has(scale)) {
    const of = scale === 'cividis' ? interpolateCividis : interpolateViridis;
    tables.set(scale, Uint32Array.from({ length: 256 }, (_, i) => pixel(rgb(of(i / 255)))));
  }
  return tables.get(scale);
}
export const scalePixels = (scale = 'viridis') => table(scale);

export function scaleColor(share, scale = 'viridis') {
  const p = table(scale)[Math.max(0, Math.min(255, Math.round(share * 255)))];
  return `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;
}

// Black or white, whichever can be read on that colour.
export function inkOn(color) {
  const [r, g, b] = rgb(color).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? '#101214' : '#ffffff';
}

export const ink = (variable) =>
  getComputedStyle(document.documentElement).getPropertyValue('--' + variable).trim();
