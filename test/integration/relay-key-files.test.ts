// The key of a relay is replaced in the files that its policy names, without a restart: clients of the old key go on
// until it is retired, and then register again.

import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { ts2 } from '../support/clients/ts2.js'
import { exchangeAt, logInAt, refreshAt } from '../support/relay-login.js'
import { consenting, type RelayStack, startRelayStack } from '../support/relay-stack.js'

const [OLD, NEW] = [Buffer.alloc(32, 'o'), Buffer.alloc(32, 'n')]

let folder: string
let world: RelayStack

async function put(name: string, key: Buffer): Promise<string> {
  const file = join(folder, name)
  await writeFile(`${file}.new`, key)
  await rename(`${file}.new`, file)
  return file
}

/** Waits until the keys have been read again this many times. */
const readAgain = (times: number): Promise<void> =>
  eventually(() => {
    expect(world.stack.log().split('reloaded the keys of --relay-key-file')).toHaveLength(times + 1)
  }, 60_000)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  const files = [await put('second', OLD), await put('of-others', NEW), await put('first', OLD)]
  world = await startRelayStack({
    flags: files.flatMap((file) => ['--relay-key-file', file]),
    relay: { keyRef: [{ file: 'first' }, { file: 'second' }] },
  })
})

afterAll(async () => {
  await world.close()
  await rm(folder, { recursive: true })
})

test('a new key beside the old one, and then alone', async () => {
  const { origin } = world.stack
  const login = await logInAt(origin)
  const first = await exchangeAt(origin, login)

  await put('first', NEW)
  await readAgain(1)
  const second = await refreshAt(origin, login.client, first.refresh_token ?? '')
  expect(second).toHaveProperty('access_token')
  expect((await ts2(world.url, 'alice', consenting)).echo).toBe('Echo: hi')

  await put('second', NEW)
  // Not by asking for tokens until then: their number is limited.
  await readAgain(2)
  await eventually(async () => {
    const answer = await refreshAt(origin, login.client, second.refresh_token ?? '')
    expect(answer.error).toBe('invalid_client')
  })
  await expect(logInAt(origin, new Map(), login.client)).rejects.toThrow('it must register again')
  expect((await ts2(world.url, 'alice', consenting)).echo).toBe('Echo: hi')
})
