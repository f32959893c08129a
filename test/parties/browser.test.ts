// The official client in a page of another origin, in a real Chromium: what CORS lets through, and what a page can read.

import { resolve } from 'node:path'
import { build } from 'esbuild'
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { visit } from '../../src/cli/demo/idp/headless-login.js'
import { asUser } from '../support/clients/client-run.js'
import type { PageRun } from '../support/clients/page.js'
import { type HttpServer, startHttpServer } from '../support/http-server.js'
import { launchBrowser } from './support/browser.js'
import { type McpStack, startMcpStack } from './support/mcp-stack.js'

let world: McpStack
let site: HttpServer
let browser: Browser
let page: Page
/** "METHOD path status" of the page's calls to the gateway; status is the failure's text where there is no answer. */
let calls: string[]

beforeAll(async () => {
  const script = await bundle()
  site = await startHttpServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<!doctype html><title>page</title><script type="module">${script}</script>`)
  })
  ;[world, browser] = await Promise.all([startMcpStack(), launchBrowser()])
})

afterAll(async () => {
  await browser.close()
  await world.close()
  await site.close()
})

/** A context of its own, as preflight answers are remembered for a day. */
beforeEach(async () => {
  const context = await browser.newContext()
  page = await context.newPage()
  calls = []
  const answered = new Set<Request>()
  const note = (request: Request, outcome: string): void => {
    const { origin, pathname } = new URL(request.url())
    if (origin === world.stack.origin) calls.push(`${request.method()} ${pathname} ${outcome}`)
  }
  page.on('response', (answer) => {
    answered.add(answer.request())
    note(answer.request(), String(answer.status()))
  })
  page.on('requestfailed', (request) => {
    if (!answered.has(request)) note(request, request.failure()?.errorText ?? '')
  })
  await page.goto(site.origin)
})

afterEach(() => page.context().close())

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, '../support/clients/page.ts')],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
  })
  return (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script')
}

/** The result of the page's script. Of an error, the first line: its stack names places in the page. */
async function inPage<T>(expression: string): Promise<T> {
  try {
    return await page.evaluate<T>(expression)
  } catch (failure) {
    throw new Error(String(failure).split('\n')[0])
  }
}

/** Discovery, registration and login, then the use of the MCP server, all in the page but for the login form. */
async function connect(): Promise<PageRun> {
  const url = JSON.stringify(world.url)
  const authorization = await inPage<string>(`mcp.logIn(${url})`)
  const { search } = await visit(asUser(new URL(authorization), 'alice'))
  return inPage<PageRun>(`mcp.use(${url}, ${JSON.stringify(search)})`)
}

const posts = (): readonly string[] => calls.filter((call) => call.startsWith('POST /mcp'))

describe('a page of another origin', () => {
  test('reads the challenge', async () => {
    const challenge = await inPage(`mcp.challenge(${JSON.stringify(world.url)})`)
    expect(challenge).toBe(
      `Bearer resource_metadata="${world.stack.origin}/.well-known/oauth-protected-resource/mcp"`,
    )
  })

  test("discovers, registers, logs in, calls a tool and ends its session, with the specification's CORS filter", async () => {
    const run = await connect()
    expect(run.tools).toContain('echo')
    expect(run.echo).toBe('Echo: hi')
    expect(calls).toEqual(
      expect.arrayContaining([
        'GET /.well-known/oauth-protected-resource/mcp 200',
        'GET /.well-known/oauth-authorization-server/mcp 200',
        'POST /.well-known/oauth-authorization-server/mcp/client-registration 201',
        'DELETE /mcp 200',
      ]),
    )
    expect(posts().slice(0, 2)).toEqual(['POST /mcp 401', 'POST /mcp 200'])
  })
})

describe('with corsHeaders AsWritten', () => {
  beforeAll(() => world.reconfigure({ corsHeaders: 'AsWritten' }))
  afterAll(() => world.reconfigure({}))

  test('the page initializes, and its second call is stopped by the browser', async () => {
    await expect(connect()).rejects.toThrow('Failed to fetch')
    expect(posts()).toEqual(['POST /mcp 401', 'POST /mcp 200', 'POST /mcp net::ERR_FAILED'])
  })

  test('the page cannot read the challenge', async () => {
    expect(await inPage(`mcp.challenge(${JSON.stringify(world.url)})`)).toBeNull()
  })
})
