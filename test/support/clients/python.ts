// Runs the Python client (mcp 2) in a separate process; the user agent stays in this one.

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { inject } from 'vitest'
import { visit } from '../../../src/cli/demo/idp/headless-login.js'
import {
  asUser,
  ClientFailure,
  type ClientRun,
  REDIRECT_URI,
  type UserAgent,
} from './client-run.js'

import '../envoy.js'

const PROGRAM = resolve(import.meta.dirname, '../python/client.py')

interface Line {
  readonly visit?: string
  readonly call?: string
  readonly error?: string
  readonly tools?: readonly string[]
  readonly echo?: string
  readonly more?: readonly string[]
}

/** A tool's name and arguments. */
type Call = readonly [name: string, args: object]

/**
 * Runs the client.
 * @param metadataUrl URL of its client metadata document; if empty, it registers.
 * @param more calls after that of echo.
 * @param known client information that the client has already; absent: it registers, or has a metadata document.
 */
export async function python(
  url: string,
  user: string,
  agent: UserAgent = visit,
  metadataUrl = '',
  more: readonly Call[] = [],
  known?: object,
): Promise<ClientRun> {
  const calls: string[] = []
  const child = spawn(
    inject('python'),
    [PROGRAM, url, REDIRECT_URI, metadataUrl, JSON.stringify(more), JSON.stringify(known ?? null)],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  )
  let trouble = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (trouble += text))
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as Line
      if (line.call !== undefined) calls.push(line.call)
      if (line.error !== undefined) throw new ClientFailure(line.error, calls)
      if (line.visit !== undefined) {
        child.stdin.write(`${(await agent(asUser(new URL(line.visit), user))).href}\n`)
      }
      if (line.tools !== undefined)
        return { tools: line.tools, echo: line.echo ?? '', more: line.more ?? [], calls }
    }
    throw new ClientFailure(`no result: ${trouble}`, calls)
  } finally {
    child.kill()
  }
}
