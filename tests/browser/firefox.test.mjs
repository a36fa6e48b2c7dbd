// The page in Firefox, where that is installed: it is drawn, and an address changes what is.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, report, withBrowser } from './support.mjs';

withBrowser();

const firefox = [process.env.FIREFOX, 'firefox-esr', 'firefox'].find((name) => name && spawnSync(name, ['--version']).status === 0);

test('Firefox draws the page', { skip: firefox === undefined && 'Firefox is not installed' }, () => {
  const { url } = report('v13-webapp');
  const picture = (address, name) => {
    const path = join(folder, name);
    const profile = mkdtempSync(join(folder, 'profile-'));
    execFileSync(firefox, ['--headless', '--no-remote', '--profile', profile, '--window-size=1400,900', '--screenshot', path, address], { stdio: 'ignore', timeout: 60_000 });
    return readFileSync(path);
  };
  const peak = picture(url, 'peak.png');
  const byPackage = picture(`${url}#g=package&v=allocators`, 'package.png');
  // A page that gave up, or that still loads, is a few words on white.
  for (const png of [peak, byPackage]) assert.ok(png.length > 60_000, `${png.length} bytes`);
  assert.ok(!peak.equals(byPackage));
});
