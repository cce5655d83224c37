// Chromium without a window, driven through its WebDriver (Debian's chromium and chromium-driver). The browser
// finds no host at all: every name leads nowhere, and what it tries is in its log of the network.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const kElement = 'element-6066-11e4-a52e-4f735466cecf';

export class Browser {
  static async start({ width = 1440, height = 900, dark = false, scale = 1 } = {}) {
    const browser = new Browser();
    // A short path: Chromium puts a socket below it. All that it writes, also at home, goes there.
    browser.folder = mkdtempSync('/tmp/refrain-browser-');
    browser.netlog = join(browser.folder, 'net.json');
    await browser.#driver();
    const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions', '--disable-default-apps', '--hide-scrollbars',
      '--host-resolver-rules=MAP * ~NOTFOUND', `--user-data-dir=${join(browser.folder, 'profile')}`, `--log-net-log=${browser.netlog}`, `--window-size=${width},${height}`, `--force-device-scale-factor=${scale}`, ...(dark ? ['--force-dark-mode'] : [])];
    const { sessionId } = await browser.call('POST', '/session', { capabilities: { alwaysMatch: { browserName: 'chrome', 'goog:chromeOptions': { args }, 'goog:loggingPrefs': { browser: 'ALL' } } } });
    browser.session = `/session/${sessionId}`;
    await browser.post('/timeouts', { script: 600000, pageLoad: 600000 });
    // The window's frame is not part of the page.
    const [w, h] = await browser.run('return [outerWidth - innerWidth, outerHeight - innerHeight]');
    await browser.post('/window/rect', { width: width + w, height: height + h });
    return browser;
  }

  // Waits until the driver says on which port it listens.
  async #driver() {
    this.process = spawn('chromedriver', ['--port=0'], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: this.folder, TMPDIR: this.folder } });
    this.port = await new Promise((done, failed) => {
      let text = '';
      const read = (chunk) => {
        text += chunk;
        const found = text.match(/started successfully on port (\d+)/);
        if (found) done(Number(found[1]));
      };
      this.process.stdout.on('data', read);
      this.process.stderr.on('data', read);
      this.process.on('error', failed);
      this.process.on('exit', () => failed(new Error(`chromedriver: ${text}`)));
    });
  }

  async call(method, path, body) {
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, { method, body: body && JSON.stringify(body), headers: { 'content-type': 'application/json' } });
    const { value } = await answer.json();
    if (value?.error) throw new Error(`${path}: ${value.error}: ${String(value.message).slice(0, 2000)}`);
    return value;
  }
  get(path) { return this.call('GET', this.session + path); }
  post(path, body = {}) { return this.call('POST', this.session + path, body); }

  open(file, hash = '') { return this.post('/url', { url: `file://${file}${hash}` }); }
  run(script, ...args) { return this.post('/execute/sync', { script, args }); }
  async runAsync(script, ...args) {
    const answer = await this.post('/execute/async', { script: `const done = arguments[arguments.length - 1]; (async (...args) => { ${script} })(...[...arguments].slice(0, -1)).then(done, (error) => done({ failed: String(error && error.stack || error) }));`, args });
    if (answer?.failed) throw new Error(answer.failed);
    return answer;
  }

  // Until the script returns something true.
  async until(script, what, seconds = 600) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
      const answer = await this.run(script);
      if (answer) return answer;
      if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what ?? script}`);
      await new Promise((go) => setTimeout(go, 40));
    }
  }

  async element(selector) { return (await this.post('/element', { using: 'css selector', value: selector }))[kElement]; }
  async click(selector) { await this.post(`/element/${await this.element(selector)}/click`); }
  async type(selector, text) { await this.post(`/element/${await this.element(selector)}/value`, { text }); }

  keys(text) {
    const actions = [...text].flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]);
    return this.post('/actions', { actions: [{ type: 'key', id: 'keys', actions }] });
  }
  async wheel(selector, deltaY, times = 1, at = [0, 0]) {
    const origin = { [kElement]: await this.element(selector) };
    return this.post('/actions', { actions: [{ type: 'wheel', id: 'wheel', actions: Array.from({ length: times }, () => ({ type: 'scroll', x: at[0], y: at[1], deltaX: 0, deltaY, duration: 0, origin })) }] });
  }
  async drag(selector, from, to) {
    const origin = { [kElement]: await this.element(selector) };
    const move = (x, y) => ({ type: 'pointerMove', x, y, origin, duration: 30 });
    return this.post('/actions', { actions: [{ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' }, actions: [move(...from), { type: 'pointerDown', button: 0 }, move((from[0] + to[0]) / 2, from[1]), move(...to), { type: 'pointerUp', button: 0 }] }] });
  }
  async hover(selector, x, y) {
    const origin = { [kElement]: await this.element(selector) };
    return this.post('/actions', { actions: [{ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' }, actions: [{ type: 'pointerMove', x, y, origin, duration: 10 }] }] });
  }

  log() { return this.post('/se/log', { type: 'browser' }); }
  async picture() { return Buffer.from(await this.get('/screenshot'), 'base64'); }
  // A PDF, as it would come out of a printer.
  async print() { return Buffer.from(await this.post('/print', { background: true, page: { width: 21, height: 29.7 } }), 'base64'); }

  // Ends the browser; what it did on the network is returned as text.
  async stop() {
    try { if (this.session) await this.call('DELETE', this.session); } catch { /* it is gone already */ }
    this.process.kill();
    let net = '';
    try { net = readFileSync(this.netlog, 'utf8'); } catch { /* it was not written */ }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    return net;
  }
}
