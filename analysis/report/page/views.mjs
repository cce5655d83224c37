// All views, in the order of the keys 1 to 9.

import { findings } from './findings_view.mjs';

export const kViews = [findings];
