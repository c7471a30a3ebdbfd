"use strict";
// The data of the page: columns.py wrote it, this reads it.  See there for the form of a column.

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

async function inflate(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function column(bytes, [type, rising, length, offset]) {
  const size = TYPES[type].BYTES_PER_ELEMENT;
  const raw = new Uint8Array(length * size);
  for (let plane = 0; plane < size; plane++) {
    const from = offset + plane * length;
    for (let i = 0, to = plane; i < length; i++, to += size) {
      raw[to] = bytes[from + i];
    }
  }
  const values = new TYPES[type](raw.buffer);
  if (!rising) {
    return values;
  }
  const sums = new Float64Array(length);
  for (let i = 0, sum = 0; i < length; i++) {
    sum += values[i];
    sums[i] = sum;
  }
  return sums;
}

function columns(bytes, named) {
  return Object.fromEntries(Object.entries(named).map(([name, at]) => [name, column(bytes, at)]));
}

function readScheme(bytes, said) {
  const levels = Object.entries(said.levels).map(([op, list]) => [
    Number(op),
    list.map(({ width, ...rest }) => ({ width, ...columns(bytes, rest) })),
  ]);
  return {
    ...said,
    commands: columns(bytes, said.columns),
    causes: columns(bytes, said.causes),
    levels: Object.fromEntries(levels),
    collections: { first: said.collections.first, ...columns(bytes, said.collections.columns) },
    shown: true,
  };
}

async function readData() {
  const said = JSON.parse(document.getElementById("scarp-data").textContent);
  const bytes = await inflate("scarp-columns");
  return { ...said, schemes: said.schemes.map((scheme) => readScheme(bytes, scheme)) };
}

async function loadLibrary() {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await inflate("scarp-library"));
  document.head.append(script);
}

// The first place of a rising column whose value is not below this one.
function lowerBound(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function humanNs(ns) {
  const [divisor, unit] = ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return `${Number((ns / divisor).toPrecision(4))} ${unit}`;
}
