// gatehouse explain as users and scripts run it: keys from files or from their providers, errors in flags and files,
// and exit codes.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explainRequest } from '../../../src/cli/commands/explain.js'
import { parseCommandLine } from '../../../src/ops/settings/settings.js'
import { freePort } from '../../../testing/ports.js'
import { startBackend } from '../../support/backend.js'
import {
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
  toYaml,
} from '../../support/resources.js'
import { keySet, newKey, type SigningKey, signToken } from '../../support/tokens.js'

const ISSUER = 'https://idp.example/'

let folder: string
let key: SigningKey
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'explain-command-'))
  key = await newKey('k1')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function run(...args: readonly string[]) {
  const line = parseCommandLine(['explain', ...args], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  let out = ''
  let err = ''
  const code = await explainRequest(line.settings, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    stop: new AbortController().signal,
    atExit: () => undefined,
  })
  return { code, out, err: err.replaceAll(folder, 'DIR') }
}

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

/** A route whose policy takes its keys from this port. */
const resources = (port: number): Promise<string> =>
  file(
    `resources-${String(port)}.yaml`,
    toYaml(
      gateway([80]),
      proxyBackend('idp', { host: '127.0.0.1', port }),
      httpRoute('r', { rules: [rule('/', 'idp')] }),
      proxyPolicy('p', 'r', {
        jwtAuthentication: {
          providers: [
            { issuer: ISSUER, audiences: ['api'], jwks: remoteJwks('idp', port, '/keys') },
          ],
        },
      }),
    ),
  )

const token = async (): Promise<string> =>
  file('token', `${await signToken({ key, claims: { iss: ISSUER, aud: 'api' } })}\n`)

const REQUEST = ['--request', 'GET http://h.example/'] as const

describe('keys', () => {
  test('from a file, for every provider or for one URL', async () => {
    const port = 9000
    const jwks = await file('keys.json', JSON.stringify(keySet(key)))
    const args = ['--resources', await resources(port), '--token', await token(), ...REQUEST]
    for (const given of [jwks, `http://127.0.0.1:${String(port)}/keys=${jwks}`]) {
      const { code, out } = await run(...args, '--jwks', given)
      expect([code, out]).toEqual([0, expect.stringContaining('result    allowed') as string])
    }
    expect((await run(...args)).out).toContain('reason key-set-unavailable')
    const elsewhere = await run(...args, '--jwks', `http://other/keys=${jwks}`)
    expect(elsewhere).toMatchObject({ code: 1, out: '' })
    expect(elsewhere.err).toContain('it reads http://127.0.0.1:9000/keys')
  })

  test('without a token they are assumed, and a note says so', async () => {
    const { out } = await run('--resources', await resources(9000), ...REQUEST)
    expect(out).toContain('401 from Gatehouse (reason no-token)')
    expect(out).toContain('Assumed that the key sets of the providers were fetched')
  })

  test('fetched from the provider, or why not', async () => {
    const provider = await startBackend()
    provider.answer((_request, response) => response.end(JSON.stringify(keySet(key))))
    const path = await resources(provider.port)
    const args = ['--resources', path, '--fetch', '--token', await token(), ...REQUEST]
    expect((await run(...args)).out).toContain('result    allowed')
    provider.answer((_request, response) => response.writeHead(500).end())
    const failed = await run(...args)
    expect([failed.code, failed.out]).toEqual([
      0,
      expect.stringContaining('was not fetched: HTTP 500') as string,
    ])
    await provider.close()
  })
})

describe('what is wrong', () => {
  const wrongOf = (...args: readonly string[]): readonly string[] => {
    const line = parseCommandLine(['explain', ...args], {})
    return line.type === 'wrong' ? line.sentences : []
  }

  test('with the flags is a usage error', () => {
    expect(wrongOf()[0]).toContain('--request is missing')
    expect(wrongOf(...REQUEST, '--resources', 'x', '--admin', 'a:1')[0]).toContain('exclude')
    expect(wrongOf(...REQUEST, '--fetch')[0]).toContain('--fetch belongs to --resources')
    expect(wrongOf(...REQUEST, '--jwks', 'x')[0]).toContain('--jwks belongs to --resources')
    const both = wrongOf(...REQUEST, '--resources', 'x', '--jwks', 'x', '--fetch')
    expect(both[0]).toContain('--jwks and --fetch')
    expect(wrongOf(...REQUEST, '--token', '-', '--body', '-')[0]).toContain('standard input')
    expect(wrongOf(...REQUEST, '--source', 'h')[0]).toContain('expected an IP address')
  })

  test('with the request is exit code 2', async () => {
    const { code, out, err } = await run('--resources', await resources(9000), '--request', 'x')
    expect([code, out, err]).toEqual([2, '', expect.stringContaining('METHOD URL') as string])
  })

  test('with files is exit code 1, and nothing is explained', async () => {
    const bad = await file(
      'bad.yaml',
      'kind: ProxyPolicy\napiVersion: policy.gatehouse.dev/v1alpha1\n',
    )
    const unread = await run('--resources', bad, ...REQUEST)
    expect(unread).toMatchObject({ code: 1, out: '' })
    expect(unread.err).toContain('DIR/bad.yaml:1')
    const path = await resources(9000)
    const noToken = await run('--resources', path, '--token', join(folder, 'none'), ...REQUEST)
    expect([noToken.code, noToken.err]).toEqual([
      1,
      expect.stringContaining('--token DIR/none cannot be read') as string,
    ])
    const noKeys = await file('no-keys.json', '[]')
    const args = ['--resources', path, '--token', await token(), '--jwks', noKeys, ...REQUEST]
    expect((await run(...args)).err).toContain('expected a JSON object with an array "keys"')
  })

  test('with the admin address is exit code 1', async () => {
    const admin = `127.0.0.1:${String(await freePort())}`
    const { code, out, err } = await run('--admin', admin, ...REQUEST)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(`${admin} cannot be asked`)
    const other = await startBackend()
    other.answer((_request, response) => response.writeHead(404).end('nothing here'))
    const answered = await run('--admin', `127.0.0.1:${String(other.port)}`, ...REQUEST)
    expect(answered.err).toContain('answers 404: nothing here')
    await other.close()
  })
})
