// speedscope's own importers, out of the application that its package holds: they need no page.

import { readFileSync, readdirSync } from 'node:fs';
import vm from 'node:vm';

const folder = new URL('../../web-assets/node_modules/speedscope/dist/release/', import.meta.url);

/** The application's script, up to where it would show itself, which hands over its importers. */
function importers() {
  const [name] = readdirSync(folder).filter((file) => /^speedscope-\w+\.js$/.test(file));
  const script = readFileSync(new URL(name, folder), 'utf8');
  const [, module] = /\(await (\w+)\)\.importProfileGroupFromBase64/.exec(script);
  const shows = script.lastIndexOf('console.log(`speedscope v');
  const stub = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => '' : stub),
    apply: () => stub,
    construct: () => stub,
  });
  const page = {
    document: stub,
    navigator: { platform: '', userAgent: '' },
    location: { hash: '', href: 'file:///', protocol: 'file:' },
    localStorage: { getItem: () => null },
    matchMedia: () => stub,
    addEventListener() {},
    requestAnimationFrame() {},
    console: { ...console, log() {} },
    setTimeout,
    performance,
    URL,
    Blob,
    FileReader: class {},
    TextDecoder,
    TextEncoder,
    Uint8Array,
    ArrayBuffer,
    DataView,
  };
  Object.assign(page, { globalThis: page, self: page, window: page });
  vm.runInNewContext(`${script.slice(0, shows)}globalThis.importers = ${module}; })();`, page);
  return page.importers;
}

let importing;

/**
 * What speedscope shows of a file: its profiles, by name, with their totals and the frames of each stack,
 * outermost first.
 */
export async function read(name, bytes) {
  importing ??= importers();
  const { importProfileGroupFromBase64 } = await importing;
  const group = await importProfileGroupFromBase64(name, bytes.toString('base64'));
  if (!group) throw new Error(`speedscope does not know the format of ${name}`);
  return {
    first: group.indexToView,
    profiles: group.profiles.map((profile) => ({
      name: profile.getName(),
      total: profile.getTotalWeight(),
      stacks: stacks(profile),
    })),
  };
}

/** Weights by stack. */
function stacks(profile) {
  const weights = new Map();
  const open = [];
  let at = 0;
  const close = (value) => {
    if (value > at) {
      const stack = open.join(';');
      weights.set(stack, (weights.get(stack) ?? 0) + value - at);
    }
    at = value;
  };
  profile.forEachCall(
    ({ frame }, value) => {
      close(value);
      open.push(frame.line ? `${frame.name} (${frame.file}:${frame.line})` : frame.name);
    },
    (_, value) => {
      close(value);
      open.pop();
    },
  );
  return weights;
}
