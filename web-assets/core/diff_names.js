import { lastParts } from './names.js';

/**
 * File names of captures, with as much of the folders as tells them apart.
 * @param {string[]} paths
 * @returns {string[]}
 */
export function shortNames(paths) {
  const most = Math.max(...paths.map((path) => path.split(/[/\\]/).length));
  for (let parts = 1; parts < most; parts++) {
    const names = paths.map((path) => lastParts(path, parts));
    if (new Set(names).size === paths.length) return names;
  }
  return paths.map((path) => lastParts(path, new Set(paths).size < paths.length ? 1 : most));
}
