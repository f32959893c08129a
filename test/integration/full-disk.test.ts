// A disk that is full while an editor writes a file of resources: what was cut short is not served.

import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import {
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
  toYaml,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

// Only root may mount a file system.
const isRoot = process.platform === 'linux' && process.getuid?.() === 0

/** Bytes of the disk, and of its pages. */
const [DISK, PAGE] = [64 * 1024, 4096]

/** Runs a program in a mount namespace of its own, in which the folder of the resources is a small disk. */
const ON_SMALL_DISK = [
  'unshare',
  '--mount',
  'sh',
  '-ec',
  `text=$(cat "$1/resources.yaml")
   mount -t tmpfs -o size=${String(DISK)} tmpfs "$1"
   printf '%s\\n' "$text" > "$1/resources.yaml"
   shift
   exec "$@"`,
  'sh',
] as const

let backend: Backend
let stack: Stack

/** The policy has one rule for each path, and stands behind everything else. */
const resources = (port: number, ...denied: readonly string[]): readonly object[] => [
  gateway([port]),
  proxyBackend('backend', backend),
  httpRoute('open', { rules: [rule('/', 'backend')] }),
  proxyPolicy('open', 'open', {
    authorization: {
      action: 'Deny',
      policy: { matchExpressions: denied.map((path) => `request.path == "${path}"`) },
    },
  }),
]

/** Returns the text with a comment before it that puts the end of a page before `place`. */
function cutBefore(text: string, place: string): string {
  const comment = PAGE - (text.indexOf(place) % PAGE)
  return `#${'.'.repeat(comment - 2)}\n${text}`
}

beforeAll(async () => {
  backend = await startBackend()
  if (isRoot)
    stack = await startStack({
      within: ON_SMALL_DISK,
      resources: (port) => resources(port, '/a', '/b'),
    })
})
afterAll(async () => {
  if (isRoot) await stack.close()
  await backend.close()
})

const statuses = (...paths: readonly string[]): Promise<number[]> =>
  Promise.all(paths.map(async (path) => (await send(stack.origin, path)).status))

test.runIf(isRoot)(
  'a policy that is cut short stays as it was until the file is written again',
  async () => {
    expect(await statuses('/a', '/b', '/c')).toEqual([403, 403, 200])
    const at = (name: string): string =>
      join('/proc', String(stack.child.pid), 'root', stack.folder, name)
    const text = cutBefore(
      toYaml(...resources(stack.port, '/c', '/a', '/b')),
      '          - request.path == "/a"',
    )
    const whole = toYaml(...resources(stack.port, '/a', '/b', '/c'))
    const room = Math.floor(text.length / PAGE) * PAGE
    await writeFile(at('filler'), Buffer.alloc(DISK - room))
    await expect(writeFile(at('resources.yaml'), text)).rejects.toThrow('ENOSPC')
    const cut = await readFile(at('resources.yaml'), 'utf8')
    expect([cut.includes('"/c"'), cut.includes('"/a"')]).toEqual([true, false])
    await eventually(async () =>
      expect(JSON.stringify(await stack.status())).toContain(
        'resources.yaml is written again: its disk was full, so it may be cut short',
      ),
    )
    expect(await statuses('/a', '/b', '/c')).toEqual([403, 403, 200])
    await rm(at('filler'))
    await writeFile(at('resources.yaml'), whole)
    await eventually(async () => expect(await statuses('/a', '/b', '/c')).toEqual([403, 403, 403]))
  },
)
