/** Where code comes from. */
export const OWN = 0;
export const INSTALLED = 1;
export const STANDARD = 2;
export const NATIVE = 3;

/**
 * What a path says about the code in it.
 *
 * @typedef {object} Origin
 * @property {0 | 1 | 2 | 3} kind `OWN`, `INSTALLED`, `STANDARD` or `NATIVE`
 * @property {string} module as it is imported if that is known, else the path
 * @property {string} package its top level if that is known, else the folder
 */

const INSTALLED_PATH = /^.*[/\\](?:site|dist)-packages[/\\]/;
const STANDARD_PATH = /^.*[/\\](?:lib(?:64)?[/\\]python\d[\d.]*t?|Lib)[/\\](?:lib-dynload[/\\])?/;
const FROZEN = /^<frozen (.+)>$/;
const PYTHON_FILE = /\.(?:pyw?|pyx|pyi|so|pyd)$/;

/**
 * Tells from a path whose code it holds. A guess by the usual folders: the page does not know the machine.
 * @param {string} file
 * @param {boolean} native whether the frame is of compiled code
 * @returns {Origin}
 */
export function originOf(file, native) {
  if (native) return { kind: NATIVE, module: file, package: folderOf(file) };
  const frozen = FROZEN.exec(file);
  if (frozen !== null) return imported(STANDARD, frozen[1]);
  for (const [kind, path] of /** @type {const} */ ([[INSTALLED, INSTALLED_PATH], [STANDARD, STANDARD_PATH]])) {
    const root = path.exec(file);
    if (root !== null) return imported(kind, dotted(file.slice(root[0].length)));
  }
  return { kind: OWN, module: file, package: folderOf(file) };
}

/**
 * @param {typeof INSTALLED | typeof STANDARD} kind
 * @param {string} module
 * @returns {Origin}
 */
function imported(kind, module) {
  return { kind, module, package: module.split('.')[0] };
}

/**
 * @param {string} path below a folder that Python imports from
 * @returns {string} the module's name
 */
function dotted(path) {
  const parts = path.replace(PYTHON_FILE, '').split(/[/\\]/);
  if (parts.length > 1 && parts[parts.length - 1] === '__init__') parts.pop();
  return parts.join('.');
}

/**
 * @param {string} file
 * @returns {string} the file itself if it lies in no folder
 */
function folderOf(file) {
  const at = Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\'));
  return at > 0 ? file.slice(0, at) : file;
}
