/**
 * The element with an id. The template and the script are made together: if it is missing, that is a mistake of ours.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error('no element #' + id);
  return element;
}

/**
 * @param {string} selector
 * @returns {HTMLElement[]}
 */
export function all(selector) {
  return Array.from(document.querySelectorAll(selector));
}

/**
 * A new element with text in it.
 * @param {string} tag
 * @param {string} [text]
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function make(tag, text = '', className = '') {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className !== '') element.className = className;
  return element;
}

/**
 * Sets `aria-` attributes.
 * @param {Element} element
 * @param {Record<string, string | number | boolean>} values by the attribute's name behind `aria-`
 */
export function setAria(element, values) {
  for (const [name, value] of Object.entries(values)) element.setAttribute('aria-' + name, String(value));
}

/**
 * Sets text only if it differs, which spares layout and what screen readers say.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Shows which of some buttons is pressed.
 * @param {string} key name of the data attribute, without `data-`
 * @param {string} value of the pressed one
 */
export function press(key, value) {
  for (const button of all('[data-' + key + ']')) setAria(button, { pressed: button.dataset[key] === value });
}

/**
 * Makes a canvas `width` by `height` CSS pixels large and sharp on this screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {number} device pixels per CSS pixel
 */
export function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  return ratio;
}
