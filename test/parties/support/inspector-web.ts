// Drives the MCP Inspector's web page in a browser: connects to an MCP server, logs in and calls a tool.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { freePort } from '../../support/ports.js'
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
    await page.getByRole('switch').click({ force: true })
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
