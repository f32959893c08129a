// `gatehouse demo` in a terminal: the tour, what is running afterwards, and that Ctrl-C leaves nothing behind.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { type Backend, startBackend } from '../support/backend.js'
import { ts2 } from '../support/clients/ts2.js'
import { envoyPath } from '../support/envoy.js'
import { bearer, initialize, send } from '../support/http.js'
import { descendantsOf, isGone } from '../support/processes.js'

interface Demo {
  readonly child: ChildProcess
  /** Everything that it has printed. */
  output(): string
}

let temporary: string
let taken: Backend
let demo: Demo
let origin: string

/** Starts the demo in its own process group, as a terminal does, and with its own temporary folder. */
function start(...flags: readonly string[]): Demo {
  const child = spawn(process.execPath, [MAIN, 'demo', '--envoy', envoyPath(), ...flags], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text))
  return { child, output: () => output }
}

/** A terminal sends the signal to the whole group. */
async function pressCtrlC({ child }: Demo): Promise<void> {
  const ended = once(child, 'close')
  process.kill(-(child.pid ?? 0), 'SIGINT')
  await ended
}

const found = (pattern: RegExp): string => pattern.exec(demo.output())?.[1] ?? ''
const TOKEN_ORIGIN = /curl -s (http:\S+)\/token\/alice\)/
const groupOf = ({ child }: Demo): number => -(child.pid ?? 0)
const isUp = (started: Demo) => () => expect(started.output()).toContain('Ctrl-C stops everything')

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'gatehouse-demo-test-'))
  taken = await startBackend()
  const port = await freePort()
  origin = `http://127.0.0.1:${String(port)}`
  demo = start('--port', String(port))
  await eventually(isUp(demo), 30_000)
})

afterAll(async () => {
  if (demo.child.exitCode === null) process.kill(groupOf(demo), 'SIGKILL')
  await taken.close()
  await rm(temporary, { recursive: true, force: true })
})

