// node make_report.mjs TEMPLATE OUT [ranks=4] [threads=2] [iterations=400] [spans=60000] [hostile=1] [compare=1]
import { readFileSync, writeFileSync } from 'node:fs';
import { madeUp, page } from './synthetic_report.mjs';

const [template, out, ...words] = process.argv.slice(2);
const options = Object.fromEntries(words.map((word) => word.split('=')).map(([key, value]) => [key, Number(value)]));
const { blocks, total } = madeUp(options);
const text = page(readFileSync(template, 'utf8'), blocks);
writeFileSync(out, text);
console.log(`${out}: ${(text.length / 1e6).toFixed(1)} MB, ${total} spans`);
