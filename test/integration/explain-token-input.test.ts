// `gatehouse explain --token -`: the built program reads the token from its standard input.

import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Explanation } from '../../src/ops/explain/explanation.js'
import { temporaryFolder } from '../support/program.js'
import {
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
  toYaml,
} from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'

const ROOT = resolve(import.meta.dirname, '../..')
const ISSUER = 'https://idp.example/'

/** Returns a folder with resources.yaml, keys.json, token, which the policy allows, and its token. */
async function filled() {
  const key = await newKey('k1')
  const token = await signToken({ key, claims: { iss: ISSUER, aud: 'api' } })
  const folder = await temporaryFolder()
  const provider = {
    issuer: ISSUER,
    audiences: ['api'],
    jwks: remoteJwks('idp', 9000, '/keys'),
  }
  const resources = toYaml(
    gateway([80]),
    proxyBackend('idp', { host: '127.0.0.1', port: 9000 }),
    httpRoute('r', { rules: [rule('/', 'idp')] }),
    proxyPolicy('p', 'r', { jwtAuthentication: { providers: [provider] } }),
  )
  await writeFile(join(folder, 'resources.yaml'), resources)
  await writeFile(join(folder, 'keys.json'), JSON.stringify(keySet(key)))
  await writeFile(join(folder, 'token'), `${token}\n`)
  return { folder, token }
}

interface Input {
  readonly input?: string
  /** A redirection of a shell, e.g. "< token". */
  readonly redirection?: string
}

function explain(folder: string, { input, redirection = '' }: Input) {
  const main = join(ROOT, 'dist/main.js')
  const flags = '--resources resources.yaml --jwks keys.json --token - --format json'
  const request = '--request "GET http://h.example/"'
  const command = `exec "${process.execPath}" "${main}" explain ${flags} ${request} ${redirection}`
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: folder,
    encoding: 'utf8',
    ...(input !== undefined && { input }),
  })
  return { status, stdout, stderr }
}

const reasonOf = (stdout: string): unknown => (JSON.parse(stdout) as Explanation).answer.reason

describe('a token on standard input', () => {
  test('from a pipe, a file or with its scheme is the token of the request, and is not printed', async () => {
    const { folder, token } = await filled()
    const inputs: readonly Input[] = [
      { input: token },
      { input: `Bearer ${token}\r\n` },
      { redirection: '< token' },
    ]
    for (const given of inputs) {
      const { status, stdout, stderr } = explain(folder, given)
      expect([status, stderr]).toEqual([0, ''])
      expect(reasonOf(stdout)).toBe('allowed')
      for (const part of token.split('.')) expect(stdout).not.toContain(part)
    }
  })

  test('that is not the one the policy wants is explained as any other', async () => {
    const { folder, token } = await filled()
    const { status, stdout } = explain(folder, { input: token.replace(/\.[^.]*$/, '.AAAA') })
    expect([status, reasonOf(stdout)]).toEqual([0, 'bad-signature'])
  })

  test('that is none is wrong usage, and nothing of the input is printed', async () => {
    const { folder, token } = await filled()
    const inputs: readonly Input[] = [
      { input: '' },
      { input: ' \n' },
      { input: `${token} and more` },
      { input: '\u{1f511}' },
      { redirection: '<&-' },
    ]
    for (const given of inputs)
      expect(explain(folder, given)).toEqual({
        status: 2,
        stdout: '',
        stderr: 'gatehouse: --token: expected a token alone, without white space\n',
      })
  })

  test('that cannot be read is exit code 1', async () => {
    const { folder } = await filled()
    const { status, stdout, stderr } = explain(folder, { redirection: '< .' })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^gatehouse: --token - cannot be read: EISDIR/)
  })
})
