// What the file provider reads, and what it reports about changes and broken files.

import {
  mkdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  at,
  backend,
  hasPorts,
  messages,
  policy,
  ports,
  route,
  useFolder,
  watch,
} from './watched-folder.js'

useFolder()

describe('what is read at the start', () => {
  it('says of a folder without resources which files it reads', async () => {
    writeFileSync(at('gateway.txt'), backend('a'))
    const { warnings, state } = await watch()
    expect(warnings).toEqual([
      expect.stringMatching(/: nothing to serve; .*\.yaml, \.yml or \.json/),
    ])
    expect(state.complete).toBe(true)
  })

  it('reads yaml, yml and json below the folder, and leaves out dot names and other files', async () => {
    mkdirSync(at('deep', 'er'), { recursive: true })
    mkdirSync(at('.git'))
    writeFileSync(at('a.yaml'), backend('a'))
    writeFileSync(at('deep', 'b.yml'), backend('b'))
    writeFileSync(
      at('deep', 'er', 'c.json'),
      '{"apiVersion":"policy.gatehouse.dev/v1alpha1","kind":"ProxyBackend","metadata":{"name":"c"},"spec":{"static":{"host":"c","port":80}}}',
    )
    writeFileSync(at('.d.yaml'), backend('d'))
    writeFileSync(at('.git', 'e.yaml'), backend('e'))
    writeFileSync(at('README.md'), 'f')
    const { state } = await watch()
    expect(ports(state)).toEqual({ a: 80, b: 80, c: 80 })
    expect(state.problems).toEqual([])
    expect(state.complete).toBe(true)
  })

  it('is not complete while a document has never decoded, and becomes so when it does', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    writeFileSync(at('b.yaml'), 'kind: [')
    const running = await watch()
    expect(running.state.complete).toBe(false)
    expect(ports(running.state)).toEqual({ a: 80 })
    writeFileSync(at('b.yaml'), backend('b'))
    const fixed = await running.until(({ complete }) => complete)
    expect(ports(fixed)).toEqual({ a: 80, b: 80 })
    expect(fixed.problems).toEqual([])
  })

  it('says that a named path does not exist, and reads it once it does', async () => {
    const running = await watch([at('not', 'yet')])
    expect(messages(running.state)).toEqual([`${at('not', 'yet')} no such file or folder`])
    expect(running.state.complete).toBe(false)
    mkdirSync(at('not', 'yet'), { recursive: true })
    writeFileSync(at('not', 'yet', 'a.yaml'), backend('a'))
    const found = await running.until(hasPorts({ a: 80 }))
    expect(found.complete).toBe(true)
  })

  it('takes the first of two definitions by path order and names both places', async () => {
    writeFileSync(at('a.yaml'), backend('x', 1))
    writeFileSync(at('b.yaml'), `# a comment\n---\n${backend('x', 2)}`)
    const { state } = await watch()
    expect(ports(state)).toEqual({ x: 1 })
    expect(messages(state)).toEqual([
      `${at('b.yaml')}:3:1 ProxyBackend default/x is defined twice: ${at('a.yaml')}:1 counts, this one does not`,
    ])
  })
})

