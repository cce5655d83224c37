// The names of the views, in the navigation and in links to them.
export const kViewTitles = {
  findings: 'Findings', run: 'Run', iterations: 'Iterations', heat: 'Heat map', timeline: 'Timeline',
  graph: 'Calls', waits: 'Waits', mpi: 'MPI', loops: 'Loops', compare: 'Compare', scaling: 'Scaling',
  ensemble: 'Ensemble',
};
