// All views, in the order of the keys 1 to 9, and 0. `block`: views of all runs, and what they need.

import { compare } from './compare_view.mjs';
import { ensemble } from './ensemble_view.mjs';
import { findings } from './findings_view.mjs';
import { graph } from './calls_view.mjs';
import { heat } from './heat_view.mjs';
import { iterations } from './iterations_view.mjs';
import { loops } from './loops_view.mjs';
import { mpi } from './mpi_view.mjs';
import { run } from './run_view.mjs';
import { scaling } from './scaling_view.mjs';
import { timeline } from './timeline_view.mjs';
import { waits } from './waits_view.mjs';

export const kViews = [findings, run, iterations, heat, timeline, graph, waits, mpi, loops, compare, scaling, ensemble];