describe('a change of a file', () => {
  it('is reported', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    writeFileSync(at('a.yaml'), backend('a', 81))
    await running.until(hasPorts({ a: 81 }))
  })

  it('is seen when the file is replaced by an atomic rename', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    writeFileSync(at('.a.tmp'), backend('a', 81))
    renameSync(at('.a.tmp'), at('a.yaml'))
    await running.until(hasPorts({ a: 81 }))
    expect(running.states.every((state) => 'a' in ports(state))).toBe(true)
  })

  it('is seen when an editor moves the old file away and writes a new one', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    renameSync(at('a.yaml'), at('a.yaml~'))
    writeFileSync(at('a.yaml'), backend('a', 81))
    unlinkSync(at('a.yaml~'))
    await running.until(hasPorts({ a: 81 }))
    expect(running.states.every((state) => 'a' in ports(state))).toBe(true)
  })

  it('never takes out the resources of a file that is emptied and then written', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    writeFileSync(at('b.yaml'), backend('b'))
    const running = await watch()
    truncateSync(at('a.yaml'))
    writeFileSync(at('b.yaml'), backend('b', 81))
    const between = await running.until(({ resources }) =>
      resources.proxyBackends.some(({ spec }) => spec.static.port === 81),
    )
    expect(ports(between)).toEqual({ a: 80, b: 81 })
    writeFileSync(at('a.yaml'), backend('a', 82))
    await running.until(hasPorts({ a: 82, b: 81 }))
    expect(running.states.every((state) => 'a' in ports(state))).toBe(true)
  })

  it('takes the resources out of a file that stays empty', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    truncateSync(at('a.yaml'))
    await running.until(hasPorts({}))
  })

  it('takes out the resources of a deleted file, and brings in those of a new one', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    writeFileSync(at('b.yaml'), backend('b'))
    const running = await watch()
    unlinkSync(at('a.yaml'))
    await running.until(hasPorts({ b: 80 }))
    writeFileSync(at('c.yaml'), backend('c'))
    await running.until(hasPorts({ b: 80, c: 80 }))
  })

  it('leaves the resource the same object when only the times of the file changed', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    const [before] = running.state.resources.proxyBackends
    writeFileSync(at('a.yaml'), backend('a'))
    writeFileSync(at('b.yaml'), backend('b'))
    const after = await running.until(hasPorts({ a: 80, b: 80 }))
    expect(after.resources.proxyBackends[0]).toBe(before)
  })

  it('leaves the other documents of the file the same objects', async () => {
    writeFileSync(at('a.yaml'), `${backend('a')}---\n${backend('b')}`)
    const running = await watch()
    const [a, b] = running.state.resources.proxyBackends
    writeFileSync(at('a.yaml'), `${backend('a')}---\n${backend('b', 81)}`)
    const changed = await running.until(hasPorts({ a: 80, b: 81 }))
    expect(changed.resources.proxyBackends[0]).toBe(a)
    expect(changed.resources.proxyBackends[1]).not.toBe(b)
  })

  it('moves the lines of documents below it, and keeps what was decoded from them', async () => {
    writeFileSync(at('a.yaml'), `${backend('a')}---\n${backend('b')}`)
    const running = await watch()
    const before = running.state.resources.proxyBackends[1]
    writeFileSync(at('a.yaml'), `# one line more\n${backend('a', 81)}---\n${backend('b')}`)
    const after = await running.until(hasPorts({ a: 81, b: 80 }))
    const moved = after.resources.proxyBackends[1]
    expect(moved?.spec).toBe(before?.spec)
    expect([before?.source, moved?.source]).toEqual([`${at('a.yaml')}:10`, `${at('a.yaml')}:11`])
  })
})

