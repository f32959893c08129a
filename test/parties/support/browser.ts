// Launches a headless Chromium with a separate profile and without background requests.

import { type Browser, chromium } from 'playwright-core'
import { chromiumPath } from './tools.js'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Nothing listens at a client's redirect URI: loaded again after a second, it would end the next login with an old code.
  '--disable-auto-reload',
]

/** @param flags in addition to those that every test needs. */
export const launchBrowser = (flags: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath(), headless: true, args: [...FLAGS, ...flags] })
