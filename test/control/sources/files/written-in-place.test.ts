// Files written in place, by writers of every kind: at no moment is a route served without its policy, or a policy
// without its last rule.

import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, type TestContext } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import type { ProviderState } from '../../../../src/control/schema/kinds/resources.js'
import { createFileProvider } from '../../../../src/control/sources/files/file-provider.js'
import { readerInPlace } from '../../../../src/control/sources/files/read-documents.js'

const API_GROUP = 'policy.gatehouse.dev'

const route = (name: string, path = '/') => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name} }
spec:
  parentRefs: [{ name: gateway }]
  rules: [{ matches: [{ path: { value: ${path} } }] }]
---
`

const head = (name: string) => `apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: ${name} }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: ${name} }]
  traffic:
    authorization:
      action: Deny
      policy:
        matchExpressions:
`
const [FIRST, SECOND] = [
  `          - 'request.path == "/a"'\n`,
  `          - 'request.path == "/b"'\n---\n`,
] as const
const policy = (name: string) => head(name) + FIRST + SECOND

/** "+": guarded by both rules; "-": by fewer; nothing: open. */
const shown = ({ resources }: ProviderState): readonly string[] =>
  resources.httpRoutes.map(({ metadata: { name } }) => {
    const own = resources.proxyPolicies.find(({ metadata }) => metadata.name === name)
    const rules = JSON.stringify(own?.spec ?? '').match(/request\.path/g)?.length
    return `${name}${rules === undefined ? '' : rules === 2 ? '+' : '-'}`
  })

type At = (...names: string[]) => string

/** Changes with each write. */
function versionOf(path: string): string {
  const { size, mtimeNs } = statSync(path, { bigint: true })
  return `${size} ${mtimeNs}`
}

async function watch(
  { onTestFinished }: TestContext,
  prepare: (at: At) => void,
  requirePolicy = false,
) {
  const folder = mkdtempSync(join(tmpdir(), 'resources-'))
  const at: At = (...names) => join(folder, ...names)
  prepare(at)
  const states: ProviderState[] = []
  let wake: () => void = () => undefined
  const inPlace = readerInPlace(kindsOf(API_GROUP))
  /** Path → version that was read last. */
  const read = new Map<string, string>()
  /** As read, when the last state was reported. */
  let reported: ReadonlyMap<string, string> = new Map()
  const provider = createFileProvider({
    paths: [folder],
    apiGroup: API_GROUP,
    requirePolicy,
    reader: {
      ...inPlace,
      read: (file, known) => {
        read.set(file.path, versionOf(file.path))
        return inPlace.read(file, known)
      },
    },
    onWarning: () => undefined,
  })
  onTestFinished(async () => {
    await provider.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await provider.start((state) => {
    states.push(state)
    reported = new Map(read)
    wake()
  })
  const last = () => states.at(-1) as ProviderState
  const another = () => new Promise<void>((resolve) => (wake = resolve))
  const waiting = () => states.flatMap(({ problems }) => problems.map(({ message }) => message))
  return {
    at,
    last,
    /** What every state so far has shown, without repetitions. */
    seen: () => [...new Set(states.map((state) => shown(state).join(' ')))],
    waiting,
    /** Resolves when a state has been reported that takes the file as it is now into account, settled or not. */
    looked: async (path: string) => {
      const version = versionOf(path)
      while (reported.get(path) !== version) await another()
    },
    /** Resolves when a problem has been reported that matches. */
    reported: async (problem: RegExp) => {
      while (!waiting().some((message) => problem.test(message))) await another()
    },
    until: async (wanted: string) => {
      while (shown(last()).join(' ') !== wanted || last().problems.length > 0) await another()
    },
  }
}

describe.concurrent('at every moment', () => {
  test('a file that is truncated and written slowly keeps its policies', async (context) => {
    const all = route('a') + route('b') + policy('a') + policy('b')
    const { at, looked, seen, until } = await watch(context, (path) =>
      writeFileSync(path('all.yaml'), all),
    )
    const file = openSync(at('all.yaml'), 'r+')
    ftruncateSync(file)
    for (const part of [route('a') + route('b'), policy('a'), head('b') + FIRST, SECOND]) {
      await looked(at('all.yaml'))
      writeSync(file, part)
    }
    writeSync(file, route('c') + policy('c'))
    closeSync(file)
    await until('a+ b+ c+')
    expect(seen()).toEqual(['a+ b+', 'a+ b+ c+'])
  })

  test('a new file that is appended to slowly', async (context) => {
    const { at, looked, seen, until } = await watch(context, (path) =>
      writeFileSync(path('other.yaml'), route('z')),
    )
    let written = 0
    for (const part of [route('a'), route('b'), head('a') + FIRST, SECOND, policy('b')]) {
      written = performance.now()
      appendFileSync(at('new.yaml'), part)
      await looked(at('new.yaml'))
    }
    await until('a+ b+ z')
    // The parts above come faster than a slow writer's.
    expect(performance.now() - written).toBeGreaterThanOrEqual(2_000)
    expect(seen()).toEqual(['z', 'a+ b+ z'])
  })

  test('a policy that is cut in the middle of its rules, and then is no document', async (context) => {
    const { at, looked, seen, until, reported } = await watch(context, (path) => {
      writeFileSync(path('route.yaml'), route('a'))
      writeFileSync(path('policy.yaml'), policy('a'))
    })
    for (const text of [head('a') + FIRST, `${head('a')}  - [`, head('a') + FIRST]) {
      writeFileSync(at('policy.yaml'), text)
      await looked(at('policy.yaml'))
    }
    await reported(/until \S+policy\.yaml has not been written to for 2 s/)
    writeFileSync(at('policy.yaml'), policy('a'))
    await until('a+')
    expect(seen()).toEqual(['a+'])
  })

  const GATEWAY = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: gateway }
spec:
  gatewayClassName: gatehouse
  infrastructure: { parametersRef: { group: policy.gatehouse.dev, kind: ProxyParameters, name: own } }
  listeners: [{ name: http, port: 8080, protocol: HTTP }]
---
`
  const parameters = (more = '') =>
    `apiVersion: policy.gatehouse.dev/v1alpha1\nkind: ProxyParameters\nmetadata: { name: own }\nspec:\n  env: []\n${more}`
  const REQUIRED = parameters('  requirePolicy: true\n')

  for (const [how, more, isSet] of [
    ['by the setting', '', true],
    ['by its Gateway', `${GATEWAY}${REQUIRED}---\n`, false],
    ['by parameters that are not there', GATEWAY, false],
  ] as const)
    test(`the first policy of a route that is closed without one, ${how}`, async (context) => {
      const { at, looked, seen, until } = await watch(
        context,
        (path) => writeFileSync(path('all.yaml'), more + route('a')),
        isSet,
      )
      for (const part of [head('a') + FIRST, SECOND]) {
        appendFileSync(at('all.yaml'), part)
        await looked(at('all.yaml'))
      }
      await until('a+')
      expect(seen()).toEqual(['a', 'a+'])
    })

  const onGateway = policy('gateway').replace('kind: HTTPRoute', 'kind: Gateway')

  test("a route's own policy beside one of its Gateway, which it replaces", async (context) => {
    const { at, looked, seen, until } = await watch(context, (path) => {
      writeFileSync(path('gateway.yaml'), onGateway)
      writeFileSync(path('all.yaml'), route('a'))
    })
    for (const part of [head('a') + FIRST, SECOND]) {
      appendFileSync(at('all.yaml'), part)
      await looked(at('all.yaml'))
    }
    await until('a+')
    expect(seen()).toEqual(['a', 'a+'])
  })

  test('a policy of a Gateway whose routes have policies', async (context) => {
    const { at, last, until, reported } = await watch(context, (path) =>
      writeFileSync(path('all.yaml'), route('a') + policy('a')),
    )
    appendFileSync(at('all.yaml'), onGateway.slice(0, -SECOND.length))
    await reported(/waits until \S+all\.yaml/)
    expect(last().resources.proxyPolicies).toHaveLength(1)
    appendFileSync(at('all.yaml'), SECOND)
    await until('a+')
    expect(last().resources.proxyPolicies).toHaveLength(2)
  })

  test('parameters that require policies, and are cut', async (context) => {
    const { at, last, reported } = await watch(context, (path) =>
      writeFileSync(path('own.yaml'), REQUIRED),
    )
    writeFileSync(at('own.yaml'), parameters())
    await reported(/the version before stays in force/)
    expect(last().resources.proxyParameters[0]?.spec.requirePolicy).toBe(true)
  })

  test('a file that is unlinked and written anew, as git does', async (context) => {
    const { at, looked, seen, until } = await watch(context, (path) =>
      writeFileSync(path('all.yaml'), route('a') + policy('a')),
    )
    unlinkSync(at('all.yaml'))
    writeFileSync(at('all.yaml'), route('a') + route('b'))
    await looked(at('all.yaml'))
    appendFileSync(at('all.yaml'), policy('a') + policy('b'))
    await until('a+ b+')
    expect(seen()).toEqual(['a+', 'a+ b+'])
  })

  test('a route in another file, renamed to its place, waits for the file of policies that is being written', async (context) => {
    const { at, looked, seen, until } = await watch(context, (path) => {
      writeFileSync(path('routes.yaml'), route('a'))
      writeFileSync(path('policies.yaml'), policy('a'))
    })
    writeFileSync(at('policies.yaml'), policy('a').replace('---', '\n---'))
    await looked(at('policies.yaml'))
    writeFileSync(at('.draft'), route('a') + route('b'))
    renameSync(at('.draft'), at('routes.yaml'))
    await looked(at('routes.yaml'))
    appendFileSync(at('policies.yaml'), policy('b'))
    await until('a+ b+')
    expect(seen()).toEqual(['a+', 'a+ b+'])
  })

  test('a policy that moves from a file to one that is being written', async (context) => {
    const { at, looked, seen, until } = await watch(context, (path) => {
      writeFileSync(path('1.yaml'), route('a') + policy('a'))
      writeFileSync(path('2.yaml'), route('b') + policy('b'))
    })
    appendFileSync(at('2.yaml'), '# more follows\n')
    await looked(at('2.yaml'))
    writeFileSync(at('.draft'), route('a'))
    renameSync(at('.draft'), at('1.yaml'))
    await looked(at('1.yaml'))
    appendFileSync(at('2.yaml'), policy('a'))
    await until('a+ b+')
    expect(seen()).toEqual(['a+ b+'])
  })

  test('a route that is changed before its policy keeps its paths', async (context) => {
    const { at, last, until, reported } = await watch(context, (path) =>
      writeFileSync(path('all.yaml'), route('a', '/old') + policy('a')),
    )
    const paths: unknown[] = []
    writeFileSync(at('all.yaml'), route('a', '/new'))
    await reported(/all\.yaml/)
    paths.push(JSON.stringify(last().resources.httpRoutes).includes('/old'))
    appendFileSync(at('all.yaml'), policy('a'))
    await until('a+')
    paths.push(JSON.stringify(last().resources.httpRoutes).includes('/new'))
    expect(paths).toEqual([true, true])
  })

  test('a file in a folder that is new', async (context) => {
    const { at, looked, seen, until } = await watch(context, (path) =>
      writeFileSync(path('other.yaml'), route('z')),
    )
    mkdirSync(at('x'))
    writeFileSync(at('x', 'new.yaml'), route('a'))
    await looked(at('x', 'new.yaml'))
    appendFileSync(at('x', 'new.yaml'), policy('a'))
    await until('a+ z')
    expect(seen()).toEqual(['z', 'a+ z'])
  })
})

