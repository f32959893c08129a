// A headless Chromium with a profile of its own, that calls nobody by itself.

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
]

/** flags: beside those that every test needs. */
export const launchBrowser = (flags: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath(), headless: true, args: [...FLAGS, ...flags] })
