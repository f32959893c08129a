// The MCP Inspector, a tool to examine MCP servers: its command line, its web page, and version 1 in direct mode.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { visit } from '../../src/cli/demo/idp/headless-login.js'
import { freePort } from '../../testing/ports.js'
import { asUser } from '../support/clients/client-run.js'
import { launchBrowser } from './support/browser.js'
import { type ChildProgram, startProgram } from './support/child-program.js'
import { inspect, LAUNCHER } from './support/inspector-web.js'
import { type McpStack, startMcpStack } from './support/mcp-stack.js'
import { program } from './support/tools.js'

const SCREENSHOT = resolve(import.meta.dirname, '../../docs/images/inspector.png')
const CLIENT_1 = program('inspector-1', 'client/bin/client.js')

let world: McpStack
let browser: Browser
let home: string
let inspector: ChildProgram | undefined

beforeAll(async () => {
  ;[world, browser] = await Promise.all([startMcpStack(), launchBrowser()])
})

afterAll(async () => {
  await browser.close()
  await world.close()
})

/** The Inspector keeps tokens and what it discovered in the user's home. */
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'gatehouse-inspector-'))
})

afterEach(async () => {
  await inspector?.stop()
  inspector = undefined
  await rm(home, { recursive: true, force: true })
})

describe('on the command line', () => {
  test('logs in and lists the tools', async () => {
    const port = String(await freePort())
    const command = [
      process.execPath,
      LAUNCHER,
      '--cli',
      world.url,
      '--method',
      'tools/list',
      '--format',
      'json',
    ]
    // It asks for a login only on a terminal, which script(1) is.
    inspector = startProgram('script', ['-qec', command.join(' '), '/dev/null'], {
      cwd: home,
      env: {
        HOME: home,
        MCP_OAUTH_CALLBACK_URL: `http://127.0.0.1:${port}/oauth/callback`,
        MCP_INSPECTOR_SECRET_STORE: 'memory',
      },
    })
    const [address] = await inspector.seen(
      /http:\/\/[^\s\u0007\u001b]+code_challenge=[^\s\u0007\u001b]+/,
    )
    await fetch(await visit(asUser(new URL(address), 'alice')))
    expect([await inspector.ended(), inspector.output()]).toEqual([
      0,
      expect.stringContaining('"echo"') as string,
    ])
  })
})

describe('in the browser', () => {
  let page: Page

  beforeEach(async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    page = await context.newPage()
  })

  afterEach(() => page.context().close())

  test('logs in on the page of the identity provider and calls a tool', async () => {
    await inspect(page, world.url, 'Hello through the gate', screenshot)
  })

  /** Takes the picture for the README if UPDATE_SCREENSHOTS=1. */
  async function screenshot(): Promise<void> {
    if (process.env['UPDATE_SCREENSHOTS'] !== '1') return
    await page.setViewportSize({ width: 1600, height: 900 })
    await widenSidebar(300)
    await page.getByText('Network', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Network sort direction' }).click()
    await page.getByRole('option', { name: /Oldest/ }).click()
    await page.getByText('Authorization complete').waitFor({ state: 'hidden' })
    await page.screenshot({ path: SCREENSHOT })
  }

  async function widenSidebar(by: number): Promise<void> {
    const { x, y } = (await page.getByRole('separator').last().boundingBox()) ?? { x: 0, y: 0 }
    await page.mouse.move(x + 2, y + 200)
    await page.mouse.down()
    await page.mouse.move(x + 2 - by, y + 200, { steps: 5 })
    await page.mouse.up()
  }

  test('version 1 connects by itself, without a proxy of its own (Connection Type Direct)', async () => {
    const port = String(await freePort())
    inspector = startProgram(process.execPath, [CLIENT_1], {
      cwd: home,
      env: { HOME: home, HOST: '127.0.0.1', CLIENT_PORT: port, MCP_AUTO_OPEN_ENABLED: 'false' },
    })
    await inspector.seen(/up and running/)
    const listed = page.waitForResponse(
      (answer) =>
        answer.url() === world.url &&
        (answer.request().postData() ?? '').includes('"tools/list"') &&
        answer.status() === 200,
    )
    const query = new URLSearchParams({ transport: 'streamable-http', serverUrl: world.url })
    await page.goto(`http://127.0.0.1:${port}/?${query.toString()}`)
    await page.getByRole('combobox', { name: 'Connection Type' }).click()
    await page.getByRole('option', { name: 'Direct' }).click()
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByRole('button', { name: 'alice' }).click()
    await page.getByRole('tab', { name: 'Tools' }).click()
    await page.getByRole('button', { name: 'List Tools' }).click()
    await listed
    await page.getByText('Echoes back the input string').waitFor()
  })
})