describe.concurrent('at once', () => {
  test.for([
    ['new', 'b.yaml', 'a+ b+', route('b') + policy('b')],
    ['another', 'a.yaml', 'b', route('b')],
  ] as const)(
    'a file that is renamed to its place is in force: %o',
    async ([, name, wanted, text], context) => {
      const { at, until, waiting } = await watch(context, (path) =>
        writeFileSync(path('a.yaml'), route('a') + policy('a')),
      )
      writeFileSync(at('.draft'), text)
      renameSync(at('.draft'), at(name))
      await until(wanted)
      expect(waiting()).toEqual([])
    },
  )

  test('folders that are swapped by a link, as ConfigMap volumes are', async (context) => {
    const { at, until, waiting } = await watch(context, (path) => {
      mkdirSync(path('..1'))
      writeFileSync(path('..1', 'all.yaml'), route('a') + policy('a'))
      symlinkSync('..1', path('..data'))
      symlinkSync('..data/all.yaml', path('all.yaml'))
    })
    mkdirSync(at('..2'))
    writeFileSync(at('..2', 'all.yaml'), route('b') + policy('b'))
    symlinkSync('..2', at('..tmp'))
    renameSync(at('..tmp'), at('..data'))
    await until('b+')
    expect(waiting()).toEqual([])
  })

  test('a file that is deleted', async (context) => {
    const { at, until, waiting } = await watch(context, (path) => {
      writeFileSync(path('a.yaml'), route('a') + policy('a'))
      writeFileSync(path('b.yaml'), route('b'))
    })
    unlinkSync(at('a.yaml'))
    await until('b')
    expect(waiting()).toEqual([])
  })

  test('a policy for a route that had none, however it is written; beside another one it waits', async (context) => {
    const { at, seen, until } = await watch(context, (path) =>
      writeFileSync(path('a.yaml'), route('a') + route('b') + policy('b')),
    )
    writeFileSync(at('p.yaml'), head('a') + FIRST)
    await until('a- b+')
    appendFileSync(at('p.yaml'), SECOND)
    await until('a+ b+')
    expect(seen()).toEqual(['a b+', 'a- b+', 'a+ b+'])
  })
})
