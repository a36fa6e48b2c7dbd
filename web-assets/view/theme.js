import { byId, setText } from './dom.js';
import { darkMedia } from './palette.js';

/**
 * Connects the button that overrides the system's theme.
 * @param {{redraw: () => void}} page
 */
export function connectTheme(page) {
  const rules = darkMedia();
  const [media] = rules;
  const button = byId('theme');
  const isDark = () => matchMedia(media.mediaText).matches;
  const name = () => setText(button, isDark() ? 'Light theme' : 'Dark theme');
  /** @param {string} text */
  const show = (text) => {
    for (const rule of rules) rule.mediaText = text;
    name();
    page.redraw();
  };
  name();
  button.addEventListener('click', () => show(isDark() ? 'not all' : 'all'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(media.mediaText));
  // Paper is white.
  let chosen = '';
  window.addEventListener('beforeprint', () => {
    chosen = media.mediaText;
    show('not all');
  });
  window.addEventListener('afterprint', () => show(chosen));
}
