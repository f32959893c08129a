// `gatehouse demo` as somebody at a terminal sees it: the tour, what is up then, and what Ctrl-C leaves: nothing.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBackend } from '../support/backend.js'
import { python } from '../support/clients/python.js'
import { envoyPath } from '../support/envoy.js'
import { eventually } from '../support/eventually.js'
import { initialize, send } from '../support/http.js'
import { freePort } from '../support/ports.js'

const MAIN = resolve(import.meta.dirname, '../../dist/main.js')

let child: ChildProcess
let output = ''
let origin: string

function start(...flags: readonly string[]): ChildProcess {
  const args = [MAIN, 'demo', '--envoy', envoyPath(), ...flags]
  return spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
}

const found = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? ''

beforeAll(async () => {
  const port = await freePort()
  origin = `http://127.0.0.1:${String(port)}`
  const admin = `127.0.0.1:${String(await freePort())}`
  child = start('--port', String(port), '--admin', admin)
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text))
  await eventually(() => expect(output).toContain('Ctrl-C stops everything'), 30_000)
})

afterAll(() => {
  if (child.exitCode === null) child.kill('SIGKILL')
})

test('takes the tour, step by step, without colours where nobody sees them', () => {
  const answers = [...output.matchAll(/^ {3}(\d{3}) /gm)].map((match) => match[1])
  expect(answers).toEqual(['401', '200', '200', '201', '200', '200', '200', '403'])
  expect(output).toContain(
    `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource`,
  )
  expect(output).toContain('Echo: hello from the tour')
  expect(output).not.toContain('\u001b')
  expect(output).not.toContain('"level":')
})

test('prints no token, and commands that work', async () => {
  expect(output).not.toMatch(/eyJ[\w-]{20}/)
  const header = readFileSync(found(/-H @(\S+alice\.header)/), 'utf8').trim()
  const answer = await send(origin, '/mcp', {
    ...initialize,
    headers: {
      authorization: header.replace('Authorization: ', ''),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  })
  expect(answer.status).toBe(200)
})

test('lets an official client in', async () => {
  expect((await python(`${origin}/mcp`, 'alice')).echo).toBe('Echo: hi')
})

test('puts an edit of its resources into force', async () => {
  const policy = join(found(/resources +(\S+)/), 'policy.yaml')
  const header = readFileSync(found(/-H @(\S+bob\.header)/), 'utf8').trim()
  const asBob = { authorization: header.replace('Authorization: ', '') }
  const call = async () => (await send(origin, '/mcp', { ...initialize, headers: asBob })).status
  expect(await call()).toBe(403)
  writeFileSync(policy, readFileSync(policy, 'utf8').replace('"mcp-users" in', '"staff" in'))
  await eventually(async () => expect(await call()).not.toBe(403))
})

test('leaves nothing behind after Ctrl-C', async () => {
  const folder = resolve(found(/resources +(\S+)/), '..')
  const provider = found(/identity provider +(http:\S+)/)
  expect(existsSync(folder)).toBe(true)
  const ended = once(child, 'close')
  // A terminal sends the signal to the whole process group.
  process.kill(-(child.pid ?? 0), 'SIGINT')
  await ended
  expect(child.exitCode).toBe(0)
  expect(existsSync(folder)).toBe(false)
  await expect(fetch(origin)).rejects.toThrow('fetch failed')
  await expect(fetch(provider)).rejects.toThrow('fetch failed')
  expect(() => process.kill(-(child.pid ?? 0), 0)).toThrow('ESRCH')
  expect(output).not.toContain('"level":')
})

test('says what to do about a taken port', async () => {
  const backend = await startBackend()
  const demo = start('--port', String(backend.port))
  let complaint = ''
  demo.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  const [code] = (await once(demo, 'close')) as [number]
  await backend.close()
  expect(code).toBe(1)
  expect(complaint).toBe(
    `gatehouse: port ${String(backend.port)} is in use by another process: stop it, or choose another with --port\n`,
  )
})
