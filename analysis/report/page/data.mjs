// The blocks of data in the page: read when a view asks for them, and only then.
// Pure but for DecompressionStream, which browsers and node have.

const kArrays = {
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array,
  f32: Float32Array, f64: Float64Array,
};

export function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) out[i] = raw.charCodeAt(i);
  return out;
}

// Takes the text apart while it is inflated, so that it is never there three times.
export async function inflate(base64, expected) {
  const stream = new DecompressionStream('deflate');
  const writer = stream.writable.getWriter();
  const failed = (async () => {
    await writer.write(bytesOfBase64(base64));
    await writer.close();
  })().catch((error) => error);
  const out = new Uint8Array(expected);
  let at = 0;
  const reader = stream.readable.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.length > expected) throw new Error('a block is longer than its index says');
      out.set(value, at);
      at += value.length;
    }
  } finally {
    await failed;
  }
  if (at !== expected) throw new Error('a block is shorter than its index says');
  return out;
}

// Ascending times are stored as differences.
export function addedUp(differences) {
  const out = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < out.length; ++i) out[i] = sum += differences[i];
  return out;
}

export class Data {
  // textOf(number) gives the base64 text of a block; index is the page's index.
  constructor(index, textOf) {
    if (index?.format !== 'refrain report') throw new Error('this page has no report in it');
    if (index.version !== 2)
      throw new Error(`this page has a report of version ${index.version}; it reads version 2`);
    this.textOf = textOf;
    this.blocks = new Map(index.blocks.map((block, number) => [block.name, { ...block, number }]));
    this.kept = new Map();
  }

  has(name) { return this.blocks.has(name); }
  names(prefix) { return [...this.blocks.keys()].filter((name) => name.startsWith(prefix)); }
  shape(name) { return this.blocks.get(name)?.shape ?? null; }

  #once(name, make) {
    if (!this.kept.has(name)) this.kept.set(name, make());
    return this.kept.get(name);
  }

  async #bytes(name) {
    const block = this.blocks.get(name);
    if (!block) throw new Error(`the report has no block ${name}`);
    return inflate(this.textOf(block.number), block.bytes);
  }

  json(name) {
    return this.#once(name, async () => JSON.parse(new TextDecoder().decode(await this.#bytes(name))));
  }

  // {values, shape}
  array(name) {
    return this.#once(name, async () => {
      const block = this.blocks.get(name);
      const raw = await this.#bytes(name);
      if (block.coding === 'delta') return { values: addedUp(new Uint32Array(raw.buffer)), shape: block.shape };
      const type = kArrays[block.type];
      if (!type || block.coding) throw new Error(`block ${name} is not an array that this page can read`);
      const values = new type(raw.buffer, 0, raw.byteLength / type.BYTES_PER_ELEMENT);
      return { values, shape: block.shape ?? [values.length] };
    });
  }

  async jsonOr(name, other) { return this.has(name) ? this.json(name) : other; }
  async arrayOr(name, shape) {
    return this.has(name) ? this.array(name) : { values: new Float64Array(0), shape };
  }
}

export function dataOfDocument(document) {
  const element = document.getElementById('refrain-index');
  if (!element) throw new Error('this page has no report in it');
  return new Data(JSON.parse(element.textContent), (number) =>
    document.getElementById(`refrain-block-${number}`).textContent);
}