describe('a broken file', () => {
  it('leaves the last good version of every document in force that it may have held', async () => {
    writeFileSync(at('a.yaml'), `${backend('a')}---\n${backend('b')}`)
    const running = await watch()
    writeFileSync(at('a.yaml'), `${backend('a', 81)}---\nkind: [`)
    const broken = await running.until(({ problems }) => problems.length > 0)
    expect(ports(broken)).toEqual({ a: 81, b: 80 })
    expect(messages(broken)[0]).toMatch(/\(the last good version stays in force\)$/)
    expect(broken.complete).toBe(true)
  })

  it('leaves the last good version in force of the document that it names, and of no other', async () => {
    writeFileSync(at('a.yaml'), `${backend('a')}---\n${backend('b')}`)
    const running = await watch()
    writeFileSync(at('a.yaml'), backend('a').replace('port: 80', 'port: eighty'))
    const broken = await running.until(({ problems }) => problems.length > 0)
    expect(ports(broken)).toEqual({ a: 80 })
    expect(messages(broken)).toEqual([
      `${at('a.yaml')}:8:11 spec.static.port: "eighty" is not an integer (the last good version stays in force)`,
    ])
  })

  it('is in force again as soon as it is mended', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    writeFileSync(at('a.yaml'), '\t:')
    await running.until(({ problems }) => problems.length > 0)
    writeFileSync(at('a.yaml'), backend('a', 82))
    const mended = await running.until(hasPorts({ a: 82 }))
    expect(mended.problems).toEqual([])
  })

  it('may have become unreadable', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    symlinkSync('a.yaml', at('loop'))
    renameSync(at('loop'), at('a.yaml'))
    const broken = await running.until(({ problems }) => problems.length > 0)
    expect(ports(broken)).toEqual({ a: 80 })
    expect(messages(broken)).toEqual([`${at('a.yaml')} cannot be read: ELOOP`])
  })

  it('may have become a folder', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch()
    unlinkSync(at('a.yaml'))
    mkdirSync(at('a.yaml'))
    writeFileSync(at('a.yaml', 'b.yaml'), backend('b'))
    await running.until(hasPorts({ b: 80 }))
  })

  it('holds a new route back while it may be the policy of that route', async () => {
    writeFileSync(at('old.yaml'), route('old'))
    const running = await watch()
    writeFileSync(at('policy.yaml'), policy('strict'))
    writeFileSync(at('new.yaml'), route('new'))
    const held = await running.until(({ problems }) => problems.length === 2)
    expect(held.resources.httpRoutes.map(({ metadata }) => metadata.name)).toEqual(['old'])
    expect(messages(held)[1]).toBe(
      `${at('new.yaml')}:1:1 waits until ProxyPolicy policy at ${at('policy.yaml')}:12:13 can be decoded: it may be the policy of this route`,
    )
    writeFileSync(at('policy.yaml'), policy('Strict'))
    const both = await running.until(({ problems }) => problems.length === 0)
    expect(both.resources.httpRoutes.map(({ metadata }) => metadata.name)).toEqual(['new', 'old'])
    expect(both.resources.proxyPolicies).toHaveLength(1)
  })

  it.each([
    ['its kind', policy('Strict').replace('kind: ProxyPolicy', 'kind: ProxyPolcy')],
    ['its name', policy('strict').replace('name: policy', 'name: renamed')],
  ])('leaves the policy in force that it was before %s changed', async (_, broken) => {
    writeFileSync(at('policy.yaml'), policy('Strict'))
    writeFileSync(at('route.yaml'), route('new'))
    const running = await watch()
    writeFileSync(at('policy.yaml'), broken)
    const kept = await running.until(({ problems }) => problems.length > 0)
    expect(kept.resources.proxyPolicies.map(({ metadata }) => metadata.name)).toEqual(['policy'])
    expect(messages(kept).join()).toContain('stays in force')
    writeFileSync(at('policy.yaml'), policy('Strict').replace('name: policy', 'name: renamed'))
    const mended = await running.until(({ problems }) => problems.length === 0)
    expect(mended.resources.proxyPolicies.map(({ metadata }) => metadata.name)).toEqual(['renamed'])
  })

  it('leaves the route in force that it was before its kind changed', async () => {
    writeFileSync(at('route.yaml'), route('old'))
    const running = await watch()
    writeFileSync(at('route.yaml'), route('old').replace('HTTPRoute', 'HTPRoute'))
    const kept = await running.until(({ problems }) => problems.length > 0)
    expect(kept.resources.httpRoutes.map(({ metadata }) => metadata.name)).toEqual(['old'])
  })

  it('leaves the policy in force that was moved to another file with it', async () => {
    writeFileSync(at('policy.yaml'), policy('Strict'))
    writeFileSync(at('route.yaml'), route('new'))
    const running = await watch()
    writeFileSync(at('moved.yaml'), policy('strict').replace('name: policy', 'name: moved'))
    await running.until(({ problems }) => problems.length === 1)
    unlinkSync(at('policy.yaml'))
    const kept = await running.until(({ problems }) => problems.length === 2)
    expect(kept.resources.proxyPolicies.map(({ metadata }) => metadata.name)).toEqual(['policy'])
    unlinkSync(at('moved.yaml'))
    const gone = await running.until(({ problems }) => problems.length === 0)
    expect(gone.resources.proxyPolicies).toEqual([])
  })
})
