// Drives the MCP Inspector's web page in a browser: connects to an MCP server, logs in and calls a tool.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { freePort } from '../../../testing/ports.js'
import { startProgram } from './child-program.js'
import { answerPages } from './person.js'
import { program } from './tools.js'

export const LAUNCHER = program(
  '@modelcontextprotocol/inspector',
  'clients/launcher/build/index.js',
)

/** Resolves when the tool "echo" has answered with this text and `look` has run. */
export async function inspect(
  page: Page,
  url: string,
  text: string,
  look: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  // The Inspector keeps tokens and discovered metadata in the user's home.
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-inspector-'))
  const env = {
    HOME: home,
    HOST: '127.0.0.1',
    CLIENT_PORT: String(await freePort()),
    MCP_SANDBOX_PORT: String(await freePort()),
    MCP_AUTO_OPEN_ENABLED: 'false',
    MCP_INSPECTOR_SECRET_STORE: 'memory',
  }
  const args = [LAUNCHER, '--web', '--server-url', url, '--transport', 'http']
  const inspector = startProgram(process.execPath, args, { cwd: home, env })
  try {
    const [address] = await inspector.seen(/http:\/\/\S+MCP_INSPECTOR_API_TOKEN=[\w-]+/)
    await page.goto(address)
    // The switch itself has no size; the keyboard needs none.
    await page.getByRole('switch').press('Space')
    await answerPages(page, page.getByText('Connected', { exact: true }).waitFor())
    await page.getByText('Tools', { exact: true }).click()
    await page.getByRole('button', { name: 'Echo Tool' }).click()
    await page.getByRole('textbox', { name: 'message' }).fill(text)
    await page.getByRole('button', { name: 'Execute Tool' }).click()
    await page.getByText(`Echo: ${text}`).first().waitFor()
    await look()
  } catch (failure) {
    const shown = await page.locator('body').innerText()
    throw new Error(`${String(failure)}\n${page.url()} shows:\n${shown}`, { cause: failure })
  } finally {
    await inspector.stop()
    await rm(home, { recursive: true, force: true })
  }
}

/** In the connected Inspector, calls the tool for sums, which needs these scopes too, logs in for them and calls it again. */
export async function stepUp(page: Page, more: readonly string[]): Promise<void> {
  await page.getByRole('button', { name: 'Get Sum Tool' }).click()
  await add(page, '1', '2')
  await page.getByText(new RegExp(`needs .*scopes?: ${more.join(', ')}`)).waitFor()
  const { origin } = new URL(page.url())
  const back = page.waitForRequest(
    (request) => request.url().startsWith(`${origin}/`) && request.url().includes('code='),
  )
  await page.getByRole('button', { name: 'Authorize', exact: true }).click()
  await answerPages(page, back)
  await page.getByText('Step-up authorization succeeded').waitFor()
  await add(page, '1', '2')
  await page.getByText('The sum of 1 and 2 is 3').first().waitFor()
}

async function add(page: Page, a: string, b: string): Promise<void> {
  const numbers = page.locator('input[inputmode=decimal]')
  await numbers.nth(0).fill(a)
  await numbers.nth(1).fill(b)
  await page.getByRole('button', { name: 'Execute Tool' }).click()
}
