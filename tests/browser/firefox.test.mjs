// The page in Firefox, where that is installed: it is drawn, and shows what the profile has.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { folder, report, withBrowser } from './support.mjs';

withBrowser();

const firefox = [process.env.FIREFOX, 'firefox-esr', 'firefox'].find((name) => name && spawnSync(name, ['--version']).status === 0);
const START_MS = 60_000;

test('Firefox draws the page', { skip: firefox === undefined && 'Firefox is not installed', timeout: 3 * START_MS }, async () => {
  const { url, profile } = report('v13-webapp');
  const browser = await start();
  try {
    const shown = async (address) => {
      await browser.ask('WebDriver:Navigate', { url: 'about:blank' });
      await browser.ask('WebDriver:Navigate', { url: address });
      const { value } = await browser.ask('WebDriver:ExecuteAsyncScript', { args: [], script: `
        const done = arguments[arguments.length - 1];
        const wait = () => window.memreport === undefined ? setTimeout(wait, 20)
          : window.memreport.settled().then(() => done(window.memreport.rootBytes()));
        wait();` });
      return value;
    };
    const picture = async () => (await browser.ask('WebDriver:TakeScreenshot', { full: false })).value;
    assert.equal(await shown(url), profile.metadata.peak_memory);
    const peak = await picture();
    assert.equal(await shown(`${url}#g=package&v=allocators`), profile.metadata.peak_memory);
    const byPackage = await picture();
    // A page that gave up is a few words on white.
    for (const png of [peak, byPackage]) assert.ok(png.length > 60_000, `${png.length} characters`);
    assert.notEqual(peak, byPackage);
  } finally {
    await browser.end();
  }
});

/** Starts Firefox under the remote control that it has built in (Marionette: JSON behind its length and a colon). */
async function start() {
  const profile = mkdtempSync(join(folder, 'profile-'));
  writeFileSync(join(profile, 'user.js'), 'user_pref("marionette.port", 0);\n');
  const child = spawn(firefox, ['--headless', '--no-remote', '--marionette', '--profile', profile, '--window-size=1400,900'], { stdio: 'ignore' });
  const ended = new Promise((done) => child.once('exit', done));
  const end = async () => {
    child.kill();
    await ended;
  };
  const portFile = join(profile, 'MarionetteActivePort');
  for (let waited = 0; !existsSync(portFile) || readFileSync(portFile, 'utf8') === ''; waited += 50) {
    if (waited > START_MS || child.exitCode !== null) {
      await end();
      assert.fail('Firefox does not start');
    }
    await pause(50);
  }
  const socket = connect(Number(readFileSync(portFile, 'utf8')), '127.0.0.1');
  const answers = messages(socket);
  await answers.next();
  let id = 0;
  const ask = async (command, parameters = {}) => {
    const text = JSON.stringify([0, ++id, command, parameters]);
    socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [, , error, result] = (await answers.next()).value;
    assert.equal(error, null, JSON.stringify(error));
    return result;
  };
  await ask('WebDriver:NewSession', {});
  await ask('WebDriver:SetTimeouts', { script: START_MS });
  return {
    ask,
    end: () => {
      socket.destroy();
      return end();
    },
  };
}

/** The messages that a socket brings. */
async function* messages(socket) {
  let data = Buffer.alloc(0);
  for await (const chunk of socket) {
    data = Buffer.concat([data, chunk]);
    for (let colon = data.indexOf(':'); colon > 0; colon = data.indexOf(':')) {
      const end = colon + 1 + Number(data.subarray(0, colon));
      if (data.length < end) break;
      yield JSON.parse(data.subarray(colon + 1, end));
      data = data.subarray(end);
    }
  }
}
