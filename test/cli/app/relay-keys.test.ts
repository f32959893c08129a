// The keys of relays whose policies name none: read from files, created by `run`, and absent for `serve`, whose
// replicas would have to share them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { followRelayKeys, relayKeys } from '../../../src/cli/app/relay-keys.js'
import { createLogger } from '../../../src/kit/logger.js'

const BYTES = Buffer.from('0123456789abcdef0123456789abcde\xff', 'latin1')

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
})

afterAll(() => rm(folder, { recursive: true }))

async function file(name: string, content: string | Buffer): Promise<string> {
  await writeFile(join(folder, name), content)
  return join(folder, name)
}

test.each<[string, string | Buffer]>([
  ['raw', BYTES],
  ['hexadecimal', BYTES.toString('hex')],
  ['base64', `${BYTES.toString('base64')}\n`],
  ['base64url', BYTES.toString('base64url')],
])('a file of 32 bytes, %s', async (name, content) => {
  const relayKeyFile = [await file(name, content), await file('other', Buffer.alloc(32, 1))]
  expect(relayKeys({ command: 'serve', relayKeyFile }).relayKeys?.()).toEqual({
    keys: [BYTES.toString('base64url'), Buffer.alloc(32, 1).toString('base64url')],
    files: [name, 'other'],
    areOwn: false,
  })
})

test('a file that is no key, or not there, is named', async () => {
  const short = await file('short', 'too short')
  expect(() => relayKeys({ command: 'run', relayKeyFile: [short] })).toThrow(
    `${short} is not a key`,
  )
  const gone = join(folder, 'gone')
  expect(() => relayKeys({ command: 'run', relayKeyFile: [gone] })).toThrow(
    `${gone} cannot be read`,
  )
})

describe('without a file', () => {
  test('run makes a key of its own at each start', () => {
    const [one, two] = [1, 2].map(() =>
      relayKeys({ command: 'run', relayKeyFile: [] }).relayKeys?.(),
    )
    expect(one).toMatchObject({ files: [], areOwn: true })
    expect(Buffer.from(one?.keys[0] ?? '', 'base64url')).toHaveLength(32)
    expect(one?.keys).not.toEqual(two?.keys)
  })

  test('serve has none, and the policy is refused', () => {
    expect(relayKeys({ command: 'serve', relayKeyFile: [] })).toEqual({})
  })
})

describe('files that change', () => {
  const [OLD, NEW] = ['o', 'n'].map((letter) => letter.repeat(32))
  const coded = (...keys: readonly (string | undefined)[]): readonly string[] =>
    keys.map((key) => Buffer.from(key ?? '').toString('base64url'))

  async function followed() {
    const relayKeyFile = [await file('first', OLD ?? ''), await file('second', OLD ?? '')]
    const lines: string[] = []
    let changes = 0
    const followed = followRelayKeys(
      { command: 'serve', relayKeyFile },
      {
        logger: createLogger({
          level: 'info',
          pretty: false,
          write: (line) => void lines.push(line),
        }),
        onChange: () => (changes += 1),
        rereadMs: 1,
      },
    )
    const keys = () => followed.option.relayKeys?.().keys
    return { ...followed, keys, lines, changes: () => changes }
  }

  test('are in force, each time they change and no more often', async () => {
    const { keys, changes, close } = await followed()
    expect(keys()).toEqual(coded(OLD, OLD))
    await file('first', NEW ?? '')
    await expect.poll(keys).toEqual(coded(NEW, OLD))
    await file('second', NEW ?? '')
    await expect.poll(keys).toEqual(coded(NEW, NEW))
    expect(changes()).toBe(2)
    close()
  })

  test('and hold no key leave the keys as they were, with one log line', async () => {
    const { keys, lines, changes, close } = await followed()
    await file('second', 'half of a k')
    await expect.poll(() => lines.length).toBe(1)
    expect(lines[0]).toContain('second is not a key')
    await rm(join(folder, 'second'))
    await expect.poll(() => lines.length).toBe(2)
    expect(lines[1]).toContain('second cannot be read')
    expect([keys(), changes()]).toEqual([coded(OLD, OLD), 0])
    await file('second', NEW ?? '')
    await expect.poll(keys).toEqual(coded(OLD, NEW))
    expect(lines.join('')).not.toContain(NEW)
    close()
  })
})