test('takes the tour, step by step, without colours if the output is no terminal', () => {
  const answers = [...demo.output().matchAll(/^ {3}← (\d{3}) /gm)].map((match) => match[1])
  const login = ['401', '200', '200', '201', '200', '200', '200', '200', '403']
  const prompts = ['200', '403', '200']
  expect(answers).toEqual([...login, ...prompts])
  expect(demo.output()).toContain(
    `WWW-Authenticate: Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
  )
  expect(demo.output()).toContain('Echo: hello through the gateway')
  expect(demo.output()).not.toContain('\u001b')
  expect(demo.output()).not.toContain('"level":')
})

/** Fetches a token from the address that the demo prints for the command line. */
async function tokenOf(user: string, provider = found(TOKEN_ORIGIN)): Promise<string> {
  return (await (await fetch(`${provider}/token/${user}`)).text()).trim()
}

/** The event stream that MCP clients keep open, of a new session. */
async function openStream(gateway: string, token: string): Promise<Response> {
  const headers = { ...bearer(token), accept: 'application/json, text/event-stream' }
  const opened = await send(gateway, '/mcp', {
    ...initialize,
    headers: { ...headers, 'content-type': 'application/json' },
  })
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
  const stream = await fetch(`${gateway}/mcp`, { headers: { ...headers, ...session } })
  expect([opened.status, stream.status]).toEqual([200, 200])
  return stream
}

test('prints no token, and a command that gets one', async () => {
  expect(demo.output()).not.toMatch(/eyJ[\w-]{20}/)
  const stream = await openStream(origin, await tokenOf('alice'))
  await stream.body?.cancel()
  expect(await tokenOf('mallory')).toBe('No such user. There are: alice, bob.')
})

test('prints the addresses of pages that are there', async () => {
  expect((await fetch(found(/status page +(\S+)/))).status).toBe(200)
  const envoyAdmin = execFileSync('sh', ['-c', found(/Envoy admin +(curl .+)/)], { stdio: 'pipe' })
  expect(envoyAdmin.toString()).toContain('/config_dump')
})

test('lets an official client in', async () => {
  expect((await ts2(`${origin}/mcp`, 'alice')).echo).toBe('Echo: hi')
})

/** The command below a comment, as it is pasted. */
function pasted(purpose: string): string {
  const [, command = ''] =
    new RegExp(`# ${purpose}.*\n((?: {3}\\S.*\n(?: {5}.*\n)*)+)`).exec(demo.output()) ?? []
  return execFileSync('sh', ['-c', command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

test('shows what the webhook does to prompts and replies', () => {
  expect(demo.output()).toMatch(/the model got +I am \[email\]\. What do you know about me\?\n/)
  expect(demo.output()).toMatch(
    /the client gets +You wrote: "I am \[email\]\..*" Ask \[email\] about it\.\n/,
  )
  expect(demo.output()).toContain('Blocked: there is a word that may not pass.')
})

test('shows a stream as it comes, masked: text is there while the model still speaks', () => {
  const [, stream = ''] =
    /an address cut in five is masked:\n([\s\S]*?)\n\n/.exec(demo.output()) ?? []
  const texts = stream
    .split(/ {11}\(the model has said its last word\)\n/)
    .map((part) => part.replaceAll(/^ {5}[ \d.]{4} {2}/gm, '').replaceAll('\n', ' '))
  expect(texts).toHaveLength(2)
  expect(texts[0]).toMatch(
    /^You wrote: "Tell me about streams\." [^@]* The address \[email\], for one, comes in five pieces/,
  )
  expect(texts[1]).toMatch(/the last of it comes now\.$/)
})

test('prints commands that show the same, and the model without the gateway', () => {
  expect(pasted('a prompt')).toMatch(/"You wrote: \\"I am \[email\]\\" Ask \[email\] about it\."/)
  const said = pasted('the answer as a stream').matchAll(/^"content":(".*")$/gm)
  const stream = [...said].map(([, text]) => JSON.parse(String(text)) as string).join('')
  expect(stream).toMatch(/^You wrote: "I am \[email\]" [^@]* The address \[email\], [^@]* now\.$/)
  expect(pasted('a word')).toMatch(
    /^HTTP\/1\.1 403 [\s\S]*\r\n\r\nBlocked: there is a word that may not pass\.\n$/,
  )
  expect(pasted('the first prompt past the gateway')).toContain(
    'You wrote: \\"I am bob@example.com\\"',
  )
})

test('puts an edit of its resources into force: the command that it prints lets bob in', async () => {
  const headers = bearer(await tokenOf('bob'))
  const call = async () => (await send(origin, '/mcp', { ...initialize, headers })).status
  expect(await call()).toBe(403)
  execFileSync('sh', ['-c', found(/(sed -i.bak .+)/)])
  await eventually(async () => expect(await call()).not.toBe(403))
})

test('leaves nothing behind when it is stopped, and does not wait for a client that holds an event stream', async () => {
  const stream = await openStream(origin, await tokenOf('alice'))
  const provider = found(/identity provider +(http:\S+)/)
  const llm = found(/LLM +(http:\S+)/)
  const webhook = found(/guardrail webhook +(http:\S+)/)
  expect((await fetch(webhook)).status).toBe(404)
  expect(existsSync(found(/resources +(\S+)/))).toBe(true)
  // To the process alone: on a terminal the MCP server gets the signal too, and ends the stream by its own end.
  const ended = once(demo.child, 'close')
  demo.child.kill('SIGTERM')
  await ended
  await expect(stream.text()).rejects.toThrow('terminated')
  expect(demo.child.exitCode).toBe(0)
  await expect(fetch(origin)).rejects.toThrow('fetch failed')
  for (const party of [provider, llm, webhook])
    await expect(fetch(party)).rejects.toThrow('fetch failed')
  expect(() => process.kill(groupOf(demo), 0)).toThrow('ESRCH')
  expect(readdirSync(temporary)).toEqual([])
  expect(demo.output()).not.toContain('"level":')
})

test('--no-tour only starts; Ctrl-C in the middle of the start leaves nothing either', async () => {
  const quick = start('--no-tour', '--port', '0')
  await eventually(isUp(quick), 30_000)
  expect(quick.output()).not.toContain('←')
  const early = start('--port', '0')
  await eventually(() => expect(early.output()).toContain('MCP server'))
  await Promise.all([pressCtrlC(early), pressCtrlC(quick)])
  expect([quick.child.exitCode, early.child.exitCode]).toEqual([0, 0])
  expect(readdirSync(temporary)).toEqual([])
})

test('a second Ctrl-C does not wait for what is under way, and leaves nothing either', async () => {
  const hasty = start('--no-tour', '--port', '0', '--drain-timeout', '1h')
  await eventually(isUp(hasty), 30_000)
  const gateway = /gateway +(http:\S+)/.exec(hasty.output())?.[1] ?? ''
  const provider = TOKEN_ORIGIN.exec(hasty.output())?.[1] ?? ''
  const stream = await openStream(gateway, await tokenOf('alice', provider))
  hasty.child.kill('SIGINT')
  await eventually(() => expect(hasty.output()).toContain('Stopping'))
  await pressCtrlC(hasty)
  expect(hasty.child.exitCode).toBe(1)
  await expect(stream.text()).rejects.toThrow('terminated')
  await eventually(() => expect(fetch(gateway)).rejects.toThrow('fetch failed'))
  expect(readdirSync(temporary)).toEqual([])
})

test('killed, it leaves nothing either: its Envoy and its parties end with it', async () => {
  const killed = start('--no-tour', '--port', '0')
  await eventually(isUp(killed), 30_000)
  const below = descendantsOf(killed.child.pid ?? 0)
  // Envoy, what keeps it, and the two parties that are programs.
  expect(below.length).toBeGreaterThanOrEqual(4)
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  await eventually(() => {
    expect(below.filter((pid) => !isGone(pid))).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
  })
})

test.each([
  [
    ['--port', 'PORT'],
    'port PORT is in use by another process: stop it, or choose another with --port',
  ],
  [
    ['--port', '0', '--admin', '127.0.0.1:PORT'],
    '127.0.0.1:PORT is in use by another process: stop it, or choose another address with --admin or --grpc',
  ],
  [
    ['--port', '0', '--listen-address', '192.0.2.1'],
    '192.0.2.1 is not an address of this machine: choose another with --listen-address',
  ],
])('advises what to do about %j', async (flags, sentence) => {
  const withPort = (text: string): string => text.replace('PORT', String(taken.port))
  const refused = start(...flags.map(withPort))
  const [code] = (await once(refused.child, 'close')) as [number]
  expect(code).toBe(1)
  expect(refused.output()).toContain(`gatehouse: ${withPort(sentence)}\n`)
  expect(readdirSync(temporary)).toEqual([])
})
