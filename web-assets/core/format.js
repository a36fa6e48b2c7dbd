/** @typedef {'iec' | 'si'} Units MiB or MB */

const UNIT_NAMES = {
  iec: ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'],
  si: ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'],
};
// The steps of an axis within one unit. Those of IEC end in powers of two, which meet the next unit exactly.
const BYTE_STEPS = {
  iec: [1, 2, 5, 10, 20, 50, 100, 200, 256, 512, 1024],
  si: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
};
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const TIME_STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500,
  SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR,
];
const NBSP = '\u00a0';

/**
 * A size in the largest unit that leaves at least one whole, as in `165.9 MiB`.
 * @param {number} bytes
 * @param {Units} units
 * @param {number} [digits] decimals; bytes have none
 * @returns {string}
 */
export function formatBytes(bytes, units, digits = 1) {
  const base = units === 'iec' ? 1024 : 1000;
  const names = UNIT_NAMES[units];
  // What would be rounded to a whole next unit is shown in that unit.
  const limit = base - 0.5 * Math.pow(10, -digits);
  let value = Math.abs(bytes);
  let unit = 0;
  while (unit < names.length - 1 && value >= (unit === 0 ? base : limit)) {
    value /= base;
    unit++;
  }
  const sign = bytes < 0 ? '\u2212' : '';
  return sign + (unit === 0 ? String(Math.round(value)) : value.toFixed(digits)) + NBSP + names[unit];
}

/**
 * A size as an axis shows it: without decimals that say nothing.
 * @param {number} bytes
 * @param {Units} units
 * @returns {string}
 */
export function formatAxisBytes(bytes, units) {
  return formatBytes(bytes, units, 1).replace('.0' + NBSP, NBSP);
}

/**
 * A number with thousands separated, as in `1,834,211`.
 * @param {number} n
 * @returns {string}
 */
export function formatCount(n) {
  const [whole, rest] = String(n).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (rest === undefined ? '' : '.' + rest);
}

/**
 * A number with its noun, as in `1 allocation` or `2 allocations`.
 * @param {number} n
 * @param {string} noun
 * @returns {string}
 */
export function formatNumberOf(n, noun) {
  return formatCount(n) + NBSP + noun + (n === 1 ? '' : 's');
}

/**
 * A share, as in `21.6 %`.
 * @param {number} part
 * @param {number} whole
 * @returns {string}
 */
export function formatPercent(part, whole) {
  if (whole <= 0) return '0' + NBSP + '%';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.01) return '<' + NBSP + '0.01' + NBSP + '%';
  return (percent >= 99.95 ? '100' : percent.toFixed(percent >= 10 ? 1 : 2)) + NBSP + '%';
}

/**
 * A time or duration in words, as in `8.25 s`, `3 min 07.2 s`, `1 h 02 min 03 s`.
 * @param {number} ms
 * @param {number} digits decimals of the seconds
 * @returns {string}
 */
export function formatTime(ms, digits) {
  const scale = Math.pow(10, digits);
  // Round once, before splitting: 59.96 s is 1 min 00.0 s, not 60.0 s.
  const seconds = Math.round((ms / SECOND) * scale) / scale;
  if (seconds < 60) return seconds.toFixed(digits) + NBSP + 's';
  const minutes = Math.floor(seconds / 60);
  const rest = twoDigits(seconds - 60 * minutes, digits) + NBSP + 's';
  if (minutes < 60) return minutes + NBSP + 'min' + NBSP + rest;
  return Math.floor(minutes / 60) + NBSP + 'h' + NBSP + twoDigits(minutes % 60) + NBSP + 'min' + NBSP + rest;
}

/**
 * How many decimals a time needs within a run of this length.
 * @param {number} span ms
 * @returns {number}
 */
export function timeDigits(span) {
  if (span < 2 * SECOND) return 3;
  if (span < 20 * SECOND) return 2;
  return span < 20 * MINUTE ? 1 : 0;
}

/**
 * A time as an axis shows it: seconds below a minute's run, else `m:ss` or `h:mm:ss`.
 * @param {number} ms
 * @param {number} step distance of neighbouring ticks in ms
 * @returns {string}
 */
export function formatAxisTime(ms, step) {
  const digits = step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  if (ms < MINUTE) return (ms / SECOND).toFixed(digits) + NBSP + 's';
  const seconds = twoDigits((ms % MINUTE) / SECOND, digits);
  const minutes = Math.floor(ms / MINUTE);
  if (minutes < 60) return minutes + ':' + seconds;
  return Math.floor(minutes / 60) + ':' + twoDigits(minutes % 60) + ':' + seconds;
}

/**
 * @param {number} value
 * @param {number} [digits] decimals
 * @returns {string} with at least two digits before them
 */
function twoDigits(value, digits = 0) {
  return value.toFixed(digits).padStart(digits > 0 ? digits + 3 : 2, '0');
}

/**
 * Round sizes from 0 to `max`.
 * @param {number} max
 * @param {number} wanted about how many
 * @param {Units} units
 * @returns {number[]}
 */
export function byteTicks(max, wanted, units) {
  const base = units === 'iec' ? 1024 : 1000;
  const raw = Math.max(1, max / wanted);
  let unit = 1;
  while (unit * base <= raw) unit *= base;
  const step = unit * (BYTE_STEPS[units].find((s) => s * unit >= raw) ?? base);
  return multiples(step, max);
}

/**
 * Round times from 0 to `span`, and their distance.
 * @param {number} span ms
 * @param {number} wanted about how many
 * @returns {{step: number, ticks: number[]}}
 */
export function timeTicks(span, wanted) {
  const raw = span / wanted;
  const day = 24 * HOUR;
  const step = TIME_STEPS.find((s) => s >= raw) ?? day * Math.ceil(raw / day);
  return { step, ticks: multiples(step, span) };
}

/**
 * @param {number} step
 * @param {number} max
 * @returns {number[]}
 */
function multiples(step, max) {
  const out = [];
  for (let v = 0; v <= max; v += step) out.push(v);
  return out;
}
